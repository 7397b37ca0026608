# SPDX-License-Identifier: Apache-2.0
"""The conformance suite runs with what its README says to copy, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pymluops

ROOT = Path(__file__).resolve().parents[2]


def test_a_library_that_cannot_be_loaded_ends_the_suite(tmp_path: Path) -> None:
    """It is one mistake, not one for each call."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "handle"]
    command += ["tests/conformance", f"--mluop-library={tmp_path / 'none.so'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "--mluop-library: cannot load library" in done.stderr
    assert len(done.stderr.splitlines()) < 10, done.stderr


@pytest.mark.slow
def test_the_suite_runs_alone(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests/conformance", tmp_path / "tests/conformance", ignore=ignored)
    shutil.copytree(ROOT / "include", tmp_path / "include")
    for contract in (ROOT / "tests").glob("*/contract.toml"):
        folder = tmp_path / "tests" / contract.parent.name
        folder.mkdir()
        shutil.copy(contract, folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "handle"]
    command += ["tests/conformance", f"--mluop-library={pymluops.library_path()}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.splitlines()[-1].split()[0]) >= 10, done.stdout

# SPDX-License-Identifier: Apache-2.0
"""Python files without a library, and with one that is not theirs."""

import shutil
import subprocess
import sys
from pathlib import Path

import cffi
import numpy as np
import pytest

import pymluops
from pymluops import _native

ROOT = Path(__file__).resolve().parents[2]
NATIVE = Path(_native.__file__).parent


@pytest.fixture
def checkout(tmp_path):
    """The Python files of a source folder, and some of its C files."""
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "lib", "include")
    shutil.copytree(ROOT / "pymluops", tmp_path / "pymluops", ignore=ignore)
    for name in ("include", "c_src"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("CMakeLists.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def import_it(checkout, *folders):
    """Import the package of a source folder in an interpreter that has no other one."""
    code = f"import sys; sys.path[:0] = {[str(checkout), *folders]}; import pymluops"
    command = [sys.executable, "-S", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_not_installed(checkout):
    done = import_it(checkout)
    package = checkout / "pymluops"
    assert done.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: pymluops is not installed: {package} has no compiled part; "
        f"run {sys.executable} -m pip install {checkout}"
    )
    (checkout / "pyproject.toml").unlink()
    assert import_it(checkout).stderr.endswith(f"{package} has no compiled part\n")


def test_a_library_of_other_sources(checkout):
    shutil.copy(_native.__file__, checkout / "pymluops")
    shutil.copytree(NATIVE / "lib", checkout / "pymluops" / "lib")
    others = sorted({str(Path(module.__file__).parents[1]) for module in (np, cffi)})
    done = import_it(checkout, *others)
    assert (done.returncode, done.stderr) == (0, "")
    kernel = min((checkout / "c_src" / "families").glob("*/api.c"))
    kernel.write_text(kernel.read_text() + "\n/* broken on purpose */\n")
    done = import_it(checkout, *others)
    assert done.returncode == 0
    assert "RuntimeWarning: the library of pymluops was built from other sources" in done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert f"run {sys.executable} -m pip install -e {checkout}\n" in done.stderr


def test_info_says_where_the_package_is(capsys):
    pymluops.show_config()
    package = Path(pymluops.__file__).parent
    assert f"package          {package}\n" in capsys.readouterr().out

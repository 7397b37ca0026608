# SPDX-License-Identifier: Apache-2.0
"""Build the C tests once, and run each of their programs.

The environment variable MLUOP_PRESET names the CMake preset, such as asan; default dev.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PRESET = os.environ.get("MLUOP_PRESET", "dev")
PROGRAMS = sorted(path.stem for path in (ROOT / "tests/c").glob("test_*.c"))


@pytest.fixture(scope="session")
def c_tests() -> Path:
    """The folder of the built programs."""
    here = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    cmake = shutil.which("cmake", path=environment["PATH"])
    assert cmake is not None, "the C tests need CMake: pip install '.[test]'"
    for arguments in (["--preset", PRESET], ["--build", "--preset", PRESET]):
        done = subprocess.run(
            [cmake, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build" / PRESET / "tests/c"


@pytest.mark.parametrize("program", PROGRAMS)
def test_c_program(c_tests: Path, program: str) -> None:
    command = [str(c_tests / program)]
    emulator = os.environ.get("MLUOP_EMULATOR", "").split()
    done = subprocess.run([*emulator, *command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr

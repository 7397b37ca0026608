# SPDX-License-Identifier: Apache-2.0
"""Build the C tests once, and run each of their programs.

The environment variable PYMLUOPS_TEST_PRESET names the CMake preset, such as asan. Without it only
the best instruction set of this machine is built, which is quick: the NumPy tests run on all of
them, and .ci/run builds these programs for all of them. PYMLUOPS_TEST_EMULATOR is a command that
runs the programs of another machine.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRESET = os.environ.get("PYMLUOPS_TEST_PRESET", "quick")
EMULATOR = os.environ.get("PYMLUOPS_TEST_EMULATOR", "").split()
FOLDERS = ("c", "vector")
PROGRAMS = sorted(p.stem for name in FOLDERS for p in (ROOT / "tests" / name).glob("test_*.c"))


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


def run(program: Path, **environment: str) -> None:
    # Allocations that must fail are part of the tests: sanitizers let them return NULL.
    options = {f"{name}SAN_OPTIONS": "allocator_may_return_null=1" for name in ("A", "T")}
    done = subprocess.run(
        [*EMULATOR, str(program)],
        env=os.environ | options | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_c_program(c_tests: Path, program: str) -> None:
    run(c_tests / program)


def ways() -> list[str]:
    """Every way to do an operator that a list has, as MLUOP_CPU_KERNEL names it."""
    found = []
    for source in sorted([*ROOT.glob("c_src/families/*/*.c"), *ROOT.glob("c_src/shared/*/*.c")]):
        text = source.read_text()
        lists = dict(re.findall(r"struct mluop_way (\w+)\[\] = \{(.*?)\};", text, re.DOTALL))
        for operator, rows in re.findall(r'mluop_plan\([\w>-]+, "(\w+)", (\w+),', text):
            names = re.findall(r'\{"(\w+)",', lists.pop(rows))
            found += [f"{operator}={name}" for name in names]
        assert lists == {}, f"{source.name} has a list that nobody chooses from"
    return found


@pytest.mark.parametrize("way", ways())
def test_every_way_gives_the_values_of_the_plain_loops(c_tests: Path, way: str) -> None:
    run(c_tests / "test_values", MLUOP_CPU_KERNEL=way)

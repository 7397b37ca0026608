# SPDX-License-Identifier: Apache-2.0
"""Build the C tests once, and run each of their programs.

They link what pip has compiled, in its build folder: all instruction sets. The environment variable
PYMLUOPS_TEST_PRESET names a CMake preset instead, such as asan, which compiles its own library;
"quick" is taken where there is no such folder. PYMLUOPS_TEST_EMULATOR is a command that runs the
programs of another machine.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIPS = ROOT / "build" / str(sys.implementation.cache_tag)
PRESET = os.environ.get("PYMLUOPS_TEST_PRESET")
if PRESET is None and not (PIPS / "CMakeCache.txt").exists():
    PRESET = "quick"
EMULATOR = os.environ.get("PYMLUOPS_TEST_EMULATOR", "").split()
FOLDERS = ("c", "vector")
PROGRAMS = sorted(p.stem for name in FOLDERS for p in (ROOT / "tests" / name).glob("test_*.c"))


@pytest.fixture(scope="session")
def c_tests(request: pytest.FixtureRequest) -> Path:
    """The folder of the programs, in which those that are run here have been built."""
    calls = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    programs = sorted({call.get("program", "") for call in calls} & {*PROGRAMS})
    here = Path(sys.executable).parent
    path = f"{here}{os.pathsep}{os.environ['PATH']}"
    cmake, ninja = (shutil.which(name, path=path) for name in ("cmake", "ninja"))
    assert cmake is not None, "the C tests need CMake: pip install '.[test]'"
    folder = ROOT / "build" / PRESET if PRESET else PIPS
    if not PRESET:
        # Another version of Ninja may not read the log of pip's, and compile everything again. With
        # build isolation, pip's may be gone.
        cache = (folder / "CMakeCache.txt").read_text()
        pips = re.search(r"^CMAKE_MAKE_PROGRAM:\w+=(.*)$", cache, re.MULTILINE)
        if pips is not None and Path(pips[1]).exists():
            ninja = pips[1]
    own = ["-S", ".", "-B", folder, "-DMLUOP_BUILD_TESTS=ON", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    for arguments in (
        ["--preset", PRESET] if PRESET else own,
        ["--build", folder, "--target", *programs],
    ):
        done = subprocess.run(
            [cmake, *arguments],
            cwd=ROOT,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "tests/c"


@pytest.mark.parametrize("program", PROGRAMS)
def test_c_program(c_tests: Path, program: str, tmp_path: Path) -> None:
    # Allocations that must fail are part of the tests: sanitizers let them return NULL. A program
    # that is aborted says what it was doing.
    sanitizers = "allocator_may_return_null=1:abort_on_error=1"
    options = {f"{name}SAN_OPTIONS": sanitizers for name in ("A", "T", "UB")}
    # Threads that wait for the next of many small calls would take half of the time.
    options["OMP_WAIT_POLICY"] = "passive"
    done = subprocess.run(
        [*EMULATOR, str(c_tests / program)],
        env=os.environ | options | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr

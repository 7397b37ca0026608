# SPDX-License-Identifier: Apache-2.0
"""Other libraries of the same names, such as the accelerator's own: ours is the one that runs."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pymluops
from pymluops import __main__ as cli
from pymluops import _config

PACKAGE = _config.lib_dir().parent
NAMES = ("mluops", "cnrt", "cndrv")
# Exit status 0 only if both libraries are ours: the foreign ones have nothing but their names.
PROGRAM = """
#include <mlu_op.h>
#include <mlu_op_cpu.h>
int main(void) {
  mluOpHandle_t handle;
  cnrtQueue_t queue;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return 1;
  if (cnrtQueueCreate(&queue) != cnrtSuccess) return 2;
  mluOpSetQueue(handle, queue);
  cnrtQueueDestroy(queue);
  return mluOpDestroy(handle) != MLUOP_STATUS_SUCCESS;
}
"""


def tool(name: str) -> str:
    """The path of a program: of this environment, or of the system."""
    here = Path(sys.executable).parent
    found = shutil.which(name, path=f"{here}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"no {name} here")
    return found


def run(*command: object, **environment: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=os.environ | environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libraries of our names, which have none of our functions."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "foreign.c").write_text("int nothing_of_ours(void) { return 1; }\n")
    for name in NAMES:
        library = folder / f"lib{name}.so"
        options = ["-shared", "-fPIC", f"-Wl,-soname,lib{name}.so"]
        run(tool("cc"), *options, folder / "foreign.c", "-o", library)
    return folder


def test_python_runs_its_own_library(foreign: Path) -> None:
    code = "from pymluops import _config; print(_config.loaded_library())"
    out = run(sys.executable, "-c", code, LD_LIBRARY_PATH=str(foreign))
    assert out == f"{pymluops.library_path().resolve()}\n"


def build(folder: Path, flags: str) -> Path:
    """A program, built by a shell from what a tool has printed."""
    (folder / "user.c").write_text(PROGRAM)
    command = ["sh", "-c", 'eval "$0 -std=c99 user.c -o user $1"', tool("cc"), flags]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "user"


@pytest.mark.parametrize("more", ["", "-lcndrv"])
def test_programs_by_config_run_it(foreign: Path, tmp_path: Path, more: str) -> None:
    program = build(tmp_path, f"{_config.cflags()} {_config.libs()} {more}")
    run(program, LD_LIBRARY_PATH=str(foreign))


def test_programs_by_pkg_config_run_it(foreign: Path, tmp_path: Path) -> None:
    """From a package whose path has a space, too: what is printed is quoted for `eval`."""
    shutil.copytree(PACKAGE, tmp_path / "a package")
    place = str(tmp_path / "a package/lib/pkgconfig")
    ask = [tool("pkg-config"), "--cflags", "--libs", "mluops"]
    run(build(tmp_path, run(*ask, PKG_CONFIG_PATH=place)), LD_LIBRARY_PATH=str(foreign))


def test_programs_by_cmake_run_it(foreign: Path, tmp_path: Path) -> None:
    (tmp_path / "user.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(user LANGUAGES C)\n"
        "find_package(mluops 1.11 CONFIG REQUIRED)\nadd_executable(user user.c)\n"
        "target_link_libraries(user PRIVATE mluops::mluops)\n"
    )
    options = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    package = f"-Dmluops_DIR={_config.cmake_dir()}"
    run(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build", *options, package)
    run(tool("cmake"), "--build", tmp_path / "build")
    run(tmp_path / "build/user", LD_LIBRARY_PATH=str(foreign))


def test_flags_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    shutil.copytree(PACKAGE, tmp_path / "a package")
    monkeypatch.setattr(_config, "_DIR", tmp_path / "a package")
    assert cli.main(["config", "--cflags", "--libs"]) == 0
    printed = capsys.readouterr().out.strip()
    assert shlex.split(printed)[0] == f"-I{tmp_path}/a package/include"
    run(build(tmp_path, printed))


def test_info_says_which_library_is_loaded(tmp_path: Path, capsys) -> None:
    """Another build of ours, forced into the process, is not passed over in silence."""
    assert cli.main(["info"]) == 0
    assert "WARNING" not in capsys.readouterr().out
    other = shutil.copy(pymluops.library_path(), tmp_path)
    out = run(sys.executable, "-m", "pymluops", "info", LD_PRELOAD=str(other))
    expected = (
        f"{other} (WARNING: expected {pymluops.library_path()}, which this package came with)"
    )
    assert expected in out

# SPDX-License-Identifier: Apache-2.0
"""How the library is configured and built: choices, compilers' flags, what is missing."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import pymluops
from pymluops import _build_id, _config

ROOT = Path(__file__).resolve().parents[2]
FAST_MATH = ["-Ofast", "-ffast-math", "-funsafe-math-optimizations", "-ffinite-math-only"]
DEFAULTS = {
    "CMAKE_BUILD_TYPE": "Debug",
    "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
    "MLUOP_FAMILIES": "",
    "MLUOP_ISAS": "",
    "MLUOP_SANITIZE": "",
    "MLUOP_THREADING": "auto",
    "MLUOP_WERROR": "ON",
}


def tool(name: str) -> str:
    """The path of a program: of this environment, or of the system."""
    here = Path(sys.executable).parent
    found = shutil.which(name, path=f"{here}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"no {name} here")
    return found


def run(*command: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def must(*command: object) -> str:
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure(folder: Path, **choices: str) -> subprocess.CompletedProcess[str]:
    options = [f"-D{name}={value}" for name, value in (DEFAULTS | choices).items()]
    make = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"
    return run(tool("cmake"), "-S", ROOT, "-B", folder, "-G", "Ninja", make, *options)


def configured(folder: Path, **choices: str) -> Path:
    done = configure(folder, **choices)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder whose compiler is known, so that CMake is quick."""
    return tmp_path_factory.mktemp("build")


@pytest.fixture(scope="module")
def fast_math(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder, with the CFLAGS of somebody who wants fast-math."""
    choices = {"CMAKE_BUILD_TYPE": "None", "CMAKE_C_FLAGS": " ".join(FAST_MATH)}
    return configured(tmp_path_factory.mktemp("fast_math"), **choices)


# ------------------------------------------------------------------------------------ choices


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MLUOP_THREADING", "foo", "foo given, expected auto, openmp, pthreads, serial"),
        ("MLUOP_SANITIZE", "adress,undefined", "adress given, expected address, fuzzer-no-link"),
        ("MLUOP_ISAS", "sse9;baseline", "sse9 given, expected avx512, avx2, baseline, native"),
        ("MLUOP_FAMILIES", "things", "things is none of"),
    ],
)
def test_a_wrong_choice_is_refused(folder: Path, name: str, value: str, said: str) -> None:
    if "neon" in pymluops.supported_isas():
        said = said.replace("avx512, avx2, baseline", "neon")
    done = (
        configure(folder, MLUOP_FAMILIES="", **{name: value})
        if name != "MLUOP_FAMILIES"
        else (configure(folder, MLUOP_FAMILIES=value))
    )
    assert done.returncode != 0
    assert f"{name}: {said}" in " ".join(done.stderr.split())


def isas_of(folder: Path) -> list[str]:
    return re.findall(r"X\((\w+), \d+, argument\)", (folder / "generated/isa_list.h").read_text())


def all_isas() -> list[str]:
    if "neon" in pymluops.supported_isas():
        return ["neon"]
    return ["avx512", "avx2", "baseline"]


SUBSETS = [
    list(subset) for size in (1, 2, 3) for subset in itertools.combinations(all_isas(), size)
]


@pytest.mark.parametrize("subset", SUBSETS, ids=" ".join)
def test_any_subset_compiles_without_warnings(folder: Path, subset: list[str]) -> None:
    """What is left of the choice of kernels has no unused function; the best comes first."""
    configured(folder, MLUOP_ISAS=";".join(reversed(subset)))
    assert isas_of(folder) == subset
    must(tool("ninja"), "-C", folder, "CMakeFiles/mluops_core.dir/c_src/core/isa.c.o")


def test_native_is_the_best_of_this_machine(folder: Path) -> None:
    configured(folder, MLUOP_ISAS="native")
    assert isas_of(folder) == list(pymluops.supported_isas()[:1])


def test_pip_keeps_its_build_folder_and_forgets_choices() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert settings["build-dir"] == "build/{cache_tag}"
    for name in ("MLUOP_ISAS", "MLUOP_SANITIZE", "MLUOP_THREADING"):
        assert settings["cmake"]["define"][name] == DEFAULTS[name]


# ------------------------------------------------------------------------- what is not there


@pytest.mark.slow
def test_a_build_without_openmp_says_so(folder: Path) -> None:
    choices = {"CMAKE_DISABLE_FIND_PACKAGE_OpenMP": "ON"}
    assert "no OpenMP: plain pthreads" in configure(folder, **choices).stderr
    assert configure(folder, MLUOP_THREADING="pthreads", **choices).stderr == ""
    configured(folder, CMAKE_DISABLE_FIND_PACKAGE_OpenMP="OFF")


@pytest.mark.slow
def test_a_build_without_python_headers_names_the_package(tmp_path: Path) -> None:
    done = configure(
        tmp_path,
        MLUOP_BUILD_PYTHON="ON",
        Python_EXECUTABLE=sys.executable,
        Python_INCLUDE_DIR=str(tmp_path / "missing"),
    )
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"Python.h of {sys.executable} is not installed" in said
    assert "apt-get install python3-dev" in said


# ---------------------------------------------------------------------------------- fast-math


def test_sources_refuse_fast_math(tmp_path: Path) -> None:
    source = tmp_path / "user.c"
    source.write_text('#define MLUOP_ISA any\n#include "core/kernel.h"\n')
    check = [tool("cc"), "-std=c99", "-fsyntax-only", f"-I{ROOT / 'c_src'}", source]
    must(*check)
    for flag in ("-ffast-math", "-Ofast", "-ffinite-math-only"):
        done = run(*check, flag)
        assert done.returncode != 0
        assert "results would be wrong with -ffast-math" in done.stderr


@pytest.mark.slow
def test_fast_math_is_undone_when_compiling(fast_math: Path) -> None:
    commands = json.loads((fast_math / "compile_commands.json").read_text())
    assert len(commands) > 30
    for entry in commands:
        words = shlex.split(entry["command"])
        assert words.index("-fno-fast-math") > words.index("-ffinite-math-only"), entry["file"]
    kernel = next(e for e in commands if e["file"].endswith("/forward.c"))
    words = shlex.split(kernel["command"])
    if "Free Software Foundation" not in must(words[0], "--version"):
        pytest.skip("only GCC tells what it does")
    words = words[: words.index("-o")]
    states = dict(
        re.findall(r"^\s+(-f[\w-]+)\s+\[(\w+)\]", must(*words, "-Q", "--help=optimizers"), re.M)
    )
    for flag in ("unsafe-math-optimizations", "finite-math-only", "associative-math"):
        assert states[f"-f{flag}"] == "disabled"
    assert states["-freciprocal-math"] == "disabled"
    assert states["-fsigned-zeros"] == "enabled"


@pytest.mark.slow
def test_loading_leaves_denormals_alone(fast_math: Path) -> None:
    """The linker would add code that sets flush-to-zero in whichever process loads a library."""
    must(tool("ninja"), "-C", fast_math, "libcnrt.so", "libcndrv.so")
    code = """
import ctypes, sys
tiny = sys.float_info.min
for library in sys.argv[1:]:
    ctypes.CDLL(library)
    assert tiny / 2 > 0, library
"""
    must(sys.executable, "-c", code, fast_math / "libcnrt.so", fast_math / "libcndrv.so")
    for name in ("libmluops.so", "libcnrt.so"):
        library = f"{name}.{pymluops.__version__}"
        link = must(tool("ninja"), "-C", fast_math, "-t", "commands", "-s", library)
        words = shlex.split(link)
        assert words.index("-fno-fast-math") > words.index("-ffast-math")
        assert words.index("-O2") > words.index("-Ofast")


# ------------------------------------------------------------------------------- installation


@pytest.mark.slow
def test_static_libraries_of_clang_name_their_openmp(tmp_path: Path) -> None:
    """Flags of one compiler are of no use to another; and ours give no warning there."""
    configured(tmp_path, CMAKE_C_COMPILER=tool("clang"), BUILD_SHARED_LIBS="OFF")
    targets = next(tmp_path.glob("CMakeFiles/Export/*/mluops-targets.cmake")).read_text()
    assert "OpenMP::" not in targets
    libraries = (tmp_path / "generated/mluops.pc").read_text().partition("Libs.private:")[2].split()
    assert not [word for word in libraries if word.startswith("-f")]
    cache = (tmp_path / "CMakeCache.txt").read_text()
    runtime = re.search(r"^OpenMP_libomp_LIBRARY:\w+=(/.*)$", cache, re.MULTILINE)
    if runtime is not None:
        assert runtime[1] in libraries
        assert runtime[1] in targets
    must(
        tool("ninja"), "-C", tmp_path, "libcnrt.a", "CMakeFiles/mluops_core.dir/c_src/core/isa.c.o"
    )


def test_the_licence_is_installed(folder: Path) -> None:
    configured(folder)
    assert f'"{ROOT}/LICENSE"' in (folder / "cmake_install.cmake").read_text()


VERSIONS = {
    "": 1,
    "0.1": 1,
    "0.1.0": 1,
    "0.2": 0,
    "1.11": 1,
    "1.11.1": 1,
    "1.10": 1,
    "1.12": 0,
    "2": 0,
}


def test_find_package_knows_both_versions(tmp_path: Path) -> None:
    """A program may ask for a version of the mluOp API, which is the one that people know."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(user LANGUAGES NONE)\n"
        + "".join(
            f"find_package(mluops {version} CONFIG QUIET)\n"
            f'message(STATUS "<{version}> ${{mluops_FOUND}}")\n'
            for version in VERSIONS
        )
    )
    out = must(
        tool("cmake"), "-S", tmp_path, "-B", tmp_path, f"-Dmluops_ROOT={_config.lib_dir().parent}"
    )
    found = dict(re.findall(r"<(.*)> (\d)", out))
    assert found == {version: str(known) for version, known in VERSIONS.items()}


# ----------------------------------------------------------------------------------- build id


def test_the_build_id_is_that_of_the_c_sources(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "c_src/core").mkdir(parents=True)
    header, source = tmp_path / "include/a.h", tmp_path / "c_src/core/a.c"
    (tmp_path / "CMakeLists.txt").write_text("project(a)\n")

    def of(change: Callable[[], object] = lambda: None) -> str:
        change()
        return _build_id.of_sources(tmp_path)

    header.write_text("int a;\n")
    source.write_text("int b;\n")
    first = of()
    assert re.fullmatch("[0-9a-f]{16}", first)
    assert of(lambda: (tmp_path / "c_src/core/README.md").write_text("text")) == first
    ids = {
        first,
        of(lambda: header.write_text("int c;\n")),
        of(lambda: source.rename(source.with_name("b.c"))),
        of(lambda: (tmp_path / "CMakeLists.txt").write_text("project(b)\n")),
    }
    assert len(ids) == 4


def test_the_installed_module_was_built_from_these_sources() -> None:
    """Otherwise the tests run over something else: install again."""
    from pymluops.capi import ffi, lib

    assert ffi.string(lib.pymluops_build_id).decode() == _build_id.of_sources(ROOT)

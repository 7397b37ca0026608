# SPDX-License-Identifier: Apache-2.0
"""What C programs see of an installation: headers, exported names, and the examples built on it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pymluops
from pymluops import _config

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "c"
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.c*"))
WARNINGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
STANDARDS = ["c90", "c99", "c11", "c17", "c++11", "c++14", "c++17"]


def tool(name: str) -> str:
    """The path of a program: of this environment, or of the system."""
    here = Path(sys.executable).parent
    found = shutil.which(name, path=f"{here}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"no {name} here")
    return found


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs_cxx(program: str) -> bool:
    return (EXAMPLES / f"{program}.cpp").exists()


def check_output(program: str, output: str) -> None:
    lines = output.splitlines()
    (source,) = EXAMPLES.glob(f"{program}.c*")
    said = re.search(r'^\W*Among what it prints: "(.*)"', source.read_text(), re.MULTILINE)
    assert said is not None, f"{source.name} does not say what it prints"
    assert said[1] in lines, output
    assert lines[-1] == f"{program}: ok"


# ------------------------------------------------------------------------------------ headers


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("header", ["mlu_op.h", "mlu_op_cpu.h", "cnrt.h", "cn_api.h"])
def test_headers_compile_alone(header: str, standard: str, tmp_path: Path) -> None:
    language = "c++" if "++" in standard else "c"
    source = tmp_path / f"user.{'cpp' if language == 'c++' else 'c'}"
    source.write_text(f"#include <{header}>\n#include <{header}>\n")
    compiler = tool("c++" if language == "c++" else "cc")
    run(
        compiler,
        f"-std={standard}",
        *WARNINGS,
        "-fsyntax-only",
        f"-I{_config.include_path()}",
        source,
    )


def test_one_header_is_enough_for_operators_and_runtime(tmp_path: Path) -> None:
    """Programs for the accelerator include mlu_op.h alone and use bool and both runtimes."""
    source = tmp_path / "user.c"
    source.write_text(
        "#include <mlu_op.h>\n"
        "bool user(cnrtQueue_t *queue) {\n"
        "  return cnInit(0) == CN_SUCCESS && cnrtQueueCreate(queue) == cnrtSuccess;\n"
        "}\n"
        "size_t count(mluOpTensorDescriptor_t desc) { return mluOpGetTensorElementNum(desc); }\n"
    )
    flags = ["-fsyntax-only", f"-I{_config.include_path()}"]
    run(tool("cc"), "-std=c99", *(w for w in WARNINGS if "prototypes" not in w), *flags, source)


def test_checks_are_macros_of_the_program(tmp_path: Path) -> None:
    """Programs may define CNRT_CHECK themselves before the header, and use it with commas."""
    source = tmp_path / "user.c"
    source.write_text(
        "#define CNRT_CHECK(call) (call)\n#include <cnrt.h>\n"
        "int user(void *a) { return CNRT_CHECK(cnrtFree(a)); }\n"
    )
    run(tool("cc"), "-std=c99", *WARNINGS, "-fsyntax-only", f"-I{_config.include_path()}", source)


# ------------------------------------------------------------------------------ exported names


def declared_functions(header: str) -> set[str]:
    """The functions of a header: what stands before an opening parenthesis outside comments."""
    code = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / header).read_text(), flags=re.DOTALL)
    return set(re.findall(r"\b((?:cn|mluOp)\w+)\(", code))


@pytest.mark.parametrize(
    ("library", "headers"),
    [("mluops", ["mlu_op.h", "mlu_op_cpu.h"]), ("cnrt", ["cnrt.h", "cn_api.h"])],
)
def test_exactly_what_the_headers_declare_is_exported(library: str, headers: list[str]) -> None:
    symbols = run(tool("readelf"), "--wide", "--dyn-syms", _config.lib_dir() / f"lib{library}.so")
    exported = {
        line.split()[-1]
        for line in symbols.splitlines()
        if re.search(r"GLOBAL|WEAK", line) and " UND " not in line
    }
    assert all(declared_functions(header) for header in headers)
    assert exported == set().union(*map(declared_functions, headers))


def test_the_operators_need_no_runtime() -> None:
    """Neither libmluops nor the extension module is linked to libcnrt."""
    for library in (pymluops.library_path(), Path(pymluops._native.__file__)):
        assert "libcnrt" not in run(tool("readelf"), "-d", library)


# ----------------------------------------------------------------------------------- examples


@pytest.fixture(scope="session")
def by_cmake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, built by CMake against the installed package."""
    folder = tmp_path_factory.mktemp("by_cmake")
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    package = f"-Dmluops_DIR={_config.cmake_dir()}"
    run(tool("cmake"), "-S", EXAMPLES, "-B", folder, *generator, package)
    run(tool("cmake"), "--build", folder)
    return folder


@pytest.fixture(scope="session")
def by_make(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, built by make and pkg-config against the installed package."""
    folder = tmp_path_factory.mktemp("by_make")
    tool("pkg-config")
    run(tool("make"), "-C", EXAMPLES, f"OUT={folder}", f"PKG_CONFIG_PATH={_config.pkgconfig_dir()}")
    return folder


@pytest.mark.parametrize("program", PROGRAMS)
def test_example_by_cmake(program: str, by_cmake: Path) -> None:
    if needs_cxx(program):
        tool("c++")
    check_output(program, run(by_cmake / program))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_example_by_make(program: str, by_make: Path) -> None:
    if needs_cxx(program):
        tool("c++")
    check_output(program, run(by_make / program))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_example_under_valgrind(program: str, by_make: Path) -> None:
    if needs_cxx(program):
        tool("c++")
    run(tool("valgrind"), "-q", "--error-exitcode=1", "--leak-check=full", by_make / program)


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples with sanitizers, on the library without."""
    folder = tmp_path_factory.mktemp("sanitized")
    flags = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    done = subprocess.run([tool("cc"), *flags.split(), probe, "-o", folder / "probe"], check=False)
    if done.returncode != 0:
        pytest.skip("the compiler has no sanitizers")
    arguments = [f"OUT={folder}", f"PKG_CONFIG_PATH={_config.pkgconfig_dir()}"]
    run(tool("make"), "-C", EXAMPLES, *arguments, f"CFLAGS={flags}", f"CXXFLAGS={flags}")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_example_with_sanitizers(program: str, sanitized: Path) -> None:
    if needs_cxx(program):
        tool("c++")
    check_output(program, run(sanitized / program))


# A program as a link line for the accelerator builds it, with the driver library.
USER = """
#include <stdio.h>
#include "cn_api.h"
#include "cnrt.h"
#include "mlu_op.h"
int main(void) {
  void *memory = NULL;
  mluOpHandle_t handle;
  cnrtQueue_t queue;
  if (cnInit(0) != CN_SUCCESS || mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return 1;
  CNRT_CHECK(cnrtQueueCreate(&queue));
  CNRT_CHECK(cnrtMalloc(&memory, 16));
  CNRT_CHECK(cnrtFree(memory));
  CNRT_CHECK(cnrtQueueDestroy(queue));
  mluOpDestroy(handle);
  CNRT_CHECK(cnrtFree(memory)); /* freed twice: this ends the program */
  return 0;
}
"""


@pytest.mark.parametrize("more", [[], ["-lcndrv"], ["-Wl,--as-needed", "-lcndrv"]], ids=" ".join)
def test_link_lines(more: list[str], tmp_path: Path) -> None:
    source, program = tmp_path / "user.c", tmp_path / "user"
    source.write_text(USER)
    flags = f"{_config.cflags()} {_config.libs()}".split()
    run(tool("cc"), source, "-o", program, *flags, *more)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 1
    said = r".*user\.c:\d+: cnrtFree\(memory\): invalid argument \(cnrtErrorArgsInvalid\)\n"
    assert re.fullmatch(said, done.stderr)

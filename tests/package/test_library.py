# SPDX-License-Identifier: Apache-2.0
"""The shared library as the linker sees it: what it needs, and who can load it."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hardening import check_hardened, readelf

from pymluops import _native

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(_native.__file__).parent
LIBRARY = PACKAGE / "lib" / "libmluops.so"


def needed(library: Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.*?)\]", readelf("-d", library)))


def test_nothing_but_the_c_runtime_is_needed() -> None:
    allowed = r"(libc|libm|libgomp|libpthread|ld-linux[-\w]*|libmluops)\.so[.\d]*"
    assert {name for name in needed(LIBRARY) if not re.fullmatch(allowed, name)} == set()
    assert "libmluops.so" in needed(PACKAGE / "_native.abi3.so")


def test_libraries_are_what_their_names_say() -> None:
    """No linker scripts: who scans a wheel expects ELF files."""
    names = {"libmluops.so", "libcnrt.so", "libcndrv.so"}
    assert {path.name for path in (PACKAGE / "lib").glob("*.so*")} == names
    for name in names:
        with (PACKAGE / "lib" / name).open("rb") as library:
            assert library.read(4) == b"\x7fELF", name
    assert "libcnrt.so" in needed(PACKAGE / "lib/libcndrv.so")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.so")), ids=lambda path: path.name)
def test_libraries_are_hardened(path: Path) -> None:
    check_hardened(path)


def test_nothing_is_left_of_the_build_folder() -> None:
    """The same sources make the same files: no path of the build stands in them."""
    for path in PACKAGE.glob("**/*.so"):
        assert str(ROOT).encode() not in path.read_bytes(), path


def test_ctypes_loads_it() -> None:
    library = ctypes.CDLL(str(LIBRARY))
    handle = ctypes.c_void_p()
    assert library.mluOpCreate(ctypes.byref(handle)) == 0
    assert library.mluOpDestroy(handle) == 0
    assert library.mluOpDestroy(None) == 3


def test_the_package_can_be_used_by_c_projects() -> None:
    for name in ("mlu_op.h", "mlu_op_cpu.h", "cnrt.h"):
        assert (PACKAGE / "include" / name).read_text() == (ROOT / "include" / name).read_text()
    assert (PACKAGE / "lib/cmake/mluops/mluops-config.cmake").exists()
    assert (PACKAGE / "lib/pkgconfig/mluops.pc").exists()


@pytest.mark.parametrize("module", ["pymluops", "pymluops.capi"])
def test_import_starts_nothing(module: str) -> None:
    """No thread, no handle, no file: only what importing takes."""
    code = f"import {module}, os; print(len(os.listdir('/proc/self/task')))"
    environment = {"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout == "1\n"
    assert done.stderr == ""

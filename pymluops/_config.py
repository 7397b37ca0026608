# SPDX-License-Identifier: Apache-2.0
"""Versions and paths of this installation, and the flags for C programs that use it."""

import os
import shlex
from pathlib import Path

import numpy as np

from pymluops import _native
from pymluops._handle import supported_isas
from pymluops._installation import FOLDER
from pymluops._threads import default_handle
from pymluops.capi import CData, ffi, lib
from pymluops.errors import MluOpError

# Beside the compiled module: in an editable installation that is not where the sources are.
_DIR = Path(_native.__file__).resolve().parent
_LIBRARIES = ("mluops", "cnrt")


def _text(string: CData) -> str:
    return ffi.string(string).decode("utf-8", "replace")


version = _text(lib.mluOpCpuGetVersion())


def library_path() -> Path:
    """Return the path of ``libmluops.so``, for programs that load it themselves.

    Examples
    --------
    >>> import ctypes, pymluops
    >>> library = ctypes.CDLL(str(pymluops.library_path()))
    >>> library.mluOpGetErrorString.restype = ctypes.c_char_p
    >>> library.mluOpGetErrorString(3)
    b'MLUOP_STATUS_BAD_PARAM'
    """
    return _DIR / "lib" / "libmluops.so"


def include_path() -> Path:
    """Return the directory of ``mlu_op.h``.

    Examples
    --------
    >>> import pymluops
    >>> (pymluops.include_path() / "mlu_op.h").is_file()
    True
    """
    return _DIR / "include"


def lib_dir() -> Path:
    """Return the directory of the libraries."""
    return _DIR / "lib"


def cmake_dir() -> Path:
    """Return the directory of the CMake package, for ``mluops_DIR``."""
    return lib_dir() / "cmake" / "mluops"


def pkgconfig_dir() -> Path:
    """Return the directory of ``mluops.pc``, for PKG_CONFIG_PATH."""
    return lib_dir() / "pkgconfig"


def cflags() -> str:
    """Return the compiler flags of a C program that uses the library, quoted for a shell."""
    return shlex.quote(f"-I{include_path()}")


def libs() -> str:
    """Return the linker flags of such a program, which finds the library again when it runs."""
    # DT_RPATH instead of DT_RUNPATH: it comes before LD_LIBRARY_PATH, in which there may be a
    # libmluops.so of the accelerator.
    rpath = f"-Wl,-rpath,{lib_dir()},--disable-new-dtags"
    names = [name for name in _LIBRARIES if (lib_dir() / f"lib{name}.so").exists()]
    return shlex.join([f"-L{lib_dir()}", rpath, *(f"-l{name}" for name in names)])


def loaded_library() -> Path:
    """Return the path of the library that this process runs, as the loader says."""
    return Path(_text(lib.pymluops_library_file())).resolve()


def facts() -> dict[str, str]:
    """Return the facts about this installation for a problem report."""
    import platform  # here, as it is slow to import and rarely needed

    api = ffi.new("int[3]")
    lib.mluOpGetLibVersion(api + 0, api + 1, api + 2)
    return {
        "pymluops": version,
        "mluOp API": ".".join(str(part) for part in api),
        "built with": _text(lib.mluOpCpuGetBuildInfo()),
        **_in_use(),
        "environment": _environment(),
        "package": str(FOLDER),
        "library": _library_in_use(),
        "headers": str(include_path()),
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "NumPy": np.__version__,
        "cffi": distribution_version("cffi"),
        "PyTorch": distribution_version("torch"),
    }


def _in_use() -> dict[str, str]:
    """Return what operators run with: a wrong setting is told and hides nothing else."""
    supported = f"(supported: {' '.join(supported_isas())})"
    try:
        handle = default_handle()
    except MluOpError as error:
        return {"PROBLEM": str(error), "instruction set": f"none {supported}", "threads": "none"}
    return {
        "instruction set": f"{handle.isa_name} {supported}",
        "threads": str(handle.num_threads),
    }


def _environment() -> str:
    """Return the variables that change what the library does."""
    found = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith(("MLUOP_", "OMP_"))
    ]
    return " ".join(found) or "no MLUOP_ or OMP_ variable"


def show_config() -> None:
    """Print the versions, the instruction set, the number of threads and the paths in use."""
    entries = facts()
    width = max(map(len, entries))
    for name, value in entries.items():
        print(f"{name:<{width}}  {value}")


def _library_in_use() -> str:
    if loaded_library() == library_path().resolve():
        return str(library_path())
    return f"{loaded_library()} (WARNING: expected {library_path()}, which this package came with)"


def distribution_version(distribution: str) -> str:
    """Return the version of an installed package."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"

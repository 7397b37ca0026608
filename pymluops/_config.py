# SPDX-License-Identifier: Apache-2.0
"""What this installation is, and how C programs are built against it."""

from pathlib import Path

import numpy as np

from pymluops import _native
from pymluops._handle import supported_isas
from pymluops._threads import default_handle
from pymluops.capi import CData, ffi, lib

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
    """Return the compiler flags of a C program that uses the library."""
    return f"-I{include_path()}"


def libs() -> str:
    """Return the linker flags of such a program, which finds the library again when it runs."""
    names = [name for name in _LIBRARIES if (lib_dir() / f"lib{name}.so").exists()]
    return f"-L{lib_dir()} -Wl,-rpath,{lib_dir()} " + " ".join(f"-l{name}" for name in names)


def facts() -> dict[str, str]:
    """Return what a report of a problem should say about this installation."""
    import platform  # here, as it is slow to import and rarely needed

    api = ffi.new("int[3]")
    lib.mluOpGetLibVersion(api + 0, api + 1, api + 2)
    handle = default_handle()
    return {
        "pymluops": version,
        "mluOp API": ".".join(str(part) for part in api),
        "built with": _text(lib.mluOpCpuGetBuildInfo()),
        "instruction set": f"{handle.isa_name} (supported: {' '.join(supported_isas())})",
        "threads": str(handle.num_threads),
        "library": str(library_path()),
        "headers": str(include_path()),
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "NumPy": np.__version__,
        "cffi": _version("cffi"),
        "PyTorch": _version("torch"),
    }


def show_config() -> None:
    """Print the versions, the instruction set, the number of threads and the paths in use."""
    entries = facts()
    width = max(map(len, entries))
    for name, value in entries.items():
        print(f"{name:<{width}}  {value}")


def _version(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"

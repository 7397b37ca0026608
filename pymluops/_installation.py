# SPDX-License-Identifier: Apache-2.0
"""The compiled part of the package, and whether the Python files at hand belong to it."""

import shlex
import sys
import warnings
from pathlib import Path

from pymluops._build_id import of_sources

__all__ = ["FOLDER", "ffi", "lib"]

FOLDER = Path(__file__).resolve().parent


def _install_command(*options: str) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *options, str(FOLDER.parent)])


try:
    from pymluops._native import ffi, lib
except ModuleNotFoundError as error:
    if error.name != "pymluops._native":
        raise
    problem = f"pymluops is not installed: {FOLDER} has no compiled part"
    if (FOLDER.parent / "pyproject.toml").is_file():
        problem += f"; run {_install_command()}"
    raise ModuleNotFoundError(problem, name=error.name) from None


def _warn_of_other_sources() -> None:
    """Tell when the files of a source folder run over a library that was not built from it."""
    if not (FOLDER.parent / "c_src").is_dir():
        return
    # What was built before there were ids has none.
    found = getattr(lib, "pymluops_build_id", ffi.NULL)
    built_from = "" if found == ffi.NULL else ffi.string(found).decode()
    if of_sources(FOLDER.parent) != built_from:
        warnings.warn(
            f"the library of pymluops was built from other sources than those in {FOLDER.parent}, "
            f"whose Python files run; run {_install_command('-e')}",
            RuntimeWarning,
            stacklevel=1,
        )


_warn_of_other_sources()

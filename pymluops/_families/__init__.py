# SPDX-License-Identifier: Apache-2.0
"""The operators, a folder for each family; what runs over all of them finds them by these."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType


def names() -> list[str]:
    """Return the families in alphabetical order."""
    folders = (folder for path in __path__ for folder in Path(path).iterdir())
    return sorted({folder.name for folder in folders if (folder / "arrays.py").is_file()})


def parts(name: str) -> Iterator[tuple[str, ModuleType]]:
    """Yield each family that has a module of this name, and the module."""
    for family in names():
        if any((Path(path) / family / f"{name}.py").is_file() for path in __path__):
            yield family, import_module(f"{__name__}.{family}.{name}")

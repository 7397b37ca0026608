# SPDX-License-Identifier: Apache-2.0
"""mmcv's operators in plain torch: what a model is compared with. Nothing of pymluops is used here.

They are in tests/<family>/models.py. :func:`install` puts them where mmcv's own functions are,
as long as nothing of mmdet or mmseg has been imported. Autograd differentiates them.
"""

import functools
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from families import family_files

#: The operators that have been called.
CALLED: set[str] = set()


def _noted(operator: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        CALLED.add(operator)
        return function(*args, **named)

    return call


def _of_families(table: str) -> dict[str, Callable[..., Any]]:
    return {
        place: _noted(*entry)
        for _, module in family_files("models")
        for place, entry in getattr(module, table, {}).items()
    }


class _Extension(types.ModuleType):
    """mmcv's compiled module, as far as models ask for it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*args: Any, **named: Any) -> None:
            raise NotImplementedError(name)

        return missing


def install() -> None:
    extension = sys.modules["mmcv._ext"] = _Extension("mmcv._ext")
    for name, function in _of_families("EXTENSION").items():
        setattr(extension, name, function)
    package = importlib.import_module("mmcv.ops")
    for path, function in _of_families("STAND_INS").items():
        file, name = path.split(".")
        module = sys.modules[f"mmcv.ops.{file}"]
        if getattr(package, name) is getattr(module, name):
            setattr(package, name, function)
        setattr(module, name, function)

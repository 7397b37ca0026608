# SPDX-License-Identifier: Apache-2.0
"""Lets mmcv's own modules run on the CPU: call :func:`install` once, before the model is used.

mmcv-lite has all of mmcv's Python code, but no compiled module. It gets one, ``mmcv._ext``, with
our operators, and functions of ``mmcv.ops`` that do the same as ours are replaced. A full mmcv
keeps its own functions for other devices, and uses ours for tensors on the CPU. No file of mmcv is
changed.
"""

from __future__ import annotations

import importlib
import sys
from functools import wraps
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch import Tensor

import pymluops.torch
import pymluops.torch.onnx  # noqa: F401  (mmcv's modules can be exported)
from pymluops.torch._mmcv_ext import INFORMATION, NAMES, OPERATORS, REPLACED

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["install"]

_NAME = "mmcv._ext"


def install() -> None:
    """Give mmcv our operators for tensors on the CPU.

    Afterwards, mmcv's own modules run every operator of :mod:`pymluops.torch` on the CPU, whether
    they were imported before or are imported later. A second call does nothing.

    Raises
    ------
    ModuleNotFoundError
        mmcv is not installed.

    Examples
    --------
    >>> import pymluops.torch.mmcv_backend
    >>> pymluops.torch.mmcv_backend.install()  # doctest: +SKIP
    >>> from mmcv.ops import BorderAlign  # doctest: +SKIP
    """
    mmcv = _import_mmcv()
    compiled = _import_compiled()
    if compiled is None:
        compiled = sys.modules[_NAME] = _Backend()
        mmcv._ext = compiled  # type: ignore[attr-defined]
    elif not isinstance(compiled, _Backend):
        for name, ours in OPERATORS.items():
            setattr(compiled, name, _by_device(ours, getattr(compiled, name, None)))
    for path, ours in REPLACED.items():
        _replace(path, ours, keep=not isinstance(compiled, _Backend))


def _import_mmcv() -> ModuleType:
    try:
        return importlib.import_module("mmcv")
    except ModuleNotFoundError as error:
        if error.name != "mmcv":
            raise
        message = "mmcv_backend.install() needs mmcv: pip install mmcv-lite==2.1.0"
        raise ModuleNotFoundError(message, name="mmcv") from error


def _import_compiled() -> ModuleType | None:
    try:
        return importlib.import_module(_NAME)
    except ModuleNotFoundError as error:
        if error.name != _NAME:
            raise
        return None


def _replace(path: str, ours: Callable[..., Any], *, keep: bool) -> None:
    """Put our function in place of one of mmcv.ops, and of its methods.

    `keep` is whether mmcv's own goes on to serve other devices.
    """
    file, *names = path.split(".")
    holder: Any = importlib.import_module(f"mmcv.ops.{file}")
    for name in names[:-1]:
        holder = getattr(holder, name)
    theirs = getattr(holder, names[-1])
    given = _by_device(ours, theirs) if keep else ours
    setattr(holder, names[-1], given)
    package = importlib.import_module("mmcv.ops")
    if getattr(package, names[-1], None) is theirs:
        setattr(package, names[-1], given)


class _Backend(ModuleType):
    """The compiled module of an mmcv that has none."""

    def __init__(self) -> None:
        super().__init__(_NAME, "Operators on the CPU, by pymluops.")
        # mmcv and mmengine look for a loader to find out whether there are operators.
        self.__spec__ = ModuleSpec(_NAME, loader=Loader(), origin="pymluops.torch.mmcv_backend")
        self.__dict__.update(OPERATORS)
        self.__dict__.update(INFORMATION)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function that says it is missing: mmcv asks for all names when imported."""
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*args: Any, **kwargs: Any) -> Any:
            message = (
                f"mmcv._ext.{name}: pymluops has only {', '.join(NAMES)}, "
                "and mmcv-lite has no compiled operator of its own"
            )
            raise NotImplementedError(message)

        return missing


def _by_device(ours: Callable[..., Any], theirs: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return a function for a full mmcv: ours for tensors on the CPU, its own for all others."""
    if theirs is None or theirs is ours:
        return ours
    if hasattr(theirs, "theirs"):  # it is such a function
        return theirs

    @wraps(ours)
    def either(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor) and value.device.type != "cpu":
                return theirs(*args, **kwargs)
        return ours(*args, **kwargs)

    either.theirs = theirs  # type: ignore[attr-defined]
    return either

# SPDX-License-Identifier: Apache-2.0
"""Lets mmcv's own modules run on the CPU: :func:`install` once, before the model is used.

mmcv-lite has all of mmcv's Python, and no compiled module: it gets one, ``mmcv._ext``, with our
operators in it. A full mmcv keeps its own functions for other devices, and takes ours for tensors
on the CPU. Nothing of mmcv is copied or changed on disk.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch import Tensor

import pymluops.torch  # noqa: F401  (registers the operators)
from pymluops.torch._mmcv_ext import CHANGES, INFORMATION, NAMES, OPERATORS
from pymluops.torch._tensors import COMPUTE_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["install"]

_NAME = "mmcv._ext"


def install() -> None:
    """Give mmcv our operators for tensors on the CPU.

    All that :mod:`pymluops.torch` has runs on the CPU afterwards in mmcv's own modules, whether
    these were imported before or are imported later. A second call does nothing.

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
            theirs = getattr(compiled, name, None)
            if not isinstance(theirs, _ByDevice):
                setattr(compiled, name, _ByDevice(name, ours, theirs))
    for change in CHANGES:
        change()


def _import_mmcv() -> ModuleType:
    try:
        return importlib.import_module("mmcv")
    except ModuleNotFoundError as error:
        if error.name != "mmcv":
            raise
        message = "mmcv_backend.install() needs mmcv: pip install mmcv-lite==2.2.0"
        raise ModuleNotFoundError(message, name="mmcv") from error


def _import_compiled() -> ModuleType | None:
    try:
        return importlib.import_module(_NAME)
    except ModuleNotFoundError as error:
        if error.name != _NAME:
            raise
        return None


class _Backend(ModuleType):
    """The compiled module of an mmcv that has none."""

    def __init__(self) -> None:
        super().__init__(_NAME, "Operators on the CPU, by pymluops.")
        self.__spec__ = ModuleSpec(_NAME, loader=None, origin="pymluops.torch.mmcv_backend")
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


class _ByDevice:
    """A function of a full mmcv: ours for what we compute, its own for everything else."""

    def __init__(
        self, name: str, ours: Callable[..., Any], theirs: Callable[..., Any] | None
    ) -> None:
        self.__name__ = name
        self.ours = ours
        self.theirs = theirs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if self.theirs is None or all(
            _is_ours(value) for value in values if isinstance(value, Tensor)
        ):
            return self.ours(*args, **kwargs)
        return self.theirs(*args, **kwargs)


def _is_ours(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu" and (
        tensor.dtype in COMPUTE_DTYPES or not tensor.is_floating_point()
    )

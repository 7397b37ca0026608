# SPDX-License-Identifier: Apache-2.0
"""What mmcv gets: the functions of its compiled module, and those of its Python that are replaced.

Those of the compiled module have its names and its arguments: they write their results into
contiguous (N, C, H, W) tensors that the caller has allocated, or return them where mmcv's do, and
leave its scratch tensors alone. Each family has its own in mmcv.py, and names in REPLACED what of
mmcv's Python is the same as ours: that has our memory formats, gradients and errors then.
"""

from __future__ import annotations

from functools import wraps
from inspect import isfunction
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pymluops import _families
from pymluops.capi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def get_compiler_version() -> str:
    return str(ffi.string(lib.mluOpCpuGetBuildInfo()).decode())


def get_compiling_cuda_version() -> str:
    return "not available"


def _as_in_mmcv(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ours with mmcv's dtype under autocast: that of the input, which models rely on."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if result.dtype is torch.float32:
            for given in (*args, *kwargs.values()):
                if isinstance(given, Tensor):
                    return result.to(given.dtype) if given.dtype in _HALVES else result
        return result

    return call


_HALVES = (torch.float16, torch.bfloat16)
_modules = [module for _, module in _families.parts("mmcv")]
#: What mmcv calls the families.
NAMES: list[str] = [module.NAME for module in _modules]
#: What computes, by the names in ``mmcv._ext``.
OPERATORS: dict[str, Callable[..., Any]] = {
    name: function
    for module in _modules
    for name, function in vars(module).items()
    if isfunction(function) and function.__module__ == module.__name__ and name[0] != "_"
}
#: What stands in ``mmcv.ops`` for functions and methods of its own, by their paths there.
REPLACED: dict[str, Callable[..., Any]] = {
    path: _as_in_mmcv(function)
    for module in _modules
    for path, function in getattr(module, "REPLACED", {}).items()
}
#: What ``mmcv.utils.collect_env`` asks for.
INFORMATION: dict[str, Callable[[], str]] = {
    function.__name__: function for function in (get_compiler_version, get_compiling_cuda_version)
}

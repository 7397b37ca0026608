# SPDX-License-Identifier: Apache-2.0
"""The way from torch tensors to C: their pointers and descriptors; the rest is that of `_call.py`.

A tensor here is as the C library wants it: on the CPU, of one dtype it computes in, not empty, and
dense: channels_last (NHWC) where the operator says NHWC, contiguous elsewhere. Shapes are those of
torch (N, C, H, W); the library checks whatever else can be wrong. The functions of a family are in
its native.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pymluops._call import renamed
from pymluops._descriptor import packed_descriptor, strided_descriptor
from pymluops._threads import thread_handle
from pymluops.capi import Layout, ffi
from pymluops.errors import MluOpError

if TYPE_CHECKING:
    from pymluops.capi import CData

_DTYPES = {
    torch.float32: np.dtype(np.float32),
    torch.float16: np.dtype(np.float16),
    torch.int32: np.dtype(np.int32),
}
_VOID_P = ffi.typeof("void *")
_cast = ffi.cast  # a bound method is made at each look-up


def call(function: str, *arguments: float | CData, names: dict[str, str] | None = None) -> None:
    """Call a C function with this thread's handle, and as many threads as torch has.

    `names` has the arguments that have another name in C, by these names.
    """
    try:
        thread_handle(torch.get_num_threads()).invoke(function, arguments)
    except MluOpError as error:
        raise renamed(error, function, names or {}) from None
    except OverflowError as error:
        message = f"[{function}] a number is too large for C: {error}"
        raise ValueError(message) from error


@lru_cache(maxsize=1024)
def nhwc_descriptor(dtype: torch.dtype, shape: tuple[int, int, int, int]) -> CData:
    n, c, h, w = shape
    return packed_descriptor((n, h, w, c), _DTYPES[dtype], int(Layout.NHWC))


@lru_cache(maxsize=1024)
def nchw_descriptor(dtype: torch.dtype, shape: tuple[int, ...]) -> CData:
    return packed_descriptor(tuple(shape), _DTYPES[dtype], int(Layout.NCHW))


@lru_cache(maxsize=1024)
def array_descriptor(dtype: torch.dtype, shape: tuple[int, ...]) -> CData:
    return packed_descriptor(tuple(shape), _DTYPES[dtype], int(Layout.ARRAY))


def nhwc(tensor: Tensor) -> tuple[CData, CData]:
    """Return descriptor and pointer of a channels_last tensor."""
    desc = nhwc_descriptor(tensor.dtype, tensor.shape)
    return desc, _cast(_VOID_P, tensor.data_ptr())


def nchw(tensor: Tensor) -> tuple[CData, CData]:
    """Return descriptor and pointer of a contiguous tensor of images."""
    desc = nchw_descriptor(tensor.dtype, tensor.shape)
    return desc, _cast(_VOID_P, tensor.data_ptr())


def as_nchw(tensor: Tensor) -> tuple[CData, CData] | None:
    """Return descriptor and pointer of images in NCHW, whole or a part of larger ones, or None."""
    if tensor.is_contiguous():
        return nchw(tensor)
    return _part(tensor, tuple(tensor.shape), tensor.stride(), Layout.NCHW)


def as_nhwc(tensor: Tensor) -> tuple[CData, CData] | None:
    """Return descriptor and pointer of images in NHWC, whole or a part of larger ones, or None."""
    if tensor.is_contiguous(memory_format=torch.channels_last):
        return nhwc(tensor)
    shape, strides = ((n, h, w, c) for n, c, h, w in (tensor.shape, tensor.stride()))
    return _part(tensor, shape, strides, Layout.NHWC)


def _part(
    tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], layout: Layout
) -> tuple[CData, CData] | None:
    taken = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride < taken:
            return None
        taken = extent * stride if extent > 1 else taken
    if shape[-1] > 1 and strides[-1] != 1:
        return None
    desc = strided_descriptor(shape, strides, _DTYPES[tensor.dtype], int(layout))
    return desc, _cast(_VOID_P, tensor.data_ptr())


def array(tensor: Tensor | None) -> tuple[CData, CData]:
    """Return descriptor and pointer of a contiguous tensor; NULL and NULL for none."""
    if tensor is None:
        return ffi.NULL, ffi.NULL
    desc = array_descriptor(tensor.dtype, tensor.shape)
    return desc, _cast(_VOID_P, tensor.data_ptr())


def pointer(tensor: Tensor | None) -> CData:
    """Return the pointer alone, for a descriptor that is known; NULL for no tensor."""
    return ffi.NULL if tensor is None else _cast(_VOID_P, tensor.data_ptr())

# SPDX-License-Identifier: Apache-2.0
"""The C operators on torch tensors: pointers and descriptors, and nothing in between.

A function here takes tensors as the C library wants them: on the CPU, of one dtype it computes
in, not empty, and dense: channels_last (NHWC) where the operator says NHWC, contiguous
elsewhere. Shapes are those of torch (N, C, H, W); the library checks whatever else can be wrong.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pymluops.capi import ffi, lib
from pymluops.errors import check

if TYPE_CHECKING:
    from pymluops.capi import CData

_DTYPES = {
    torch.float32: lib.MLUOP_DTYPE_FLOAT,
    torch.float16: lib.MLUOP_DTYPE_HALF,
    torch.int32: lib.MLUOP_DTYPE_INT32,
}
_VOID_P = ffi.typeof("void *")


class _Context(threading.local):
    """The handle of a thread, which runs as many threads as torch does there."""

    def __init__(self) -> None:
        out = ffi.new("mluOpHandle_t *")
        check(lib.mluOpCreate(out), "mluOpCreate")
        self.handle = ffi.gc(out[0], lib.mluOpDestroy)
        self.num_threads = 0


_context = _Context()


def _handle() -> CData:
    context = _context
    num_threads = torch.get_num_threads()
    if num_threads != context.num_threads:
        check(lib.mluOpCpuSetNumThreads(context.handle, num_threads), "mluOpCpuSetNumThreads")
        context.num_threads = num_threads
    return context.handle


def _call(function: str, *arguments: float | CData) -> None:
    try:
        status = getattr(lib, function)(_handle(), *arguments)
    except OverflowError as error:
        message = f"[{function}] a number is too large for C: {error}"
        raise ValueError(message) from error
    if status:
        check(status, function)


@lru_cache(maxsize=1024)
def _descriptor(layout: int, dtype: torch.dtype, dims: tuple[int, ...]) -> CData:
    out = ffi.new("mluOpTensorDescriptor_t *")
    check(lib.mluOpCreateTensorDescriptor(out), "mluOpCreateTensorDescriptor")
    desc = ffi.gc(out[0], lib.mluOpDestroyTensorDescriptor)
    check(
        lib.mluOpSetTensorDescriptor_v2(desc, layout, _DTYPES[dtype], len(dims), dims),
        "mluOpSetTensorDescriptor_v2",
    )
    return desc


@lru_cache(maxsize=1024)
def _nhwc_descriptor(dtype: torch.dtype, shape: tuple[int, int, int, int]) -> CData:
    n, c, h, w = shape
    return _descriptor(lib.MLUOP_LAYOUT_NHWC, dtype, (n, h, w, c))


@lru_cache(maxsize=64)
def _carafe_descriptor(kernel_size: int, group_size: int, scale_factor: int) -> CData:
    out = ffi.new("mluOpCarafeDescriptor_t *")
    check(lib.mluOpCreateCarafeDescriptor(out), "mluOpCreateCarafeDescriptor")
    desc = ffi.gc(out[0], lib.mluOpDestroyCarafeDescriptor)
    check(
        lib.mluOpSetCarafeDescriptor(desc, 4, kernel_size, group_size, scale_factor),
        "mluOpSetCarafeDescriptor",
    )
    return desc


def _nhwc(tensor: Tensor) -> tuple[CData, CData]:
    desc = _nhwc_descriptor(tensor.dtype, tensor.shape)
    return desc, ffi.cast(_VOID_P, tensor.data_ptr())


def _nchw(tensor: Tensor) -> tuple[CData, CData]:
    desc = _descriptor(lib.MLUOP_LAYOUT_NCHW, tensor.dtype, tensor.shape)
    return desc, ffi.cast(_VOID_P, tensor.data_ptr())


def _array(tensor: Tensor | None) -> tuple[CData, CData]:
    if tensor is None:
        return ffi.NULL, ffi.NULL
    desc = _descriptor(lib.MLUOP_LAYOUT_ARRAY, tensor.dtype, tensor.shape)
    return desc, ffi.cast(_VOID_P, tensor.data_ptr())


def _rows(pair: Tensor) -> tuple[tuple[CData, CData], tuple[CData, CData]]:
    """Return the two rows of a (2, count) tensor."""
    desc = _descriptor(lib.MLUOP_LAYOUT_ARRAY, pair.dtype, pair.shape[1:])
    first, row_bytes = pair.data_ptr(), pair.shape[1] * pair.element_size()
    return (desc, ffi.cast(_VOID_P, first)), (desc, ffi.cast(_VOID_P, first + row_bytes))


def carafe_forward(
    features: Tensor,
    masks: Tensor,
    output: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """Call it with NHWC tensors."""
    _call(
        "mluOpCarafeForward",
        _carafe_descriptor(kernel_size, group_size, scale_factor),
        *_nhwc(features),
        *_nhwc(masks),
        *_nhwc(output),
    )


def carafe_backward(
    features: Tensor,
    masks: Tensor,
    grad_output: Tensor,
    grad_features: Tensor,
    grad_masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """Call it with NHWC tensors."""
    _call(
        "mluOpCarafeBackward",
        _carafe_descriptor(kernel_size, group_size, scale_factor),
        *_nhwc(features),
        *_nhwc(masks),
        *_nhwc(grad_output),
        *_nhwc(grad_features),
        *_nhwc(grad_masks),
    )


def psamask_forward(x: Tensor, y: Tensor, psa_type: int, h_mask: int, w_mask: int) -> None:
    """Call it with NHWC tensors of float32."""
    _call("mluOpPsamaskForward", psa_type, *_nhwc(x), h_mask, w_mask, *_nhwc(y))


def psamask_backward(dy: Tensor, dx: Tensor, psa_type: int, h_mask: int, w_mask: int) -> None:
    """Call it with NHWC tensors of float32."""
    _call("mluOpPsamaskBackward", psa_type, *_nhwc(dy), h_mask, w_mask, *_nhwc(dx))


def border_align_forward(
    features: Tensor, boxes: Tensor, output: Tensor, argmax: Tensor, pool_size: int
) -> None:
    """Call it with NHWC tensors and boxes; (N, C, K, 4) stands for [N, K, 4, C]."""
    _call(
        "mluOpBorderAlignForward",
        *_nhwc(features),
        *_array(boxes),
        pool_size,
        *_nhwc(output),
        *_nhwc(argmax),
    )


def border_align_backward(
    grad_output: Tensor, boxes: Tensor, argmax: Tensor, grad_features: Tensor, pool_size: int
) -> None:
    """Call it with tensors as for the forward."""
    _call(
        "mluOpBorderAlignBackward",
        *_nhwc(grad_output),
        *_array(boxes),
        *_nhwc(argmax),
        pool_size,
        *_nhwc(grad_features),
    )


def deform_roi_pool_forward(
    features: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    output: Tensor,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    """Call it with NHWC features and output."""
    _call(
        "mluOpDeformRoiPoolForward",
        *_nhwc(features),
        *_array(rois),
        *_array(offset),
        output.shape[2],
        output.shape[3],
        spatial_scale,
        sampling_ratio,
        gamma,
        *_nhwc(output),
    )


def deform_roi_pool_backward(
    grad_output: Tensor,
    features: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    grad_features: Tensor,
    grad_offset: Tensor | None,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    """Call it with NHWC features and gradients of features and output."""
    _call(
        "mluOpDeformRoiPoolBackward",
        *_nhwc(grad_output),
        *_nhwc(features),
        *_array(rois),
        *_array(offset),
        grad_output.shape[2],
        grad_output.shape[3],
        spatial_scale,
        sampling_ratio,
        gamma,
        *_nhwc(grad_features),
        *_array(grad_offset),
    )


def _workspace(size_function: str, *arguments: int | CData) -> tuple[CData, int]:
    size = ffi.new("size_t *")
    _call(size_function, *arguments, size)
    return (ffi.new("char[]", size[0]) if size[0] > 0 else ffi.NULL), size[0]


def masked_im2col(
    features: Tensor,
    positions: Tensor,
    data_col: Tensor,
    kernel_size: tuple[int, int],
    padding: tuple[int, int],
) -> None:
    """Call it with NCHW features and with int32 positions, one row of each coordinate."""
    features_args, col_args = _nchw(features), _array(data_col)
    h_args, w_args = _rows(positions)
    workspace, workspace_size = _workspace(
        "mluOpGetMaskedIm2colForwardWorkspaceSize",
        features_args[0],
        h_args[0],
        w_args[0],
        *kernel_size,
        col_args[0],
    )
    _call(
        "mluOpMaskedIm2colForward",
        *features_args,
        *h_args,
        *w_args,
        *kernel_size,
        *padding,
        workspace,
        workspace_size,
        *col_args,
    )


def masked_col2im(col: Tensor, positions: Tensor, image: Tensor) -> None:
    """Call it with an NCHW image and positions as above; what no column names becomes 0."""
    col_args, image_args = _array(col), _nchw(image)
    h_args, w_args = _rows(positions)
    workspace, size = _workspace(
        "mluOpGetMaskedCol2imForwardWorkspaceSize",
        col_args[0],
        h_args[0],
        w_args[0],
        image_args[0],
    )
    _call("mluOpMaskedCol2imForward", *col_args, *h_args, *w_args, size, workspace, *image_args)

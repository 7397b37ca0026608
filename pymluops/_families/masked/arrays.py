# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im: the windows at chosen positions of a map as columns, and back."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np

from pymluops._arguments import Size
from pymluops._call import Call
from pymluops._families.masked.positions import Positions, as_mask, check_mask, rows_and_columns
from pymluops._handle import Handle
from pymluops._repeat import repeatable
from pymluops._tensor import INT32, Array, ArrayLike, Output, after_writing
from pymluops.capi import Layout


@repeatable
def masked_im2col_forward(
    feature: ArrayLike,
    mask_h_idx: Positions,
    mask_w_idx: ArrayLike | None = None,
    *,
    kernel_h: SupportsIndex | None = None,
    kernel_w: SupportsIndex | None = None,
    pad_h: SupportsIndex = 0,
    pad_w: SupportsIndex = 0,
    kernel_size: Size = None,
    padding: Size = None,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Copy the window at each chosen position into a column.

    ``data_col[(c*kernel_h + i)*kernel_w + j, m] =
    feature[0, c, mask_h_idx[m] - pad_h + i, mask_w_idx[m] - pad_w + j]``, 0 outside the map.

    Parameters
    ----------
    feature : array_like, [1, C, H, W] or [C, H, W], float16 or float32
        The feature map, channels first.
    mask_h_idx, mask_w_idx : array_like, [M], int32 or int64
        Rows and columns of the positions. Any value is allowed, so exchanged arrays cannot be
        detected. Instead of both, `mask_h_idx` may be a boolean mask [H, W], or the result of
        ``np.nonzero`` for it; or a mask [N, H, W] for a `feature` [N, C, H, W]. Then M counts the
        positions of all images, in their order.
    kernel_h, kernel_w : int
        Height and width of the window.
    pad_h, pad_w : int, default 0
        How many rows above and how many columns left of the position the window begins.
    kernel_size, padding : int or (int, int), optional
        Instead of two arguments: one number for both directions, or (height, width).
    out : array, [C*kernel_h*kernel_w, M], the dtype of `feature`, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [C*kernel_h*kernel_w, M], the dtype of `feature`
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> feature = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    >>> row, column = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    >>> pymluops.masked_im2col_forward(feature, row, column, kernel_h=1, kernel_w=2)
    array([[1., 5.],
           [2., 0.]], dtype=float32)
    """
    call = Call("mluOpMaskedIm2colForward", handle, Layout.NCHW)
    x = call.input("feature", feature, batch=True)
    kernel = call.pair(("kernel_size", kernel_size), ("kernel_h", kernel_h), ("kernel_w", kernel_w))
    pad = call.pair(("padding", padding), ("pad_h", pad_h), ("pad_w", pad_w), default=0)
    mask = as_mask(call.function, mask_h_idx, mask_w_idx)
    if mask is not None and mask.ndim == 3:
        check_mask(call.function, mask, (x.shape[0], *x.shape[2:]))
        parts = [
            masked_im2col_forward(image, here, kernel_size=kernel, padding=pad, handle=handle)
            for image, here in zip(x.array.reshape(x.shape), mask, strict=True)
        ]
        return _joined(call, parts, 1, out)
    if mask is not None:
        check_mask(call.function, mask, x.shape[2:])
    at = rows_and_columns(call.function, mask, mask_h_idx, mask_w_idx)
    rows = call.input("mask_h_idx", at[0], ndim=1, dtypes=INT32)
    columns = call.input("mask_w_idx", at[1], ndim=1, dtypes=INT32)
    # The library judges the kernel only when the result is not empty.
    taps = max(kernel[0], 1) * max(kernel[1], 1)
    col = call.output("out", out, (x.shape[1] * taps, rows.shape[0]), x.dtype)
    workspace = call.workspace(
        "mluOpGetMaskedIm2colForwardWorkspaceSize",
        x.descriptor,
        rows.descriptor,
        columns.descriptor,
        *kernel,
        col.descriptor,
    )
    call.run(x, rows, columns, *kernel, *pad, *workspace, col)
    return col.result


@repeatable
def masked_col2im_forward(
    col: ArrayLike,
    mask_h_idx: Positions,
    mask_w_idx: ArrayLike | None = None,
    *,
    height: SupportsIndex | None = None,
    width: SupportsIndex | None = None,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Put each column at its position of a map of zeros.

    ``im[0, c, mask_h_idx[m], mask_w_idx[m]] = col[c, m]``, 0 elsewhere. If a position is given
    twice, the later m counts.

    Parameters
    ----------
    col : array_like, [C, M], float16 or float32
        The columns.
    mask_h_idx, mask_w_idx : array_like, [M], int32 or int64
        Rows and columns of the positions, which must be on the map. Instead of both, `mask_h_idx`
        may be a boolean mask [H, W], or the result of ``np.nonzero`` for it; or a mask [N, H, W]
        for maps [N, C, H, W]. Then M counts the positions of all maps, in their order.
    height, width : int
        The size of the map; not needed with a mask.
    out : array, [1, C, height, width], the dtype of `col`, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [1, C, height, width], the dtype of `col`
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong, or a position is outside the map; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> row, column = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    >>> col = np.array([[5, 7]], np.float32)
    >>> pymluops.masked_col2im_forward(col, row, column, height=2, width=3)[0, 0]
    array([[0., 5., 0.],
           [0., 0., 7.]], dtype=float32)
    """
    call = Call("mluOpMaskedCol2imForward", handle, Layout.NCHW)
    x = call.input("col", col, ndim=2)
    mask = as_mask(call.function, mask_h_idx, mask_w_idx)
    if mask is not None and height is None and width is None:
        height, width = mask.shape[-2:]
    size = call.extent("height", height), call.extent("width", width)
    if mask is not None:
        check_mask(call.function, mask, (*mask.shape[:-2], *size))
    if mask is not None and mask.ndim == 3:
        counts = np.cumsum(np.count_nonzero(mask, axis=(1, 2)))
        if x.shape[1] != counts[-1:].sum():
            call.refuse("col", f"{x.shape[1]} columns given, expected {counts[-1]} as the mask")
        parts = [
            masked_col2im_forward(columns, here, handle=handle)
            for columns, here in zip(np.split(x.array, counts[:-1], 1), mask, strict=True)
        ]
        return _joined(call, parts, 0, out)
    at = rows_and_columns(call.function, mask, mask_h_idx, mask_w_idx)
    rows = call.input("mask_h_idx", at[0], ndim=1, dtypes=INT32)
    columns = call.input("mask_w_idx", at[1], ndim=1, dtypes=INT32)
    im = call.output("out", out, (1, x.shape[0], *size), x.dtype)
    workspace, workspace_size = call.workspace(
        "mluOpGetMaskedCol2imForwardWorkspaceSize",
        x.descriptor,
        rows.descriptor,
        columns.descriptor,
        im.descriptor,
    )
    call.run(x, rows, columns, workspace_size, workspace, im)
    return im.result


def _joined(call: Call, parts: list[Array], axis: int, out: Output | None) -> Array:
    """Return the results of the images of a batch as one."""
    result = np.concatenate(parts, axis)
    if out is None:
        return result
    y = call.output("out", out, result.shape, result.dtype)
    y.array[...] = result
    after_writing(out)
    return y.result

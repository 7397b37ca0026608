# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im: windows of a map at chosen positions as columns, and back."""

from typing import SupportsIndex

from pymluops._call import Call
from pymluops._handle import Handle
from pymluops._tensor import INT32, Array, ArrayLike, Output
from pymluops.capi import Layout


def masked_im2col_forward(
    feature: ArrayLike,
    mask_h_idx: ArrayLike,
    mask_w_idx: ArrayLike,
    *,
    kernel_h: SupportsIndex,
    kernel_w: SupportsIndex,
    pad_h: SupportsIndex = 0,
    pad_w: SupportsIndex = 0,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Copy the window at each chosen position into a column.

    ``data_col[(c*kernel_h + i)*kernel_w + j, m] =
    feature[0, c, mask_h_idx[m] - pad_h + i, mask_w_idx[m] - pad_w + j]``, 0 outside the map.

    Parameters
    ----------
    feature : array_like, [1, C, H, W], float16 or float32
        The feature map, channels first.
    mask_h_idx, mask_w_idx : array_like, [M], int32
        Rows and columns of the positions; any value is allowed.
    kernel_h, kernel_w : int
        Height and width of the window.
    pad_h, pad_w : int, default 0
        How far the window begins above and left of the position.
    out : array, [C*kernel_h*kernel_w, M], the dtype of `feature`, optional
        Where the result goes.
    handle : Handle, optional
        What to run with; by default the handle of this thread.

    Returns
    -------
    array, [C*kernel_h*kernel_w, M], the dtype of `feature`
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        An argument is no array or of another dtype, or a number is none.
    BadParamError
        A shape or a value is wrong: the text names it.
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
    x = call.input("feature", feature)
    rows = call.input("mask_h_idx", mask_h_idx, ndim=1, dtypes=INT32)
    columns = call.input("mask_w_idx", mask_w_idx, ndim=1, dtypes=INT32)
    kernel = call.integer("kernel_h", kernel_h), call.integer("kernel_w", kernel_w)
    pad = call.integer("pad_h", pad_h), call.integer("pad_w", pad_w)
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


def masked_col2im_forward(
    col: ArrayLike,
    mask_h_idx: ArrayLike,
    mask_w_idx: ArrayLike,
    *,
    height: SupportsIndex,
    width: SupportsIndex,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Put each column at its position of a map of zeros.

    ``im[0, c, mask_h_idx[m], mask_w_idx[m]] = col[c, m]``, 0 elsewhere; of a position that is
    named twice the later m stays.

    Parameters
    ----------
    col : array_like, [C, M], float16 or float32
        The columns.
    mask_h_idx, mask_w_idx : array_like, [M], int32
        Rows and columns of the positions, inside the map.
    height, width : int
        The size of the map.
    out : array, [1, C, height, width], the dtype of `col`, optional
        Where the result goes.
    handle : Handle, optional
        What to run with; by default the handle of this thread.

    Returns
    -------
    array, [1, C, height, width], the dtype of `col`
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        An argument is no array or of another dtype, or a number is none.
    BadParamError
        A shape or a value is wrong, or a position is outside the map: the text names it.
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
    rows = call.input("mask_h_idx", mask_h_idx, ndim=1, dtypes=INT32)
    columns = call.input("mask_w_idx", mask_w_idx, ndim=1, dtypes=INT32)
    size = call.extent("height", height), call.extent("width", width)
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

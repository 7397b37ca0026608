# SPDX-License-Identifier: Apache-2.0
"""BorderAlign: the maxima of a feature map along the borders of boxes."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np

from pymluops._call import Call
from pymluops._handle import Handle
from pymluops._repeat import repeatable
from pymluops._tensor import INT32, Array, ArrayLike, Output
from pymluops.capi import Layout

_INT32 = np.dtype(np.int32)


@repeatable
def border_align_forward(
    input: ArrayLike,
    boxes: ArrayLike,
    *,
    pool_size: SupportsIndex,
    out: tuple[Output | None, Output | None] | None = None,
    handle: Handle | None = None,
) -> tuple[Array, Array]:
    """Take the maximum of pool_size + 1 bilinear samples along each border of each box.

    ``output[n, k, b, c] = max over i in 0..pool_size of input[n, point(k, b, i), b*C + c]``.
    Border 0 is the top, from (x1, y1) to the right; 1 the left, from (x1, y1) down; 2 the bottom,
    from (x2, y2) to the left; 3 the right, from (x2, y2) up. Outside the map a sample is 0.

    Parameters
    ----------
    input : array_like, [N, H, W, 4*C] or [H, W, 4*C], float16 or float32
        The feature map: C channels for each border.
    boxes : array_like, [N, H*W, 4] or [N, H, W, 4], the dtype of `input` or float32
        A box (x1, y1, x2, y2) for each pixel, in pixels of the map. Samples at NaN coordinates are
        0.
    pool_size : int
        The number of steps along a border.
    out : tuple of two arrays, optional
        The arrays that receive output and argmax_idx; None for a new array.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    output : array, [N, H*W, 4, C], the dtype of `input`
        The maxima.
    argmax_idx : array, [N, H*W, 4, C], int32
        The step of each maximum, the first one if several are equal.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong, or a tensor is empty; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> feature = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    >>> boxes = np.tile(np.array([0, 0, 1, 1], np.float32), (1, 4, 1))
    >>> output, argmax_idx = pymluops.border_align_forward(feature, boxes, pool_size=1)
    >>> output[0, 0, :, 0], argmax_idx[0, 0, :, 0]
    (array([ 4.,  9., 14., 15.], dtype=float32), array([1, 1, 0, 0], dtype=int32))
    """
    call = Call("mluOpBorderAlignForward", handle, Layout.NHWC)
    x = call.input("input", input, batch=True)
    corners = call.boxes("boxes", boxes)
    call.check_pixels(corners, x.shape[1:3])
    steps = call.integer("pool_size", pool_size)
    out_output, out_argmax = call.several(("output", "argmax_idx"), out)
    # Even where the map has no four channels: the library is to name the map, not the result.
    shape = (x.shape[0], corners.shape[1], 4, max(x.shape[3] // 4, 1))
    y = call.output("out[0]", out_output, shape, x.dtype, batch=True)
    argmax = call.output("out[1]", out_argmax, shape, _INT32, batch=True)
    call.run(x, corners, steps, y, argmax)
    return y.result, argmax.result


@repeatable
def border_align_backward(
    grad_output: ArrayLike,
    boxes: ArrayLike,
    argmax_idx: ArrayLike,
    *,
    pool_size: SupportsIndex,
    height: SupportsIndex,
    width: SupportsIndex,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Compute the gradient of `border_align_forward` for its input.

    Each ``grad_output[n, k, b, c]`` is added to the four pixels around the point of its step
    ``argmax_idx[n, k, b, c]``, in channel b*C + c, with their bilinear weights.

    Parameters
    ----------
    grad_output : array_like, [N, H*W, 4, C], float16 or float32
        The gradient of the output of `border_align_forward`.
    boxes : array_like, [N, H*W, 4] or [N, H, W, 4], the dtype of `grad_output` or float32
        The boxes of `border_align_forward`.
    argmax_idx : array_like, [N, H*W, 4, C], int32 or int64
        What `border_align_forward` returned.
    pool_size : int
        The number of steps along a border.
    height, width : int
        H and W, the size of the map.
    out : array, [N, H, W, 4*C], the dtype of `grad_output`, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, H, W, 4*C], the dtype of `grad_output`
        `out`, or a new array.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong, or a tensor is empty; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> boxes = np.array([[[0, 0, 0, 0]]], np.float32)
    >>> grad = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 4, 1)
    >>> argmax = np.zeros((1, 1, 4, 1), np.int32)
    >>> pymluops.border_align_backward(grad, boxes, argmax, pool_size=1, height=1, width=1)
    array([[[[1., 2., 3., 4.]]]], dtype=float32)
    """
    call = Call("mluOpBorderAlignBackward", handle, Layout.NHWC)
    dy = call.input("grad_output", grad_output, batch=True)
    corners = call.boxes("boxes", boxes)
    argmax = call.input("argmax_idx", argmax_idx, dtypes=INT32, batch=True)
    steps = call.integer("pool_size", pool_size)
    size = call.extent("height", height), call.extent("width", width)
    call.check_pixels(corners, size)
    shape = (dy.shape[0], *size, 4 * dy.shape[3])
    dx = call.output("out", out, shape, dy.dtype, batch=True)
    call.run(dy, corners, argmax, steps, dx)
    return dx.result

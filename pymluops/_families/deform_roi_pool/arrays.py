# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling: means over the bins of regions of interest, moved by learnt offsets."""

from __future__ import annotations

from typing import Any, SupportsFloat, SupportsIndex

import numpy as np

from pymluops._arguments import Size
from pymluops._call import ABSENT, Call, Tensor
from pymluops._handle import Handle
from pymluops._repeat import repeatable
from pymluops._tensor import Array, ArrayLike, Output
from pymluops.capi import Layout


@repeatable
def deform_roi_pool_forward(
    input: ArrayLike,
    rois: ArrayLike,
    offset: ArrayLike | None = None,
    *,
    pooled_height: SupportsIndex | None = None,
    pooled_width: SupportsIndex | None = None,
    spatial_scale: SupportsFloat = 1.0,
    sampling_ratio: SupportsIndex = 0,
    gamma: SupportsFloat = 0.1,
    pooled: Size = None,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Average bilinear samples over each bin of each region.

    ``output[r, ph, pw, c]`` is the mean of ``input[batch, y, x, c]`` over a grid of points (y, x)
    in bin (ph, pw) of region r, after the bin has moved by ``gamma * (width, height) of the region
    * offset[r, :, ph, pw]``. A point outside the map counts as 0.

    Parameters
    ----------
    input : array_like, [N, H, W, C] or [H, W, C], float16 or float32
        The feature map.
    rois : array_like, [R, 5], the dtype of `input` or float32
        Regions (image index, x1, y1, x2, y2). The image index is rounded towards 0. Samples at NaN
        coordinates are 0. Without regions the result is empty.
    offset : array_like, [R, 2, pooled_height, pooled_width], the dtype of `input`, optional
        How far each bin moves in x and in y.
    pooled_height, pooled_width : int
        The number of bins.
    spatial_scale : float, default 1.0
        Pixels of the map per unit of the regions. 0 and negative numbers are accepted; with 0 every
        region is at the first pixel.
    sampling_ratio : int, default 0
        The number of points of a bin in each direction; 0 means about one for each pixel.
    gamma : float, default 0.1
        The scale of the offsets.
    pooled : int or (int, int), optional
        Both numbers of bins in one argument.
    out : array, [R, pooled_height, pooled_width, C], the dtype of `input`, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [R, pooled_height, pooled_width, C], the dtype of `input`
        `out`, or a new array.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong, or an image index is not 0 to N-1; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> image = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    >>> rois = np.array([[0, 0.5, 0.5, 1.5, 1.5]], np.float32)
    >>> pymluops.deform_roi_pool_forward(image, rois, pooled_height=1, pooled_width=1)
    array([[[[1.5]]]], dtype=float32)
    """
    call = Call("mluOpDeformRoiPoolForward", handle, Layout.NHWC)
    x = call.input("input", input, batch=True)
    regions = call.rois("rois", rois)
    moves = _offset(call, offset)
    bins = call.pair(
        ("pooled", pooled), ("pooled_height", pooled_height), ("pooled_width", pooled_width)
    )
    numbers = (*bins, *_numbers(call, spatial_scale, sampling_ratio, gamma))
    # With no bins the result would be empty, and the library would blame that.
    shape = (regions.shape[0], max(bins[0], 1), max(bins[1], 1), x.shape[3])
    y = call.output("out", out, shape, x.dtype)
    if regions.shape[0] == 0:
        deform_roi_pool_forward(
            x.array, _one(regions), _one_offset(moves), **_by_name(numbers), handle=handle
        )
        call.finish()
        return y.result
    call.run(x, regions, moves, *numbers, y)
    return y.result


@repeatable
def deform_roi_pool_backward(
    grad_output: ArrayLike,
    input: ArrayLike,
    rois: ArrayLike,
    offset: ArrayLike | None = None,
    *,
    pooled_height: SupportsIndex | None = None,
    pooled_width: SupportsIndex | None = None,
    spatial_scale: SupportsFloat = 1.0,
    sampling_ratio: SupportsIndex = 0,
    gamma: SupportsFloat = 0.1,
    pooled: Size = None,
    out: tuple[Output | None, Output | None] | None = None,
    handle: Handle | None = None,
) -> tuple[Array, Array | None]:
    """Compute the gradients of `deform_roi_pool_forward` for its input and its offset.

    Each sample adds ``weight * grad_output[r, ph, pw, c] / samples`` to the four pixels around it,
    and its share of ``gamma * (width, height) of the region * derivative of the input`` to
    ``grad_offset[r, :, ph, pw]``.

    Parameters
    ----------
    grad_output : array_like, [R, pooled_height, pooled_width, C], float16 or float32
        The gradient of the result of `deform_roi_pool_forward`.
    input, rois, offset : array_like, the dtype of `grad_output`
        As in `deform_roi_pool_forward`.
    pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma, pooled
        As in `deform_roi_pool_forward`.
    out : tuple of two arrays, optional
        The arrays that receive grad_input and grad_offset; None for a new array.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    grad_input : array, [N, H, W, C], the dtype of `grad_output`
    grad_offset : array, [R, 2, pooled_height, pooled_width], the dtype of `grad_output`, or None
        None if there is no offset.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong, or an image index is not 0 to N-1; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> image = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    >>> rois = np.array([[0, 0.5, 0.5, 1.5, 1.5]], np.float32)
    >>> grad = np.full((1, 1, 1, 1), 8, np.float32)
    >>> grad_input, grad_offset = pymluops.deform_roi_pool_backward(
    ...     grad, image, rois, np.zeros((1, 2, 1, 1), np.float32), pooled_height=1, pooled_width=1)
    >>> grad_input[0, :, :, 0], grad_offset[0, :, 0, 0]
    (array([[2., 2.],
           [2., 2.]], dtype=float32), array([0.8, 1.6], dtype=float32))
    """
    call = Call("mluOpDeformRoiPoolBackward", handle, Layout.NHWC)
    dy = call.input("grad_output", grad_output)
    x = call.input("input", input, batch=True)
    regions = call.rois("rois", rois)
    moves = _offset(call, offset)
    bins = call.pair(
        ("pooled", pooled), ("pooled_height", pooled_height), ("pooled_width", pooled_width)
    )
    numbers = (*bins, *_numbers(call, spatial_scale, sampling_ratio, gamma))
    out_input, out_offset = call.several(("grad_input", "grad_offset"), out)
    dx = call.output("out[0]", out_input, x.shape, x.dtype, batch=True)
    doffset = _grad_offset(call, out_offset, moves)
    if regions.shape[0] == 0:
        deform_roi_pool_backward(
            _one(dy), x.array, _one(regions), _one_offset(moves), **_by_name(numbers), handle=handle
        )
        call.finish()
    else:
        call.run(dy, x, regions, moves, *numbers, dx, doffset)
    return dx.result, None if doffset is ABSENT else doffset.result


def _offset(call: Call, offset: ArrayLike | None) -> Tensor:
    return ABSENT if offset is None else call.input("offset", offset)


def _grad_offset(call: Call, given: Any, offset: Tensor) -> Tensor:
    if offset is not ABSENT:
        return call.output("out[1]", given, offset.shape, offset.dtype)
    if given is not None:
        call.refuse("out[1]", "given, expected None as there is no offset")
    return ABSENT


def _numbers(
    call: Call,
    spatial_scale: SupportsFloat,
    sampling_ratio: SupportsIndex,
    gamma: SupportsFloat,
) -> tuple[float, int, float]:
    return (
        call.real("spatial_scale", spatial_scale),
        call.integer("sampling_ratio", sampling_ratio),
        call.real("gamma", gamma),
    )


# The library refuses a call without regions. With one instead, it judges all the rest.


def _one(tensor: Tensor) -> Array:
    if tensor.shape[0] > 0:
        return tensor.array  # contradicts the regions, which the library is to find
    return np.zeros((1, *tensor.shape[1:]), tensor.dtype)


def _one_offset(offset: Tensor) -> Array | None:
    return None if offset is ABSENT else _one(offset)


def _by_name(numbers: tuple[int, int, float, int, float]) -> dict[str, Any]:
    names = ("pooled_height", "pooled_width", "spatial_scale", "sampling_ratio", "gamma")
    return dict(zip(names, numbers, strict=True))

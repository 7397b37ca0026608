# SPDX-License-Identifier: Apache-2.0
"""RoIAlign: means or maxima over the bins of regions of interest."""

from __future__ import annotations

from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias, cast, overload

from pymluops._arguments import Size
from pymluops._call import ABSENT, Call, Tensor
from pymluops._descriptor import object_descriptor
from pymluops._handle import Handle
from pymluops._repeat import repeatable
from pymluops._tensor import Array, ArrayLike, Output
from pymluops.capi import Layout

PoolMode: TypeAlias = Literal["avg", "max"]
#: Pool modes as they are written, and what C calls them.
POOL_MODES = {"max": 0, "avg": 1}
# Arguments that have another name in C.
_NAMES = {"boxes": "rois", "grads": "grad_output", "grads_image": "out"}


@overload
def roi_align_forward(
    input: ArrayLike,
    rois: ArrayLike,
    *,
    pooled_height: SupportsIndex | None = None,
    pooled_width: SupportsIndex | None = None,
    spatial_scale: SupportsFloat = 1.0,
    sampling_ratio: SupportsIndex = 0,
    pool_mode: Literal["avg"] = "avg",
    aligned: bool = True,
    pooled: Size = None,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array: ...
@overload
def roi_align_forward(
    input: ArrayLike,
    rois: ArrayLike,
    *,
    pooled_height: SupportsIndex | None = None,
    pooled_width: SupportsIndex | None = None,
    spatial_scale: SupportsFloat = 1.0,
    sampling_ratio: SupportsIndex = 0,
    pool_mode: Literal["max"],
    aligned: bool = True,
    pooled: Size = None,
    out: tuple[Output | None, Output | None, Output | None] | None = None,
    handle: Handle | None = None,
) -> tuple[Array, Array, Array]: ...
@repeatable
def roi_align_forward(
    input: ArrayLike,
    rois: ArrayLike,
    *,
    pooled_height: SupportsIndex | None = None,
    pooled_width: SupportsIndex | None = None,
    spatial_scale: SupportsFloat = 1.0,
    sampling_ratio: SupportsIndex = 0,
    pool_mode: PoolMode = "avg",
    aligned: bool = True,
    pooled: Size = None,
    out: Any = None,
    handle: Handle | None = None,
) -> Any:
    """Take the mean or the maximum of bilinear samples over each bin of each region.

    ``output[r, ph, pw, c]`` is the mean, or the maximum, of ``input[image, y, x, c]`` over a grid
    of points (y, x) in bin (ph, pw) of region r. A point outside the map has the value 0.

    Parameters
    ----------
    input : array_like, [N, H, W, C] or [H, W, C], float16 or float32
        The feature map.
    rois : array_like, [R, 5], the dtype of `input` or float32
        Regions (image index, x1, y1, x2, y2). The image index is rounded towards 0. Samples at
        NaN coordinates are 0. Without regions the result is empty.
    pooled_height, pooled_width : int
        The number of bins.
    spatial_scale : float, default 1.0
        Pixels of the map per unit of the regions.
    sampling_ratio : int, default 0
        The number of points of a bin in each direction; 0 means about one for each pixel. At most
        128 for maxima.
    pool_mode : {"avg", "max"}
        Mean or maximum. For a maximum, NaN is smaller than every number.
    aligned : bool, default True
        True: coordinate 0 is the edge of the first pixel. False: it is its centre, and regions are
        at least 1 x 1 pixels, as in the first versions of RoIAlign.
    pooled : int or (int, int), optional
        Both numbers of bins in one argument.
    out : array, or tuple of three arrays for maxima, optional
        The arrays that receive the results; None in the tuple for a new array.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    output : array, [R, pooled_height, pooled_width, C], the dtype of `input`
        `out`, or a new array.
    argmax_x, argmax_y : array, like `output`
        Only for maxima: the position of each maximum on the map; -1 for a bin without points.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong, or an image index is not 0 to N-1; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more; a `sampling_ratio` above 128 for maxima.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> image = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    >>> rois = np.array([[0, 0.5, 0.5, 1.5, 1.5]], np.float32)
    >>> pymluops.roi_align_forward(image, rois, pooled_height=1, pooled_width=1)
    array([[[[1.5]]]], dtype=float32)
    """
    call = Call("mluOpRoiAlignForward_v2", handle, Layout.NHWC, _NAMES)
    x = call.input("input", input, batch=True)
    regions = call.rois("rois", rois)
    bins = call.pair(
        ("pooled", pooled), ("pooled_height", pooled_height), ("pooled_width", pooled_width)
    )
    mode = call.word("pool_mode", pool_mode, POOL_MODES)
    ratio, scale = _numbers(call, spatial_scale, sampling_ratio)
    edges = call.flag("aligned", aligned)
    desc = call.parameters(descriptor, *bins, ratio, scale, mode, edges)
    shape = (regions.shape[0], *bins, x.shape[3])
    if mode == POOL_MODES["avg"]:
        y = call.output("out", out, shape, x.dtype)
        call.run(desc, x, regions, y, ABSENT, ABSENT)
        return y.result
    names = ("output", "argmax_x", "argmax_y")
    results = [
        call.output(f"out[{i}]", given, shape, x.dtype)
        for i, given in enumerate(call.several(names, out))
    ]
    call.run(desc, x, regions, *results)
    return tuple(result.result for result in results)


@repeatable
def roi_align_backward(
    grad_output: ArrayLike,
    rois: ArrayLike,
    argmax_x: ArrayLike | None = None,
    argmax_y: ArrayLike | None = None,
    *,
    height: SupportsIndex,
    width: SupportsIndex,
    batch: SupportsIndex,
    spatial_scale: SupportsFloat = 1.0,
    sampling_ratio: SupportsIndex = 0,
    pool_mode: PoolMode = "avg",
    aligned: bool = True,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Compute the gradient of `roi_align_forward` for its input.

    For means, each point adds ``weight * grad_output[r, ph, pw, c] / points`` to the four pixels
    around it. For maxima, ``grad_output[r, ph, pw, c]`` is added to the four pixels around
    ``(argmax_y, argmax_x)[r, ph, pw, c]``, times their bilinear weights.

    Parameters
    ----------
    grad_output : array_like, [R, pooled_height, pooled_width, C], float16 or float32
        The gradient of the output of `roi_align_forward`.
    rois : array_like, [R, 5], the dtype of `grad_output` or float32
        The regions of `roi_align_forward`. For maxima only the image indices are used.
    argmax_x, argmax_y : array_like, like `grad_output`
        What `roi_align_forward` returned, for maxima; ignored for means.
    height, width, batch : int
        H, W and N, the size of the map.
    spatial_scale, sampling_ratio, pool_mode, aligned
        As in `roi_align_forward`.
    out : array, [N, H, W, C], the dtype of `grad_output`, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, H, W, C], the dtype of `grad_output`
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
    >>> rois = np.array([[0, 0.5, 0.5, 1.5, 1.5]], np.float32)
    >>> grad = np.full((1, 1, 1, 1), 8, np.float32)
    >>> pymluops.roi_align_backward(grad, rois, height=2, width=2, batch=1)[0, :, :, 0]
    array([[2., 2.],
           [2., 2.]], dtype=float32)
    """
    mean = isinstance(pool_mode, str) and pool_mode == "avg"
    function = "mluOpRoiAlignBackward" if mean else "mluOpRoiAlignBackward_v2"
    call = Call(function, handle, Layout.NHWC, _NAMES)
    dy = call.input("grad_output", grad_output)
    regions = call.rois("rois", rois)
    mode = call.word("pool_mode", pool_mode, POOL_MODES)
    places: tuple[Tensor, ...] = ()
    if not mean:
        # None is an error there.
        places = (
            call.input("argmax_x", cast(ArrayLike, argmax_x)),
            call.input("argmax_y", cast(ArrayLike, argmax_y)),
        )
    size = (
        call.extent("batch", batch),
        call.extent("height", height),
        call.extent("width", width),
    )
    ratio, scale = _numbers(call, spatial_scale, sampling_ratio)
    edges = call.flag("aligned", aligned)
    dx = call.output("out", out, (*size, dy.shape[3]), dy.dtype)
    if mean:
        call.run(scale, ratio, edges, dy, regions, dx)
    else:
        call.run(dy, regions, *places, scale, ratio, edges, mode, dx)
    return dx.result


def descriptor(
    height: int, width: int, sampling_ratio: int, spatial_scale: float, mode: int, aligned: bool
) -> Any:
    """Return the descriptor of the forward, which judges its numbers."""
    values = (height, width, sampling_ratio, spatial_scale, mode, aligned)
    return object_descriptor("RoiAlignForward", *values, version="_v2")


def _numbers(
    call: Call, spatial_scale: SupportsFloat, sampling_ratio: SupportsIndex
) -> tuple[int, float]:
    return (
        call.integer("sampling_ratio", sampling_ratio),
        call.real("spatial_scale", spatial_scale),
    )

# SPDX-License-Identifier: Apache-2.0
"""RoIAlign, written from its definition: every sample is taken by itself.

Where the samples lie is computed in float32, one rounding per operation, as the operator defines
it, unless COORDINATES says otherwise; so are maxima compared. Means are summed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._bins import Axis, Bin, bins_of
from pymluops._families._stand_in import COORDINATES, floats, pair, takes_one_image

_Array = npt.NDArray[Any]


@takes_one_image("input", results=())
def roi_align_forward(
    input: npt.ArrayLike,
    rois: npt.ArrayLike,
    pooled_height: int | None = None,
    pooled_width: int | None = None,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    pool_mode: str = "avg",
    aligned: bool = True,
    pooled: Any = None,
) -> Any:
    """Means or maxima of samples of an [N, H, W, C] input: [R, pooled_height, pooled_width, C].

    With ``pool_mode="max"`` a tuple: the maxima, and x and y of their samples.
    """
    image, rois = floats(input), floats(rois)
    names = ("pooled_height", pooled_height), ("pooled_width", pooled_width)
    bins = pair("roi_align", ("pooled", pooled), *names)
    shape = (len(rois), *bins, image.shape[3])
    results = [np.zeros(shape) for _ in range(1 if pool_mode == "avg" else 3)]
    with np.errstate(all="ignore"):
        for b in bins_of(
            rois, None, image.shape, bins, spatial_scale, sampling_ratio, aligned=aligned
        ):
            found = _mean(b, image) if pool_mode == "avg" else _maximum(b, image)
            for result, values in zip(results, found, strict=True):
                result[b.roi, b.ph, b.pw] = values
    return results[0] if pool_mode == "avg" else tuple(results)


def _mean(b: Bin, image: _Array) -> tuple[Any]:
    total = np.zeros(image.shape[3])
    for rows, cols, weights in b.corners():
        values = image[b.image][rows[:, None], cols].astype(np.float64)
        total += (weights[..., None] * values).sum((0, 1)) / b.count
    return (total,)


def _maximum(b: Bin, image: _Array) -> tuple[Any, Any, Any]:
    """The first of the largest samples of each channel; samples outside are one 0."""
    if b.y.grid < 1 or b.x.grid < 1:
        return 0.0, -1.0, -1.0
    channels = image.shape[3]
    values = _samples(b, image).reshape(-1, channels)
    y = np.repeat(b.y.at, len(b.x.at))
    x = np.tile(b.x.at, len(b.y.at))
    outside = _first_outside(b.y, b.x)
    if outside is not None:
        row, col = outside
        rows_before, cols_before = (b.y.numbers < row).sum(), (b.x.numbers < col).sum()
        place = rows_before * len(b.x.at) + cols_before
        values = np.insert(values, place, 0, axis=0)
        y = np.insert(y, place, b.y.coordinate(row))
        x = np.insert(x, place, b.x.coordinate(col))
    is_number = ~np.isnan(values)
    best = np.where(is_number, values, -np.inf).max(0)
    first = ((values == best) & is_number).argmax(0)
    best = np.where(is_number.any(0), best, np.nan)
    return best, x[first], y[first]


def _samples(b: Bin, image: _Array) -> _Array:
    """The samples inside, one rounding per operation: [rows, columns, C]."""
    real = COORDINATES.get()
    total: Any = None
    for rows, weight_y in ((b.y.low, b.y.weight_low), (b.y.high, b.y.weight_high)):
        for cols, weight_x in ((b.x.low, b.x.weight_low), (b.x.high, b.x.weight_high)):
            weight: _Array = weight_y[:, None].astype(real)
            weight = weight * weight_x.astype(real)
            product = weight[..., None] * image[b.image][rows[:, None], cols].astype(real)
            total = product if total is None else total + product
    return np.asarray(total)


def _first_outside(y: Axis, x: Axis) -> tuple[int, int] | None:
    """The first sample outside, row by row."""
    if y.first_outside == 0 or x.first_outside == 0:
        return 0, 0
    if x.first_outside is not None:
        return 0, x.first_outside
    return None if y.first_outside is None else (y.first_outside, 0)


def roi_align_backward(
    grad_output: npt.ArrayLike,
    rois: npt.ArrayLike,
    argmax_x: npt.ArrayLike | None = None,
    argmax_y: npt.ArrayLike | None = None,
    *,
    height: int,
    width: int,
    batch: int,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    pool_mode: str = "avg",
    aligned: bool = True,
) -> _Array:
    """The gradient of :func:`roi_align_forward` for its input, [batch, height, width, C]."""
    gradient, rois = np.asarray(grad_output, np.float64), floats(rois)
    shape = (batch, height, width, gradient.shape[3])
    grad_input = np.zeros(shape)
    with np.errstate(all="ignore"):
        if pool_mode == "max":
            _spread_points(grad_input, gradient, rois, floats(argmax_x), floats(argmax_y))
            return grad_input
        for b in bins_of(
            rois, None, shape, gradient.shape[1:3], spatial_scale, sampling_ratio, aligned=aligned
        ):
            g = gradient[b.roi, b.ph, b.pw] / b.count
            for rows, cols, weights in b.corners():
                np.add.at(grad_input[b.image], (rows[:, None], cols), weights[..., None] * g)
    return grad_input


def _spread_points(
    grad_input: _Array, gradient: _Array, rois: _Array, argmax_x: _Array, argmax_y: _Array
) -> None:
    """Add each gradient to the pixels around its point, unless that is outside."""
    _, height, width, channels = grad_input.shape
    real = COORDINATES.get()
    x: _Array = argmax_x.astype(real)
    y: _Array = argmax_y.astype(real)
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width) & (y != -1)
    images = np.broadcast_to(rois[:, 0].astype(int)[:, None, None, None], gradient.shape)[inside]
    c = np.broadcast_to(np.arange(channels), gradient.shape)[inside]
    g = gradient[inside]
    rows, cols = (_around(at[inside], extent) for at, extent in ((y, height), (x, width)))
    for row, weight_y in rows:
        for col, weight_x in cols:
            np.add.at(grad_input, (images, row, col, c), g * weight_y * weight_x)


def _around(at: _Array, extent: int) -> list[tuple[_Array, _Array]]:
    """The two pixels of each point along an axis, and their weights."""
    at = np.maximum(at, 0)
    low = np.minimum(at.astype(np.int64), extent - 1)
    high = np.minimum(low + 1, extent - 1)
    part = np.where(low == extent - 1, 0, at - low.astype(at.dtype)).astype(np.float64)
    return [(low, 1 - part), (high, part)]

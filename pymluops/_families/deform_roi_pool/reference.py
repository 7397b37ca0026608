# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling, written from its definition: every sample is taken by itself.

Where the samples lie is computed in float32, one rounding per operation, as the operator defines
it, unless COORDINATES says otherwise; their values are summed in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import COORDINATES, floats, pair, takes_one_image

_Array = npt.NDArray[Any]
_Real = np.float32 | np.float64
_INT_MAX = 2**31 - 1


@dataclass(frozen=True)
class _Axis:
    """The samples of a bin inside the map, along one axis: pixels, weights, coordinates."""

    low: _Array
    high: _Array
    weight_low: _Array
    weight_high: _Array
    at: _Array
    grid: int


@dataclass(frozen=True)
class _Bin:
    roi: int
    image: int
    ph: int
    pw: int
    y: _Axis
    x: _Axis
    roi_h: _Real
    roi_w: _Real

    @property
    def count(self) -> int:
        return max(self.y.grid * self.x.grid, 1)

    def corners(self) -> Iterator[tuple[_Array, _Array, _Array]]:
        """Rows, columns and weights of each of the four corners of all samples."""
        for rows, weight_y in ((self.y.low, self.y.weight_low), (self.y.high, self.y.weight_high)):
            for cols, weight_x in (
                (self.x.low, self.x.weight_low),
                (self.x.high, self.x.weight_high),
            ):
                yield rows, cols, weight_y[:, None] * weight_x[None, :]


def _grid(bin_size: _Real, sampling_ratio: int) -> int:
    if sampling_ratio > 0:
        return sampling_ratio
    if np.isnan(bin_size):
        return 0
    return int(np.clip(np.ceil(np.float64(bin_size)), 0, _INT_MAX))


def _candidates(start: _Real, bin_size: _Real, grid: int, extent: int) -> _Array:
    """The numbers of all samples that may lie inside, and some more; not those of a huge RoI."""
    if grid < 1 or not (np.isfinite(start) and np.isfinite(bin_size)):
        return np.arange(0)
    if bin_size == 0:
        return np.arange(grid)
    slack = 2 + 1e-5 * (abs(float(start)) + abs(float(bin_size)))
    ends = [(edge - float(start)) * grid / float(bin_size) for edge in (-1 - slack, extent + slack)]
    first, last = np.clip([min(ends) - 2, max(ends) + 2], 0, grid)
    return np.arange(int(first), int(last))


def _axis(start: _Real, bin_size: _Real, grid: int, extent: int) -> _Axis:
    real = type(start)
    i: _Array = _candidates(start, bin_size, grid, extent).astype(real)
    at = start + (i + real(0.5)) * bin_size / real(grid)
    at = at[(at >= -1) & (at <= real(extent))]
    clamped = np.maximum(at, real(0))
    low = clamped.astype(np.int64)
    rim = low >= extent - 1
    low[rim] = extent - 1
    high = np.where(rim, low, low + 1)
    weight_high = np.where(rim, real(0), clamped - low.astype(real))
    weight_low = real(1) - weight_high
    return _Axis(low, high, weight_low.astype(np.float64), weight_high.astype(np.float64), at, grid)


def _bins(
    rois: _Array,
    offset: _Array | None,
    shape: tuple[int, ...],
    pooled: tuple[int, int],
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> Iterator[_Bin]:
    images, height, width, _ = shape
    real = COORDINATES.get()
    scale, factor = real(spatial_scale), real(gamma)
    for r, roi in enumerate(rois.astype(real)):
        if not -1 < roi[0] < images:
            raise ValueError(f"rois: row {r} is of image {roi[0]}, there are {images}")
        x1, y1, x2, y2 = roi[1:] * scale - real(0.5)
        roi_w, roi_h = x2 - x1, y2 - y1
        bin_h, bin_w = roi_h / real(pooled[0]), roi_w / real(pooled[1])
        grid_h, grid_w = _grid(bin_h, sampling_ratio), _grid(bin_w, sampling_ratio)
        for ph in range(pooled[0]):
            for pw in range(pooled[1]):
                x, y = x1, y1
                if offset is not None:
                    x = x + factor * roi_w * real(offset[r, 0, ph, pw])
                    y = y + factor * roi_h * real(offset[r, 1, ph, pw])
                yield _Bin(
                    r,
                    int(roi[0]),
                    ph,
                    pw,
                    _axis(y + real(ph) * bin_h, bin_h, grid_h, height),
                    _axis(x + real(pw) * bin_w, bin_w, grid_w, width),
                    roi_h,
                    roi_w,
                )


def _pooled(both: Any, height: int | None, width: int | None) -> tuple[int, int]:
    names = ("pooled_height", height), ("pooled_width", width)
    return pair("deform_roi_pool", ("pooled", both), *names)


@takes_one_image("input", results=())
def deform_roi_pool_forward(
    input: npt.ArrayLike,
    rois: npt.ArrayLike,
    offset: npt.ArrayLike | None = None,
    pooled_height: int | None = None,
    pooled_width: int | None = None,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
    pooled: Any = None,
) -> _Array:
    """Means of bilinear samples of an [N, H, W, C] input: [R, pooled_height, pooled_width, C]."""
    image, rois = floats(input), floats(rois)
    offset = None if offset is None else floats(offset)
    pooled = _pooled(pooled, pooled_height, pooled_width)
    output = np.zeros((len(rois), *pooled, image.shape[3]))
    with np.errstate(all="ignore"):
        for b in _bins(rois, offset, image.shape, pooled, spatial_scale, sampling_ratio, gamma):
            for rows, cols, weights in b.corners():
                values = image[b.image][rows[:, None], cols].astype(np.float64)
                output[b.roi, b.ph, b.pw] += (weights[..., None] * values).sum((0, 1)) / b.count
    return output


@takes_one_image("input")
def deform_roi_pool_backward(
    grad_output: npt.ArrayLike,
    input: npt.ArrayLike,
    rois: npt.ArrayLike,
    offset: npt.ArrayLike | None = None,
    pooled_height: int | None = None,
    pooled_width: int | None = None,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
    pooled: Any = None,
) -> tuple[_Array, _Array | None]:
    """(grad_input, grad_offset) of :func:`deform_roi_pool_forward`; the latter None like offset."""
    image, rois = floats(input), floats(rois)
    gradient = np.asarray(grad_output, np.float64)
    offset = None if offset is None else floats(offset)
    grad_input = np.zeros(image.shape)
    grad_offset = None if offset is None else np.zeros(offset.shape)
    pooled = _pooled(pooled, pooled_height, pooled_width)
    with np.errstate(all="ignore"):
        for b in _bins(rois, offset, image.shape, pooled, spatial_scale, sampling_ratio, gamma):
            g = gradient[b.roi, b.ph, b.pw] / b.count
            for rows, cols, weights in b.corners():
                np.add.at(grad_input[b.image], (rows[:, None], cols), weights[..., None] * g)
            if grad_offset is not None:
                for axis, slope in enumerate(_slopes(b, image[b.image])):
                    size = (b.roi_w, b.roi_h)[axis]
                    scale = np.float64(type(size)(gamma) * size) if slope.size else 0.0
                    grad_offset[b.roi, axis, b.ph, b.pw] = scale * (g * slope).sum()
    return grad_input, grad_offset


def _slopes(b: _Bin, image: _Array) -> tuple[_Array, _Array]:
    """For each sample inside and each channel: how its value grows with x, and with y."""
    y0, y1, x0, x1 = b.y.low[:, None], b.y.high[:, None], b.x.low, b.x.high
    v00, v01, v10, v11 = (
        image[y, x].astype(np.float64) for y, x in ((y0, x0), (y0, x1), (y1, x0), (y1, x1))
    )
    up = (b.y.at - b.y.low).astype(np.float64)[:, None, None]
    down = (b.y.high - b.y.at).astype(np.float64)[:, None, None]
    right = (b.x.at - b.x.low).astype(np.float64)[None, :, None]
    left = (b.x.high - b.x.at).astype(np.float64)[None, :, None]
    along_x = v11 * up + v01 * down - v10 * up - v00 * down
    along_y = v11 * right + v10 * left - v01 * right - v00 * left
    return along_x, along_y

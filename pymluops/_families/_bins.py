# SPDX-License-Identifier: Apache-2.0
"""The bins of regions of interest and their samples, for the references of pooling operators.

Where the samples lie is computed in float32, one rounding per operation, as the operators define
it, unless COORDINATES says otherwise. Every sample is there by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import COORDINATES
from pymluops.capi import Status
from pymluops.errors import NotSupportedError

_Array = npt.NDArray[Any]
_Real = np.float32 | np.float64
_INT_MAX = 2**31 - 1
#: Samples of a bin along one axis: each takes memory here.
_MOST_SAMPLES = 1 << 22


@dataclass(frozen=True)
class Axis:
    """The samples of a bin inside the map, along one axis: pixels, weights, coordinates."""

    low: _Array
    high: _Array
    weight_low: _Array
    weight_high: _Array
    at: _Array
    numbers: _Array
    """Which samples these are, of `grid`."""
    grid: int
    start: _Real
    size: _Real

    def coordinate(self, number: int) -> _Real:
        """Return where a sample is, inside or not."""
        real = type(self.start)
        return real(self.start + (real(number) + real(0.5)) * self.size / real(self.grid))

    @property
    def first_outside(self) -> int | None:
        """The number of the first sample outside the map; those inside follow each other."""
        if not self.numbers.size or self.numbers[0] > 0:
            return 0
        behind = int(self.numbers[-1]) + 1
        return behind if behind < self.grid else None


@dataclass(frozen=True)
class Bin:
    roi: int
    image: int
    ph: int
    pw: int
    y: Axis
    x: Axis
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
        return _numbers(0, grid)
    slack = 2 + 1e-5 * (abs(float(start)) + abs(float(bin_size)))
    ends = [(edge - float(start)) * grid / float(bin_size) for edge in (-1 - slack, extent + slack)]
    first, last = (int(min(max(end, 0), grid)) for end in (min(ends) - 2, max(ends) + 2))
    return _numbers(first, last)


def _numbers(first: int, last: int) -> _Array:
    if last - first > _MOST_SAMPLES:
        problem = (
            f"a bin has {last - first} samples in a row, expected at most {_MOST_SAMPLES} in the "
            "references, which compute float64; the library takes any number in float32"
        )
        raise NotSupportedError(Status.NOT_SUPPORTED, "", problem)
    return np.arange(first, last)


def _axis(start: _Real, bin_size: _Real, grid: int, extent: int) -> Axis:
    real = type(start)
    numbers = _candidates(start, bin_size, grid, extent)
    i: _Array = numbers.astype(real)
    at = start + (i + real(0.5)) * bin_size / real(grid)
    inside = (at >= -1) & (at <= real(extent))
    at, numbers = at[inside], numbers[inside]
    clamped = np.maximum(at, real(0))
    low = clamped.astype(np.int64)
    rim = low >= extent - 1
    low[rim] = extent - 1
    high = np.where(rim, low, low + 1)
    weight_high = np.where(rim, real(0), clamped - low.astype(real))
    weight_low = real(1) - weight_high
    weights = weight_low.astype(np.float64), weight_high.astype(np.float64)
    return Axis(low, high, *weights, at, numbers, grid, start, bin_size)


def bins_of(
    rois: _Array,
    offset: _Array | None,
    shape: tuple[int, ...],
    pooled: tuple[int, int],
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float = 0.0,
    *,
    aligned: bool = True,
) -> Iterator[Bin]:
    """Yield every bin of every region; without `aligned` regions have one pixel at least."""
    images, height, width, _ = shape
    real = COORDINATES.get()
    scale, factor = real(spatial_scale), real(gamma)
    for r, roi in enumerate(rois.astype(real)):
        if not -1 < roi[0] < images:
            raise ValueError(f"rois: row {r} is of image {roi[0]}, there are {images}")
        x1, y1, x2, y2 = roi[1:] * scale - real(0.5 if aligned else 0)
        roi_w, roi_h = x2 - x1, y2 - y1
        if not aligned:
            roi_w, roi_h = (size if size > 1 else real(1) for size in (roi_w, roi_h))
        bin_h, bin_w = roi_h / real(pooled[0]), roi_w / real(pooled[1])
        grid_h, grid_w = _grid(bin_h, sampling_ratio), _grid(bin_w, sampling_ratio)
        axis = functools.cache(_axis)  # without offsets, bins of a row or a column share theirs
        for ph in range(pooled[0]):
            for pw in range(pooled[1]):
                x, y = x1, y1
                if offset is not None:
                    x = x + factor * roi_w * real(offset[r, 0, ph, pw])
                    y = y + factor * roi_h * real(offset[r, 1, ph, pw])
                yield Bin(
                    r,
                    int(roi[0]),
                    ph,
                    pw,
                    axis(y + real(ph) * bin_h, bin_h, grid_h, height),
                    axis(x + real(pw) * bin_w, bin_w, grid_w, width),
                    roi_h,
                    roi_w,
                )

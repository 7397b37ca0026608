# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling, written from its definition: every sample is taken by itself.

Where the samples lie is computed in float32, one rounding per operation, as the operator defines
it, unless COORDINATES says otherwise; their values are summed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._bins import Bin, bins_of
from pymluops._families._stand_in import floats, pair, takes_one_image

_Array = npt.NDArray[Any]


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
        for b in bins_of(rois, offset, image.shape, pooled, spatial_scale, sampling_ratio, gamma):
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
        for b in bins_of(rois, offset, image.shape, pooled, spatial_scale, sampling_ratio, gamma):
            g = gradient[b.roi, b.ph, b.pw] / b.count
            for rows, cols, weights in b.corners():
                np.add.at(grad_input[b.image], (rows[:, None], cols), weights[..., None] * g)
            if grad_offset is not None:
                for axis, slope in enumerate(_slopes(b, image[b.image])):
                    size = (b.roi_w, b.roi_h)[axis]
                    scale = np.float64(type(size)(gamma) * size) if slope.size else 0.0
                    grad_offset[b.roi, axis, b.ph, b.pw] = scale * (g * slope).sum()
    return grad_input, grad_offset


def _slopes(b: Bin, image: _Array) -> tuple[_Array, _Array]:
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

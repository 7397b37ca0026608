# SPDX-License-Identifier: Apache-2.0
"""The demonstration of deformable RoI pooling."""

from typing import Any

import numpy as np

import pymluops
from pymluops._families.deform_roi_pool import reference
from pymluops.demo._canvas import heat
from pymluops.demo._image import TOWER_ANGLE, TOWER_BOX
from pymluops.demo._run import Mark, Picture, Scene, Values, nhwc, strength

_BLUE = (0.15, 0.45, 0.95)


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "Deformable RoI pooling",
        [
            "The mean of each bin of a region. Offsets move the bins (red; blue without",
            "offsets): here they follow the leaning tower, so that the result is upright.",
            "The gradient shows which pixels were read.",
        ],
    )
    top, left, bottom, right = TOWER_BOX
    bins = (24, 12)
    # A region is in pixel edges, its samples are in pixel centres: half a pixel between them.
    rois = np.array([[0, left, top, right, bottom]], np.float32)
    offset, before, after = _turned_bins(bins)
    numbers: dict[str, Any] = {
        "pooled_height": bins[0],
        "pooled_width": bins[1],
        "spatial_scale": 1.0,
        "sampling_ratio": 2,
        "gamma": 0.1,
    }
    x = nhwc(image)
    output = shown.run(
        pymluops.deform_roi_pool_forward,
        reference.deform_roi_pool_forward,
        x,
        rois,
        offset,
        numbers=numbers,
    )
    grad_input, _ = shown.run(
        pymluops.deform_roi_pool_backward,
        reference.deform_roi_pool_backward,
        np.ones_like(output),
        x,
        rois,
        offset,
        numbers=numbers,
    )
    plain = pymluops.deform_roi_pool_forward(x, rois, **numbers)
    marks = [Mark(top, left, bottom - top, right - left, _BLUE)]
    for points, color in ((before, _BLUE), (after, (1, 0.25, 0.25))):
        marks += [Mark(y, x, color=color, radius=1.6) for y, x in points[3::6, 1::3].reshape(-1, 2)]
    shown.pictures = [
        Picture(image, "input, a region and its bins", marks=marks),
        Picture(plain[0], "output without offset, 24 x 12", "\u2192"),
        Picture(output[0], "output with offset"),
        Picture(heat(strength(grad_input[0])), "grad_input"),
    ]
    return shown


def _turned_bins(bins: tuple[int, int]) -> tuple[Values, Values, Values]:
    """Return offsets that turn the bins by the tower's angle, and the bins before and after."""
    top, left, bottom, right = TOWER_BOX
    height, width = bottom - top, right - left
    y, x = np.mgrid[: bins[0], : bins[1]] + 0.5
    y, x = (y / bins[0] - 0.5) * height, (x / bins[1] - 0.5) * width
    sine, cosine = np.sin(TOWER_ANGLE), np.cos(TOWER_ANGLE)
    turned_y, turned_x = y * cosine + x * sine, x * cosine - y * sine
    gamma = 0.1
    offset = np.stack([(turned_x - x) / (gamma * width), (turned_y - y) / (gamma * height)])
    middle = np.array([(top + bottom) / 2, (left + right) / 2])
    before = np.stack((y, x), -1) + middle
    after = np.stack((turned_y, turned_x), -1) + middle
    return offset[None].astype(np.float32), before, after

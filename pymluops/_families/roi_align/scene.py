# SPDX-License-Identifier: Apache-2.0
"""The demonstration of RoIAlign."""

from typing import Any

import numpy as np

import pymluops
from pymluops._families.roi_align import reference
from pymluops.demo._canvas import heat
from pymluops.demo._image import TOWER_BOX
from pymluops.demo._run import Mark, Picture, Scene, Values, nhwc, strength

_BLUE, _RED = (0.15, 0.45, 0.95), (1, 0.25, 0.25)
_BINS = (12, 6)


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "RoIAlign",
        [
            "The mean or the maximum of each bin of a region, over points between the",
            "pixels. The red points are the positions of the maxima: for maxima, only the",
            "pixels around them have a gradient.",
        ],
    )
    top, left, bottom, right = TOWER_BOX
    rois = np.array([[0, left, top, right, bottom]], np.float32)
    numbers: dict[str, Any] = {"sampling_ratio": 2}
    bins = {"pooled_height": _BINS[0], "pooled_width": _BINS[1]}
    x = nhwc(image)
    size = dict(zip(("batch", "height", "width"), x.shape[:3], strict=True))
    forward = pymluops.roi_align_forward, reference.roi_align_forward
    backward = pymluops.roi_align_backward, reference.roi_align_backward
    mean = shown.run(*forward, x, rois, note="avg", numbers=bins | numbers)
    shown.run(*backward, np.ones_like(mean), rois, note="avg", numbers=size | numbers)
    numbers["pool_mode"] = "max"
    largest, at_x, at_y = shown.run(*forward, x, rois, note="max", numbers=bins | numbers)
    ones = np.ones_like(largest)
    gradient = shown.run(*backward, ones, rois, at_x, at_y, note="max", numbers=size | numbers)
    # A region is in pixel edges, its samples are in pixel centres: half a pixel between them.
    marks = [Mark(top, left, bottom - top, right - left, _BLUE)]
    marks += [
        Mark(y + 0.5, x + 0.5, color=_RED, radius=1.6)
        for y, x in zip(at_y[0, ..., 0].flat, at_x[0, ..., 0].flat, strict=True)
    ]
    shown.pictures = [
        Picture(image, "input, a region, its maxima", marks=marks),
        Picture(mean[0], "means of 12 x 6 bins", "\u2192"),
        Picture(largest[0], "maxima"),
        Picture(heat(strength(gradient[0])), "gradient of the maxima"),
    ]
    return shown

# SPDX-License-Identifier: Apache-2.0
"""The demonstration of PSAMask."""

from typing import Any

import numpy as np

import pymluops
from pymluops._families.psamask import reference
from pymluops.demo._canvas import heat
from pymluops.demo._run import Mark, Picture, Scene, Values, nhwc


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "PSAMask",
        [
            "Each pixel has a mask for its surroundings; here it marks brighter pixels.",
            "collect: the map of a pixel has its own mask, which shows where it looks: at",
            "the sun. distribute: the map of a pixel has what the masks of others say about",
            "it, which shows who looks at it: the sky around.",
        ],
    )
    size = 15
    height, width, _ = small.shape
    masks = _brighter(small, size)
    y, x = 9, 22  # on the rim of the sun
    maps = {}
    for kind in ("collect", "distribute"):
        numbers: dict[str, Any] = {
            "psa_type": ("collect", "distribute").index(kind),
            "h_mask": size,
            "w_mask": size,
        }
        spread = shown.run(
            pymluops.psamask_forward,
            reference.psamask_forward,
            nhwc(masks),
            kind="movement",
            note=kind,
            numbers=numbers,
        )
        shown.run(
            pymluops.psamask_backward,
            reference.psamask_backward,
            spread,
            kind="movement",
            note=kind,
            numbers=numbers,
        )
        maps[kind] = spread[0, y, x].reshape(height, width)
    here = [Mark(y + 0.5, x + 0.5, color=(0.1, 0.35, 0.95))]
    shown.pictures = [
        Picture(small, "a pixel of the image", marks=here),
        Picture(heat(masks[y, x].reshape(size, size)), "x: its mask, 15 x 15", "+"),
        Picture(_over(small, maps["collect"]), "collect: it looks at ...", "\u2192", here),
        Picture(_over(small, maps["distribute"]), "distribute: ... looks at it", marks=here),
    ]
    return shown


def _over(small: Values, attention: Values) -> Values:
    """Return the image in grey, and red where there is attention."""
    grey = 0.35 + 0.5 * small.mean(-1, keepdims=True).repeat(3, -1)
    share = (attention / attention.max())[..., None] ** 0.5
    red: Values = grey * (1 - share) + np.array((0.90, 0.10, 0.25), np.float32) * share
    return red


def _brighter(small: Values, size: int) -> Values:
    """Return masks that say how much brighter the surroundings of each pixel are."""
    reach = size // 2
    height, width, _ = small.shape
    level = small.mean(-1)
    padded = np.pad(level, reach)
    masks = np.empty((height, width, size * size), np.float32)
    for i in range(size):
        for j in range(size):
            gain = padded[i : i + height, j : j + width] - level
            far = ((i - reach) ** 2 + (j - reach) ** 2) / 40
            masks[..., i * size + j] = np.maximum(gain + 0.02, 0) * np.exp(-far)
    return masks

# SPDX-License-Identifier: Apache-2.0
"""The demonstration of deformable convolution."""

from typing import Any

import numpy as np

import pymluops
from pymluops._families.dcn import reference
from pymluops.demo._canvas import heat
from pymluops.demo._image import HEIGHT, TOWER_ANGLE, TOWER_BOX, WIDTH
from pymluops.demo._run import Mark, Picture, Scene, Values, nhwc, strength

_BLUE, _RED = (0.15, 0.45, 0.95), (1, 0.25, 0.25)
_KERNEL, _DILATION = (9, 1), (3, 1)
_PAD = (12, 0)  # half of what the taps span


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "Deformable convolution",
        [
            "The mean of a column of 9 points (blue, for one pixel). Offsets move the",
            "points (red): here along the leaning tower, so that its edges stay sharp. A",
            "mask gives the points in the middle more weight. The gradient shows which",
            "pixels were read.",
        ],
    )
    x, (offset, mask) = nhwc(image), _turned_taps()
    weights = np.zeros((3, *_KERNEL, 1), np.float32)
    weights[...] = 1 / mask[0, 0, 0].sum()
    numbers: dict[str, Any] = {"pad": _PAD, "dilation": _DILATION, "conv_group": 3}
    settings = {"mask": mask, **numbers}
    forward = reference.deform_conv_forward
    output = shown.run(pymluops.deform_conv_forward, forward, x, offset, weights, numbers=settings)
    grad = np.zeros_like(output)
    middle = tuple(
        (low + high) // 2 for low, high in zip(TOWER_BOX[:2], TOWER_BOX[2:], strict=True)
    )
    row, column = int(middle[0]), int(middle[1])
    grad[0, row, column] = 1
    settings["grad_output"] = grad
    grad_input, *_ = shown.run(
        pymluops.deform_conv_backward_data,
        reference.deform_conv_backward_data,
        x,
        offset,
        weights,
        numbers=settings,
    )
    shown.run(
        pymluops.deform_conv_backward_weight,
        reference.deform_conv_backward_weight,
        x,
        offset,
        numbers={"kernel_size": _KERNEL, **settings},
    )
    plain = pymluops.deform_conv_forward(x, np.zeros_like(offset), weights, mask, **numbers)
    points = np.stack(_taps(), -1).reshape(-1, 2)
    moved = points + offset[0, row, column].reshape(-1, 2)
    marks = [
        Mark(row + 0.5 + y, column + 0.5 + x, color=color, radius=2)
        for some, color in ((points, _BLUE), (moved, _RED))
        for y, x in some.tolist()
    ]
    shown.pictures = [
        Picture(image, "input, the points of one pixel", marks=marks),
        Picture(plain[0], "output without offsets", "\u2192"),
        Picture(output[0], "output with offsets"),
        Picture(heat(strength(grad_input[0])), "grad_input of that pixel"),
    ]
    return shown


def _taps() -> tuple[Values, Values]:
    """Return how far each tap is below and to the right of its pixel."""
    i, j = np.mgrid[: _KERNEL[0], : _KERNEL[1]].astype(np.float32)
    return i * _DILATION[0] - _PAD[0], j * _DILATION[1] - _PAD[1]


def _turned_taps() -> tuple[Values, Values]:
    """Return offsets that turn the taps by the tower's angle, and a mask, for all pixels."""
    y, x = _taps()
    sine, cosine = np.sin(TOWER_ANGLE), np.cos(TOWER_ANGLE)
    moves = np.stack((y * cosine + x * sine - y, x * cosine - y * sine - x), -1).reshape(-1)
    weights = np.exp(-((y / 8) ** 2)).reshape(-1)
    size = (1, HEIGHT, WIDTH, 1)
    return np.tile(moves, size).astype(np.float32), np.tile(weights, size).astype(np.float32)

# SPDX-License-Identifier: Apache-2.0
"""The demonstration of BorderAlign."""

import numpy as np
import numpy.typing as npt

import pymluops
from pymluops._families.border_align import reference
from pymluops.demo._canvas import heat
from pymluops.demo._run import Mark, Picture, Scene, Values, nhwc, strength


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "BorderAlign",
        [
            "The largest value along each border of a box, for one box around each pixel.",
            "The map shows edges in the colour of the sun. The score of a box is the mean",
            "of its borders. The best box is around the sun; the dots are the positions of",
            "its maxima, where the gradient goes.",
        ],
    )
    height, width, _ = small.shape
    level = np.exp(-((small - small[7, 24]) ** 2).sum(-1) / 0.1)
    down = np.abs(np.diff(level, axis=0, append=level[-1:]))
    right = np.abs(np.diff(level, axis=1, append=level[:, -1:]))
    feature = np.stack([down, right, down, right], -1).astype(np.float32)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    reach = np.float32(3)
    boxes = np.stack([x - reach - 0.5, y - reach - 0.5, x + reach, y + reach], -1).reshape(1, -1, 4)
    output, argmax = shown.run(
        pymluops.border_align_forward,
        reference.border_align_forward,
        nhwc(feature),
        boxes,
        numbers={"pool_size": 12},
    )
    grad = shown.run(
        pymluops.border_align_backward,
        reference.border_align_backward,
        output,
        boxes,
        argmax,
        numbers={"pool_size": 12, "height": height, "width": width},
    )
    score = output[0, :, :, 0].mean(-1)
    best = int(score.argmax())
    shown.pictures = [
        Picture(small, "best box", marks=_box_marks(boxes[0, best], argmax[0, best, :, 0])),
        Picture(heat(feature.sum(-1)), "input: edges, 4 channels", "+"),
        Picture(heat(score.reshape(height, width)), "output: mean of the borders", "\u2192"),
        Picture(heat(strength(grad[0])), "grad_input"),
    ]
    return shown


def _box_marks(box: Values, steps: npt.NDArray[np.int32]) -> list[Mark]:
    # A coordinate names the middle of a pixel.
    x1, y1, x2, y2 = box + 0.5
    share = steps / 12
    return [
        Mark(y1, x1, y2 - y1, x2 - x1),
        Mark(y1, x1 + share[0] * (x2 - x1)),
        Mark(y1 + share[1] * (y2 - y1), x1),
        Mark(y2, x2 - share[2] * (x2 - x1)),
        Mark(y2 - share[3] * (y2 - y1), x2),
    ]

# SPDX-License-Identifier: Apache-2.0
"""The demonstration of CARAFE."""

from typing import Any

import numpy as np

import pymluops
from pymluops._families.carafe import reference
from pymluops.demo._canvas import Pixels, heat
from pymluops.demo._image import HEIGHT, SCALE, WIDTH
from pymluops.demo._run import Picture, Scene, Values, nhwc


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "CARAFE",
        [
            "Upsampling by 4. Each output pixel has a 5 x 5 kernel of its own. Here a guide",
            "image gives the kernels; in a network they are predicted. For comparison:",
            "bilinear upsampling uses the same kernels everywhere, and blurs the image.",
        ],
    )
    kernels = _guided_kernels(image, small, 5)
    numbers: dict[str, Any] = {"kernel_size": 5, "group_size": 1, "scale_factor": SCALE}
    x, mask = nhwc(small), nhwc(kernels)
    output = shown.run(pymluops.carafe_forward, reference.carafe_forward, x, mask, numbers=numbers)
    shown.run(
        pymluops.carafe_backward,
        reference.carafe_backward,
        x,
        mask,
        numbers={"grad_output": output, **numbers},
    )
    shown.pictures = [
        Picture(small, "input, 24 x 32"),
        Picture(_tiles(kernels), "mask: every 8th kernel, 5 x 5", "+"),
        Picture(output[0], "output: CARAFE, 96 x 128", "\u2192"),
        Picture(_bilinear(small), "for comparison: bilinear, 96 x 128"),
    ]
    return shown


def _bilinear(small: Values) -> Values:
    """Return what fixed kernels make of the input."""
    for axis, extent in enumerate((HEIGHT, WIDTH)):
        at = np.clip((np.arange(extent) + 0.5) / SCALE - 0.5, 0, small.shape[axis] - 1)
        low = np.minimum(at.astype(int), small.shape[axis] - 2)
        share = (at - low).reshape(-1, *[1] * (2 - axis))
        small = small.take(low, axis) * (1 - share) + small.take(low + 1, axis) * share
    return small


def _guided_kernels(image: Values, small: Values, size: int) -> Values:
    """Return kernels that prefer input pixels near in place and in colour to the output pixel."""
    reach = size // 2
    # Outside the input there is no colour: kernels give no weight to it.
    padded = np.pad(small, ((reach, reach), (reach, reach), (0, 0)), constant_values=9)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    kernels = np.empty((HEIGHT, WIDTH, size * size), np.float32)
    for i in range(size):
        for j in range(size):
            color = padded[y // SCALE + i, x // SCALE + j] - image
            down = (y % SCALE + 0.5) / SCALE - 0.5 - (i - reach)
            right = (x % SCALE + 0.5) / SCALE - 0.5 - (j - reach)
            logit = -(down**2 + right**2) / 2.5 - (color**2).sum(-1) / 0.03
            kernels[..., i * size + j] = logit
    kernels[...] = np.exp(kernels - kernels.max(-1, keepdims=True))
    kernels /= kernels.sum(-1, keepdims=True)
    return kernels


def _tiles(kernels: Values) -> Pixels:
    """Lay every 8th kernel out as a small square with a dark border."""
    some = kernels[4::8, 4::8].reshape(HEIGHT // 8, WIDTH // 8, 5, 5)
    some = some / some.max((2, 3), keepdims=True)
    tiles = np.pad(some, ((0, 0), (0, 0), (2, 1), (2, 1)))
    return heat(tiles.transpose(0, 2, 1, 3).reshape(HEIGHT, WIDTH))

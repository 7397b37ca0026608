# SPDX-License-Identifier: Apache-2.0
"""BorderDet sizes: a box around each pixel of a pyramid level; and a sweep of channels."""

import math
from typing import Any

import numpy as np

from pymluops._tensor import Array
from pymluops.bench._case import NHWC, Arguments, Case, Tensor

POOL = 10


def _boxes(rng: np.random.Generator, batch: int, height: int, width: int) -> Array:
    """Sides from 1 to 50 pixels, evenly in the logarithm, clipped to the map."""
    ys, xs = np.mgrid[:height, :width].reshape(2, -1) + 0.5
    longest = math.log(max(1.0, min(50.0, width / 2)))
    sides = np.exp(rng.uniform(0, longest, (2, batch, height * width)))
    shift = rng.uniform(-0.2, 0.2, sides.shape)
    low = np.stack([xs, ys])[:, None] + sides * (shift - 0.5)
    limit = np.array([width - 1, height - 1]).reshape(2, 1, 1)
    corners = np.concatenate([low, low + sides]).reshape(2, 2, batch, -1)
    clipped = np.clip(corners, 0, limit)
    return np.ascontiguousarray(np.moveaxis(clipped.reshape(4, batch, -1), 0, -1), np.float32)


def _case(direction: str, size: tuple[int, int], channels: int, batch: int, group: str) -> Case:
    height, width = size
    boxes_per_image = height * width
    forward = direction == "forward"

    def make(dtype: np.dtype[Any]) -> Arguments:
        rng = np.random.default_rng(boxes_per_image)
        shape, of_map = (batch, boxes_per_image, 4, channels), (batch, height, width, 4 * channels)
        boxes = Tensor(_boxes(rng, batch, height, width).astype(dtype))
        if forward:
            image = rng.standard_normal(of_map, np.float32).astype(dtype)
            return {
                "x": Tensor(image, NHWC),
                "boxes": boxes,
                "pool_size": POOL,
                "out": Tensor(np.zeros(shape, dtype), NHWC, output=True),
                "argmax": Tensor(np.zeros(shape, np.int32), NHWC, output=True),
            }
        steps = rng.integers(0, POOL + 1, shape, np.int32)
        return {
            "grad": Tensor(rng.standard_normal(shape, np.float32).astype(dtype), NHWC),
            "boxes": boxes,
            "argmax": Tensor(steps, NHWC),
            "pool_size": POOL,
            "grad_x": Tensor(np.zeros(of_map, dtype), NHWC, output=True),
        }

    elements = batch * boxes_per_image * 4 * channels
    return Case(
        f"border_align_{direction}/K{boxes_per_image}-C{channels}",
        f"mluOpBorderAlign{direction.capitalize()}",
        make,
        {"pool_size": POOL, "height": height, "width": width},
        read=4 * elements * (1 if forward else 2),
        written=4 * elements * (2 if forward else 1),
        flops=elements * 8 * (POOL + 1 if forward else 1),
        group=group,
    )


CASES = [
    _case(direction, size, channels, 2, group)
    for group, sizes in (
        ("networks", [((25, 38), 256), ((100, 152), 256), ((7, 10), 256)]),
        ("sizes", [((4, 5), 256), ((13, 19), 256), ((50, 76), 256)]),
        ("more", [((100, 152), 128)]),
        ("sweep", [((1, 1), 1), ((1, 1), 2048), *(((25, 38), c) for c in (1, 4, 16, 24))]),
        ("sweep", [((100, 152), 1), ((100, 152), 64)]),
    )
    for size, channels in sizes
    for direction in ("forward", "backward")
]

# SPDX-License-Identifier: Apache-2.0
"""Calls of BorderAlign, random boxes and maps, and how near a result is."""

import numpy as np

import pymluops

FLOAT_BAR, HALF_BAR = 1e-6, 5e-4
Array = np.ndarray


def forward(x: Array, boxes: Array, pool_size: int, handle: pymluops.Handle) -> tuple[Array, Array]:
    return pymluops.border_align_forward(x, boxes, pool_size=pool_size, handle=handle)


def backward(
    grad: Array, boxes: Array, argmax: Array, pool_size: int, shape: tuple, handle: pymluops.Handle
) -> Array:
    return pymluops.border_align_backward(
        grad, boxes, argmax, pool_size=pool_size, height=shape[1], width=shape[2], handle=handle
    )


def same(a: Array, b: Array) -> bool:
    """Equal values; NaN equals NaN, and zeros have no sign."""
    return bool(np.array_equal(a, b, equal_nan=True))


def check_accuracy(got: Array, expected: Array, bar: float) -> None:
    error = got.astype(np.float64) - expected
    assert np.abs(error).sum() <= bar * np.abs(expected).sum()
    assert np.square(error).sum() <= bar**2 * np.square(expected).sum()


def random_boxes(rng: np.random.Generator, n: int, height: int, width: int) -> Array:
    """Boxes that lie anywhere, also outside the map, some of them inverted, and some on pixels."""
    low = np.array([-2.0, -2.0, -2.0, -2.0])
    high = np.array([width + 1.0, height + 1.0, width + 1.0, height + 1.0])
    boxes = rng.uniform(low, high, (n, height * width, 4))
    whole = rng.random(boxes.shape) < 0.2
    return np.where(whole, np.round(boxes), boxes)


def random_map(rng: np.random.Generator, *shape: int) -> Array:
    """Values of which neighbours are often equal, so that there are ties."""
    return np.where(rng.random(shape) < 0.5, rng.integers(-2, 3, shape), rng.standard_normal(shape))

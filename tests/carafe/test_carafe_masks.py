# SPDX-License-Identifier: Apache-2.0
"""CARAFE with several groups of many channels, whose masks come from memory."""

from __future__ import annotations

from typing import Any

import guard
import numpy as np
import pytest
from carafe_calls import BAR, DTYPES, Rng, Shape, assert_close, forward, forward_at

import pymluops
from pymluops.reference import carafe as reference

# With so many elements of all tensors, a call does not stay in half of a cache of 32 MiB.
MANY = 4_300_000

# Images, which are repeated until they are many. Below, at and above vectors, cuts and blocks of
# groups; where the number of groups, the window or the scale make a difference.
IMAGES = [
    Shape(1, 5, 19, 17, 5, 16, 2),
    Shape(1, 4, 7, 16, 5, 6, 2),
    Shape(1, 6, 9, 9, 5, 11, 3),
    Shape(1, 7, 35, 32, 5, 12, 2),
    Shape(1, 3, 5, 33, 5, 5, 2),
    Shape(1, 3, 5, 33, 5, 4, 2),
    Shape(1, 5, 6, 48, 3, 5, 2),
    Shape(1, 2, 90, 64, 1, 17, 2),
    Shape(1, 2, 33, 65, 5, 5, 2),
    Shape(1, 12, 13, 112, 11, 6, 2),
    Shape(1, 13, 14, 24, 13, 5, 2),
    Shape(1, 3, 4, 128, 3, 6, 3),
    Shape(1, 2, 3, 300, 3, 5, 2),
    Shape(1, 1, 1, 40, 3, 7, 5),
    Shape(1, 4, 20, 40, 3, 5, 1),
]


def repeated(shape: Shape, count: int) -> Shape:
    return Shape(count, shape.h, shape.w, shape.c, shape.k, shape.g, shape.s)


def images_needed(shape: Shape, of_output: bool = False) -> int:
    """Count the images whose elements, or those of their results, are many."""
    sizes = (shape.upscaled,) if of_output else (shape.map, shape.masks, shape.upscaled)
    return -(-MANY // sum(int(np.prod(size)) for size in sizes))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", IMAGES, ids=repr)
def test_masks_that_come_from_memory(
    shape: Shape, dtype: Any, rng: Rng, handle: pymluops.Handle, for_each_thread_count: Any
) -> None:
    """Every image has the result that it has alone; nothing beside the tensors is touched."""
    x, m, _ = shape.tensors(rng, dtype)
    expected = reference.carafe_forward(x, m, shape.k, shape.g, shape.s)
    count = images_needed(shape) * (2 if dtype == np.float16 else 1)
    many = repeated(shape, count)
    for place in guard.BOTH:
        xs, ms = (place(np.repeat(t, count, axis=0)) for t in (x, m))

        def run(place: Any = place, xs: Any = xs, ms: Any = ms) -> np.ndarray:
            y = place(np.full(many.upscaled, np.nan, dtype))
            return forward(many, xs, ms, out=y, handle=handle)

        first, *others = for_each_thread_count(run)
        assert all(np.array_equal(other, first) for other in others)
        assert (first == first[:1]).all()
        assert_close(first[:1], expected, BAR[dtype])


# Results that are written past the caches, unless groups are small.
LARGE_RESULTS = [
    Shape(1, 6, 23, 32, 3, 8, 2),
    Shape(1, 5, 21, 48, 3, 8, 2),
    Shape(1, 3, 18, 64, 3, 20, 2),
    Shape(1, 4, 17, 112, 1, 5, 2),
    Shape(1, 2, 19, 128, 3, 5, 3),
    Shape(1, 2, 5, 512, 1, 5, 5),
]


@pytest.mark.parametrize("first_float", [0, 4, 15])
@pytest.mark.parametrize("shape", LARGE_RESULTS, ids=repr)
def test_large_results_may_begin_anywhere_in_a_line(
    shape: Shape, first_float: int, rng: Rng, handle: pymluops.Handle, for_each_thread_count: Any
) -> None:
    x, m, _ = shape.tensors(rng, np.float32)
    expected = reference.carafe_forward(x, m, shape.k, shape.g, shape.s)
    many = repeated(shape, images_needed(shape, of_output=True))
    xs, ms = (np.repeat(t, many.n, axis=0) for t in (x, m))

    one, *others = for_each_thread_count(lambda: forward_at(first_float, many, xs, ms, handle))
    assert all(np.array_equal(other, one) for other in others)
    assert (one == one[:1]).all()
    assert_close(one[:1], expected, 1e-6)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [IMAGES[0], IMAGES[6], IMAGES[9]], ids=repr)
def test_a_poisoned_group_of_many_channels_leaves_its_neighbours_alone(
    shape: Shape, poison: float, rng: Rng, handle: pymluops.Handle
) -> None:
    x, m, _ = shape.tensors(rng, np.float32)
    many = repeated(shape, images_needed(shape))
    xs, ms = (np.repeat(t, many.n, axis=0) for t in (x, m))
    clean = forward(many, xs, ms, handle=handle)
    c, taps = shape.c, shape.k**2
    for group in (0, 1, shape.g - 1):
        poisoned = ms.copy()
        # A weight of the first pixel, and one that is for a tap outside of the map.
        poisoned[1, 0, 0, (group + 1) * taps - 1] = poison
        poisoned[2, 0, 0, group * taps] = poison
        y = forward(many, xs, poisoned, handle=handle)
        reached = np.zeros(y.shape, bool)
        reached[1, 0, 0, group * c : (group + 1) * c] = True
        assert not np.isfinite(y[reached]).any()
        assert np.array_equal(y[~reached], clean[~reached])

# SPDX-License-Identifier: Apache-2.0
"""CARAFE near in the caches and past them: the same bits, wherever tensors begin in memory."""

from __future__ import annotations

from typing import Any

import guard
import numpy as np
import pytest
from carafe_calls import BAR, DTYPES, Rng, Shape, assert_close, backward, forward
from everywhere import inputs_at, results_everywhere

import pymluops
from pymluops.reference import carafe as reference

Handles = tuple[pymluops.Handle, pymluops.Handle]

# Whole lines go past the caches wherever the output begins: of one group, or of many small ones.
LINES = [
    Shape(1, 3, 3, 256, 3, 1, 2),
    Shape(1, 7, 35, 112, 1, 1, 3),
    Shape(1, 12, 33, 512, 1, 1, 1),
    Shape(1, 5, 19, 128, 3, 4, 4),
    Shape(1, 5, 21, 16, 1, 32, 3),
    Shape(2, 3, 31, 640, 1, 1, 2),
    Shape(1, 4, 18, 64, 3, 1, 5),
]

# Groups that are rotated when they are packed: one line or several, one cut of vectors or several.
ROTATED = [
    Shape(1, 1, 1, 48, 3, 1, 2),
    Shape(2, 5, 7, 64, 5, 1, 2),
    Shape(1, 6, 35, 96, 7, 1, 2),
    Shape(1, 4, 17, 112, 3, 1, 2),
    Shape(1, 9, 20, 256, 5, 1, 2),
    Shape(1, 5, 18, 256, 7, 1, 2),
    Shape(1, 3, 16, 336, 5, 1, 2),
    Shape(1, 5, 6, 32, 5, 1, 2),
    Shape(1, 5, 6, 96, 3, 2, 2),
    Shape(1, 5, 6, 96, 3, 1, 3),
    Shape(1, 4, 23, 48, 21, 1, 2),
    Shape(1, 22, 21, 304, 3, 1, 2),
]

# Masks of several groups, which are copied in their order where they come from memory.
GROUPED = [
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
    Shape(1, 5, 21, 48, 3, 8, 2),
    Shape(1, 3, 18, 64, 3, 20, 2),
    Shape(1, 2, 5, 512, 1, 5, 5),
]

# Halves, of which two vectors of sums make a line: even numbers of vectors, odd ones, and parts.
HALVES = [
    Shape(1, 1, 1, 16, 3, 1, 1),
    Shape(1, 6, 35, 48, 5, 1, 1),
    Shape(1, 4, 17, 112, 3, 3, 2),
    Shape(1, 5, 18, 272, 3, 2, 3),
    Shape(1, 4, 5, 528, 3, 1, 1),
    Shape(1, 3, 16, 336, 7, 1, 2),
    Shape(1, 5, 6, 96, 1, 2, 4),
    Shape(1, 5, 6, 512, 3, 2, 1),
    Shape(2, 5, 19, 250, 3, 1, 2),
    Shape(1, 12, 19, 64, 21, 1, 1),
    Shape(1, 9, 10, 72, 21, 1, 2),
    Shape(2, 5, 17, 65, 7, 1, 3),
    Shape(1, 6, 18, 80, 25, 2, 1),
    Shape(1, 22, 5, 49, 45, 1, 2),
    Shape(1, 3, 40, 672, 5, 1, 2),
    Shape(1, 5, 21, 608, 3, 1, 2),
    Shape(1, 3, 18, 2048, 1, 1, 2),
    Shape(1, 5, 20, 32, 1, 16, 3),
    Shape(1, 7, 20, 64, 1, 4, 3),
    Shape(1, 5, 20, 1024, 1, 1, 1),
    Shape(1, 4, 18, 320, 3, 2, 3),
    Shape(1, 3, 18, 992, 1, 1, 5),
]

CASES = [
    *((shape, np.float32) for shape in (*LINES, *ROTATED, *GROUPED)),
    *((shape, np.float16) for shape in (*HALVES, *LINES, *GROUPED[:8])),
]


@pytest.mark.parametrize(("shape", "dtype"), CASES)
def test_outputs_anywhere(shape: Shape, dtype: Any, rng: Rng, near_and_past: Handles) -> None:
    x, m, _ = shape.tensors(rng, dtype)
    expected = reference.carafe_forward(x, m, shape.k, shape.g, shape.s)
    like = [np.empty(shape.upscaled, dtype)]
    size = np.dtype(dtype).itemsize
    results = []
    # Inputs at the begin of a line, as far off it as an output, and between guard pages.
    for xs, ms in (
        *(inputs_at(place, x, m) for place in (0, 16)),
        (guard.ending(x), guard.beginning(m)),
        (guard.beginning(x), guard.ending(m)),
    ):

        def call(handle: pymluops.Handle, y: Any, xs: Any = xs, ms: Any = ms) -> None:
            forward(shape, xs, ms, out=y, handle=handle)

        results += results_everywhere(call, like, near_and_past, (0, 16, 2, 15 * size))
    assert all(y.tobytes() == results[0].tobytes() for y in results)
    assert_close(results[0], expected, BAR[dtype])


GRADIENTS = [
    Shape(1, 6, 37, 64, 5, 1, 2),
    Shape(2, 5, 6, 17, 3, 2, 2),
    Shape(1, 4, 19, 300, 3, 1, 1),
    Shape(1, 9, 21, 4, 5, 17, 2),
    Shape(1, 12, 18, 3, 9, 2, 1),
    Shape(1, 5, 34, 2, 7, 2, 2),
    Shape(1, 14, 15, 16, 13, 1, 1),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", GRADIENTS, ids=repr)
def test_gradients_anywhere(shape: Shape, dtype: Any, rng: Rng, near_and_past: Handles) -> None:
    x, m, go = shape.tensors(rng, dtype)
    expected = reference.carafe_backward(x, m, go, shape.k, shape.g, shape.s)
    for fence in guard.BOTH:
        xs, ms, gos = (fence(t) for t in (x, m, go))

        def call(handle: pymluops.Handle, *out: Any, xs: Any = xs, ms: Any = ms, gos: Any = gos):
            backward(shape, xs, ms, gos, out=out, handle=handle)

        results = results_everywhere(call, [np.empty_like(x), np.empty_like(m)], near_and_past)
        for result, exact in zip(results, expected, strict=True):
            assert_close(result, exact, BAR[dtype])


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [GROUPED[0], GROUPED[6], GROUPED[9]], ids=repr)
def test_a_poisoned_group_of_many_channels_leaves_its_neighbours_alone(
    shape: Shape, poison: float, rng: Rng, near_and_past: Handles
) -> None:
    x, m, _ = shape.tensors(rng, np.float32)
    clean = forward(shape, x, m, handle=near_and_past[1])
    c, taps = shape.c, shape.k**2
    for group in (0, 1, shape.g - 1):
        poisoned = m.copy()
        # A weight of the first pixel, and one of the last that is for a tap outside of the map.
        poisoned[0, 0, 0, (group + 1) * taps - 1] = poison
        poisoned[0, -1, -1, (group + 1) * taps - 1] = poison
        y = forward(shape, x, poisoned, handle=near_and_past[1])
        reached = np.zeros(y.shape, bool)
        reached[0, 0, 0, group * c : (group + 1) * c] = True
        assert not np.isfinite(y[reached]).any()
        assert np.array_equal(y[~reached], clean[~reached])

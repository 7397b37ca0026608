# SPDX-License-Identifier: Apache-2.0
"""CARAFE with results that go past the caches, wherever tensors begin in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carafe_calls import BAR, Rng, Shape, assert_close, at_place, forward, forward_at

import pymluops
from pymluops.reference import carafe as reference


def test_a_large_output_is_streamed_to_the_same_values(rng: Rng, handle: pymluops.Handle) -> None:
    """The output is larger than half of a last-level cache of 32 MiB, and its pixels are few."""
    shape = Shape(1, 3, 3, 256, 3, 1, 2)
    x, m, _ = shape.tensors(rng, np.float32)
    many = 500
    y = forward(
        Shape(many, 3, 3, 256, 3, 1, 2),
        np.repeat(x, many, axis=0),
        np.repeat(m, many, axis=0),
        handle=handle,
    )
    assert (y == forward(shape, x, m, handle=handle)).all()


# Larger than half of a last-level cache of 32 MiB: whole lines go past it wherever they begin.
LARGE_SHAPES = [
    Shape(1, 70, 70, 112, 1, 1, 3),
    Shape(1, 100, 101, 512, 1, 1, 1),
    Shape(1, 33, 40, 128, 3, 4, 4),
    Shape(1, 40, 41, 16, 1, 32, 3),
    Shape(2, 30, 31, 640, 1, 1, 2),
]


def check_at_places(
    shape: Shape,
    dtype: type,
    places: tuple[int, int],
    rng: Rng,
    handle: pymluops.Handle,
    for_each_thread_count: Any,
) -> None:
    """Check an output and an input that begin at two places of their lines."""
    _, x, _ = at_place(places[1], shape.map, dtype)
    x[:] = rng.standard_normal(shape.map)
    m = rng.standard_normal(shape.masks).astype(dtype)

    one, *others = for_each_thread_count(lambda: forward_at(places[0], shape, x, m, handle))
    assert all((other == one).all() for other in others)
    expected = reference.carafe_forward(x, m, shape.k, shape.g, shape.s)
    assert_close(one, expected, BAR[dtype])


@pytest.mark.parametrize("first", [0, 1, 4, 15])
@pytest.mark.parametrize("shape", LARGE_SHAPES, ids=repr)
def test_a_large_output_may_begin_anywhere_in_a_line(
    shape: Shape, first: int, rng: Rng, handle: pymluops.Handle, for_each_thread_count: Any
) -> None:
    check_at_places(shape, np.float32, (first, 4), rng, handle, for_each_thread_count)


# Read in place where input and output begin at the same place of a line, if windows fit the cache;
# the last two results are large.
JOINED_SHAPES = [
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
    Shape(1, 66, 65, 256, 3, 1, 2),
    Shape(1, 61, 60, 304, 3, 1, 2),
]


FLOAT_PLACES = [(1, 1), (4, 4), (15, 15), (4, 0), (0, 4)]  # of the output and the input

# Larger than half of a last-level cache of 32 MiB, as halves: from in place, and from packed rows.
LARGE_HALVES = [
    Shape(1, 9, 400, 672, 5, 1, 2),
    Shape(2, 70, 290, 64, 5, 1, 2),
    Shape(1, 60, 61, 608, 3, 1, 2),
    Shape(1, 33, 33, 2048, 1, 1, 2),
    Shape(1, 44, 45, 32, 1, 16, 3),
    Shape(1, 62, 63, 64, 1, 4, 3),
    Shape(1, 92, 93, 64, 1, 4, 2),
    Shape(1, 94, 95, 1024, 1, 1, 1),
    Shape(1, 40, 41, 320, 3, 2, 3),
    Shape(1, 19, 20, 992, 1, 1, 5),
    Shape(1, 130, 131, 512, 1, 1, 1),
    Shape(1, 70, 71, 112, 3, 4, 2),
]


@pytest.mark.parametrize("shape", LARGE_HALVES, ids=repr)
def test_a_large_output_of_halves_may_begin_anywhere_in_a_line(
    shape: Shape, rng: Rng, handle: pymluops.Handle, for_each_thread_count: Any
) -> None:
    x, m = (rng.standard_normal(size).astype(np.float16) for size in (shape.map, shape.masks))
    expected = reference.carafe_forward(x, m, shape.k, shape.g, shape.s)
    first = None
    for place in (0, 1, 2, 8, 16, 18, 31):

        def run(place: int = place) -> np.ndarray:
            return forward_at(place, shape, x, m, handle)

        one, *others = for_each_thread_count(run) if place in (2, 16) else [run()]
        assert all((other == one).all() for other in others)
        first = one if first is None else first
        assert (one == first).all()
    assert_close(first, expected, 5e-4)


# Converted where they are, if there are instructions for it and groups are whole vectors; else
# packed.
SMALL_HALVES = [
    Shape(1, 1, 1, 16, 3, 1, 1),
    Shape(2, 5, 7, 64, 5, 1, 2),
    Shape(1, 6, 35, 48, 5, 1, 1),
    Shape(1, 4, 17, 112, 3, 3, 2),
    Shape(1, 5, 18, 272, 3, 2, 3),
    Shape(1, 4, 5, 528, 3, 1, 1),
    Shape(1, 3, 16, 336, 7, 1, 2),
    Shape(1, 4, 23, 48, 21, 1, 2),
    Shape(1, 5, 6, 96, 1, 2, 4),
    Shape(1, 5, 6, 512, 3, 2, 1),
    Shape(2, 5, 19, 250, 3, 1, 2),
    Shape(1, 12, 19, 64, 21, 1, 1),
    Shape(1, 9, 10, 72, 21, 1, 2),
    Shape(2, 5, 17, 65, 7, 1, 3),
    Shape(1, 6, 18, 80, 25, 2, 1),
    Shape(1, 22, 5, 49, 45, 1, 2),
]
HALF_PLACES = [(0, 0), (8, 8), (0, 1), (31, 15), (16, 2)]

PLACES = [
    *((shape, np.float32, p) for shape in JOINED_SHAPES for p in FLOAT_PLACES),
    *((shape, np.float16, p) for shape in SMALL_HALVES for p in HALF_PLACES),
]


@pytest.mark.parametrize(("shape", "dtype", "places"), PLACES)
def test_input_and_output_may_begin_anywhere_in_a_line(
    shape: Shape,
    dtype: type,
    places: tuple[int, int],
    rng: Rng,
    handle: pymluops.Handle,
    for_each_thread_count: Any,
) -> None:
    check_at_places(shape, dtype, places, rng, handle, for_each_thread_count)

# SPDX-License-Identifier: Apache-2.0
"""CARAFE's output in NCHW: the bits of the one in NHWC, anywhere in memory."""

from __future__ import annotations

from typing import Any

import guard
import numpy as np
import pytest
from carafe_calls import DTYPES, Rng, Shape, forward
from everywhere import results_everywhere

import pymluops
from pymluops._descriptor import object_descriptor, packed_descriptor
from pymluops.capi import Layout, ffi

Handles = tuple[pymluops.Handle, pymluops.Handle]

# Whole rows of few and of many channels, lines that begin in planes wherever they like; rows that
# are cut, with and without a rest; several parts of channels, groups, images.
SHAPES = [
    Shape(1, 1, 1, 16, 3, 1, 1),
    Shape(1, 9, 32, 256, 5, 1, 2),
    Shape(2, 5, 25, 300, 3, 1, 2),
    Shape(1, 6, 33, 130, 5, 1, 1),
    Shape(1, 4, 70, 528, 5, 1, 2),
    Shape(1, 3, 90, 96, 7, 1, 3),
    Shape(1, 2, 40, 33, 21, 1, 4),
    Shape(1, 3, 300, 40, 5, 1, 2),
    Shape(1, 2, 353, 48, 9, 1, 3),
    Shape(1, 23, 46, 20, 45, 1, 2),
    Shape(1, 2, 60, 16, 45, 1, 5),
    Shape(1, 7, 13, 17, 3, 12, 2),
    Shape(2, 3, 20, 64, 3, 20, 2),
    Shape(1, 3, 16, 200, 1, 3, 5),
    Shape(1, 4, 16, 600, 1, 2, 2),
    # Fewer channels than vectors have elements, which have kernels of their own in NHWC.
    Shape(1, 6, 19, 1, 3, 1, 2),
    Shape(2, 5, 7, 3, 5, 1, 1),
    Shape(1, 4, 9, 8, 5, 5, 2),
    Shape(1, 23, 24, 3, 45, 2, 1),
]


def tensor(array: np.ndarray, layout: Layout) -> tuple[Any, Any]:
    return packed_descriptor(array.shape, array.dtype, int(layout)), ffi.from_buffer(array)


def forward_nchw(shape: Shape, x: Any, m: Any, y: Any, handle: pymluops.Handle) -> None:
    desc = object_descriptor("Carafe", 4, shape.k, shape.g, shape.s)
    given = (*tensor(x, Layout.NHWC), *tensor(m, Layout.NHWC))
    handle.invoke("mluOpCpuCarafeNchwForward", (desc, *given, *tensor(y, Layout.NCHW)))


def to_nchw(pixels: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(pixels, 3, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_bits_anywhere(shape: Shape, dtype: Any, rng: Rng, near_and_past: Handles) -> None:
    x, m, _ = shape.tensors(rng, dtype)
    expected = to_nchw(forward(shape, x, m, handle=near_and_past[0]))
    for fence in guard.BOTH:
        xs, ms = fence(x), fence(m)

        def call(handle: pymluops.Handle, y: Any, xs: Any = xs, ms: Any = ms) -> None:
            forward_nchw(shape, xs, ms, y, handle)

        like, places = [np.empty_like(expected)], (0, 16, 2 * expected.itemsize)
        for y in results_everywhere(call, like, near_and_past, places):
            assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_random_shapes(near_and_past: Handles, rng: Rng, threads: int) -> None:
    for number in range(60):
        n, s, g = (int(extent) for extent in rng.integers(1, (3, 6, 4)))
        h, w, c = (int(extent) for extent in rng.integers((1, 1, 1), (12, 120 // s, 400 // g)))
        shape = Shape(n, h, w, c, int(rng.choice([1, 3, 5])), g, s)
        x, m, _ = shape.tensors(rng, DTYPES[number % 2])
        handle, fence = near_and_past[number // 2 % 2], guard.BOTH[number // 4 % 2]
        handle.num_threads = threads
        expected = to_nchw(forward(shape, x, m, handle=handle))
        y = fence(np.full_like(expected, np.nan))
        forward_nchw(shape, fence(x), fence(m), y, handle)
        assert y.tobytes() == expected.tobytes(), shape

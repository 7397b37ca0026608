# SPDX-License-Identifier: Apache-2.0
"""CARAFE where sums are so long that they are made in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carafe_calls import BAR, DTYPES, Rng, Shape, assert_close, backward, forward

import pymluops
from pymluops.reference import carafe as reference


# The last one has several segments of windows, each of which is summed in parts.
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("k", "s", "w"), [(137, 1, 4), (135, 2, 4), (3, 7, 4), (5, 6, 4), (5, 24, 37)]
)
def test_backward_goes_beyond_forward(
    k: int,
    s: int,
    w: int,
    dtype: Any,
    rng: Rng,
    handle: pymluops.Handle,
    for_each_thread_count: Any,
) -> None:
    shape = Shape(1, 5, w, 18, k, 1, s)
    x, m, go = shape.tensors(rng, dtype)
    first, *others = for_each_thread_count(lambda: backward(shape, x, m, go, handle=handle))
    for other in others:
        assert [a.tobytes() for a in other] == [a.tobytes() for a in first]
    expected = reference.carafe_backward(x, m, go, k, 1, s)
    for grad, exact in zip(first, expected, strict=True):
        assert_close(grad, exact, BAR[dtype])


@pytest.mark.parametrize(("c", "g"), [(16, 1), (1, 2)])
def test_long_sums_of_one_sign_stay_accurate(
    c: int, g: int, rng: Rng, handle: pymluops.Handle
) -> None:
    shape = Shape(1, 46, 46, c, 45, g, 1)
    x, m, go = (np.abs(t) for t in shape.tensors(rng, np.float32))
    assert_close(
        forward(shape, x, m, handle=handle), reference.carafe_forward(x, m, 45, g, 1), 3e-7
    )
    expected = reference.carafe_backward(x, m, go, 45, g, 1)
    for grad, exact in zip(backward(shape, x, m, go, handle=handle), expected, strict=True):
        assert_close(grad, exact, 1e-6)


def test_long_sums_of_many_groups_are_made_in_parts(rng: Rng, handle: pymluops.Handle) -> None:
    """More than 500 terms of one sign: in parts the mean error is 0.05e-6, in one sum 0.14e-6."""
    shape = Shape(1, 23, 23, 8, 45, 8, 1)
    x, m, _ = (np.abs(t) for t in shape.tensors(rng, np.float32))
    expected = reference.carafe_forward(x, m, 45, 8, 1)
    error = np.abs(forward(shape, x, m, handle=handle) - expected)
    assert error.sum() <= 1e-7 * expected.sum()


@pytest.mark.parametrize(
    ("c", "k", "g", "s"),
    [
        *((c, k, g, 16) for c, k, g in ((4, 9, 1), (20, 9, 1), (2, 7, 8))),
        *((20, 5, 1, 30), (8, 5, 1, 50), (20, 3, 1, 80), (2, 1, 8, 50), (4, 1, 1, 200)),
    ],
)
def test_many_pixels_of_a_window_stay_accurate(
    c: int, k: int, g: int, s: int, rng: Rng, handle: pymluops.Handle
) -> None:
    """Thousands of terms in a sum of grad_input, up to 60,000: of both signs, and of one.

    Terms of both signs may cancel. The error is compared with what such sums are by expectation:
    the root of the sum of the squares.
    """
    shape = Shape(1, k, k + 1, c, k, g, s)
    x, m, go = shape.tensors(rng, np.float32)
    for weights, gradient in ((m, go), (np.abs(m), np.abs(go))):
        grad_input = backward(shape, x, weights, gradient, handle=handle)[0]
        expected = reference.carafe_backward(x, weights, gradient, k, g, s)[0]
        if weights is m:
            squares = reference.carafe_backward(x, np.square(m), np.square(go), k, g, s)[0]
            error = np.abs(grad_input.astype(np.float64) - expected)
            # Of a normal distribution, the mean of the absolute value is 0.8 times the root.
            assert error.sum() <= 1e-6 * 0.8 * np.sqrt(squares).sum()
            assert np.square(error).sum() <= 1e-12 * squares.sum()
        else:
            assert_close(grad_input, expected, 1e-6)

# SPDX-License-Identifier: Apache-2.0
"""BorderAlign with hostile data, and with very many steps."""

from collections.abc import Callable

import guard
import numpy as np
import pytest
from border_align_calls import (
    FLOAT_BAR,
    HALF_BAR,
    Array,
    backward,
    check_accuracy,
    forward,
    random_boxes,
    random_map,
    same,
)

import pymluops
from pymluops.reference import border_align as reference

# -------------------------------------------------------------------------------- hostile data

HOSTILE = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38, -3e38, -1, -1.0000001, 1e-42, 0, 0.5, 3, 4]


@pytest.mark.parametrize("place", guard.BOTH)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_any_box_is_safe(
    handle: pymluops.Handle, rng: np.random.Generator, dtype: type, place: Callable[[Array], Array]
) -> None:
    for channels in (1, 7, 16, 37):
        x = place(random_map(rng, 2, 3, 4, 4 * channels).astype(dtype))
        with np.errstate(over="ignore"):
            boxes = place(rng.choice(HOSTILE, (2, 12, 4)).astype(dtype))
        results = [place(np.zeros((2, 12, 4, channels), t)) for t in (dtype, np.int32)]
        output, argmax = pymluops.border_align_forward(
            x, boxes, pool_size=6, out=(results[0], results[1]), handle=handle
        )
        expected, expected_argmax = reference.border_align_forward(x, boxes, 6)
        assert same(output, expected.astype(dtype))
        assert np.array_equal(argmax, expected_argmax)
        grad = place(rng.standard_normal(output.shape).astype(dtype))
        got = place(np.zeros(x.shape, dtype))
        pymluops.border_align_backward(
            grad, boxes, argmax, pool_size=6, height=3, width=4, out=got, handle=handle
        )
        expected = reference.border_align_backward(grad, boxes, argmax, 6, 3, 4)
        check_accuracy(got, expected, FLOAT_BAR if dtype == np.float32 else HALF_BAR)


@pytest.mark.parametrize("value", [-1, 11, np.iinfo(np.int32).max, np.iinfo(np.int32).min])
def test_argmax_that_is_no_step_is_refused(handle: pymluops.Handle, value: int) -> None:
    grad = np.ones((2, 6, 4, 19), np.float32)
    argmax = np.zeros(grad.shape, np.int32)
    argmax[1, 4, 2, 17] = argmax[1, 5, 0, 0] = value
    out = np.full((2, 2, 3, 4 * 19), 7, np.float32)
    with pytest.raises(pymluops.BadParamError) as error:
        pymluops.border_align_backward(
            grad,
            np.zeros((2, 6, 4), np.float32),
            argmax,
            pool_size=10,
            height=2,
            width=3,
            out=out,
            handle=handle,
        )
    assert f"argmax_idx[1, 4, 2, 17] is {value}, expected 0 to 10 (pool_size)" in str(error.value)
    assert (out == 7).all()


def value_at_step(x: Array, boxes: Array, pool_size: int, steps: Array) -> Array:
    """The samples of the given steps, whose points are reached one addition at a time."""
    at_x, at_y, dx, dy = (
        np.broadcast_to(a[..., None], steps.shape)
        for a in reference.border_start_and_stride(boxes, pool_size)
    )
    for step in range(1, int(steps.max()) + 1):
        at_x = np.where(step <= steps, at_x + dx, at_x)
        at_y = np.where(step <= steps, at_y + dy, at_y)
    n, height, width, _ = x.shape
    inside, corners = reference._corners(at_y, at_x, height, width)
    pixels = x.reshape(n, height * width, 4, -1)
    image, _, border, channel = np.indices(steps.shape)
    terms = [weight * pixels[image, pixel, border, channel] for pixel, weight in corners]
    value = terms[0] + terms[1] + terms[2] + terms[3]
    return np.where(inside, value, np.float32(0))


@pytest.mark.parametrize("pool_size", [4096, 4097])
def test_points_of_many_steps_have_the_same_bits(
    handle: pymluops.Handle, rng: np.random.Generator, pool_size: int
) -> None:
    """On a map of 0 and 1 by turns, the largest value is exactly where a step comes nearest to 1.

    Each border crosses many pixels, and several powers of two.
    """
    for height, width in ((1, 70), (70, 1)):
        x = np.zeros((1, height, width, 4), np.float32)
        x.reshape(70, 4)[1::2] = 1
        x *= rng.uniform(0.5, 2, (1, height, width, 1)).astype(np.float32)
        boxes = random_boxes(rng, 1, height, width).astype(np.float32)
        output, _ = forward(x, boxes, pool_size, handle)
        assert np.array_equal(output, reference.border_align_forward(x, boxes, pool_size)[0])


@pytest.mark.parametrize("pool_size", [4096, 9000])
def test_many_steps(handle: pymluops.Handle, rng: np.random.Generator, pool_size: int) -> None:
    """Up to 4096 every step counts; beyond, the chosen one reaches the maximum up to rounding."""
    x = rng.standard_normal((1, 2, 5, 8)).astype(np.float32)
    boxes = random_boxes(rng, 1, 2, 5).astype(np.float32)
    output, argmax = forward(x, boxes, pool_size, handle)
    expected, expected_argmax = reference.border_align_forward(x, boxes, pool_size)
    if pool_size <= 4096:
        assert np.array_equal(argmax, expected_argmax)
        assert np.array_equal(output, expected)
    assert output == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(output, value_at_step(x, boxes, pool_size, argmax))
    grad = np.ones_like(output)
    got = backward(grad, boxes, argmax, pool_size, x.shape, handle)
    expected = reference.border_align_backward(grad, boxes, argmax, pool_size, 2, 5)
    check_accuracy(got, expected, FLOAT_BAR)


def test_time_does_not_grow_with_the_pool_size(handle: pymluops.Handle) -> None:
    """2^31 - 1 steps one by one would take minutes."""
    largest = 2**31 - 1
    x = np.arange(3 * 50 * 4, dtype=np.float32).reshape(1, 3, 50, 4)
    boxes = np.zeros((1, 150, 4), np.float32)
    boxes[0, :, 2] = np.linspace(0.5, 49, 150)
    boxes[0, 1] = [-1e30, 0, 1e30, 2]
    boxes[0, 2] = [-1, 0, 0.5, 2]
    output, argmax = forward(x, boxes, largest, handle)
    assert (argmax >= 0).all()
    assert np.isfinite(output).all()
    grad = np.ones_like(output)
    assert np.isfinite(backward(grad, boxes, argmax, largest, x.shape, handle)).all()

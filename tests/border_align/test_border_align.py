# SPDX-License-Identifier: Apache-2.0
"""BorderAlign against its reference, by hand where small."""

from collections.abc import Callable

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

# ---------------------------------------------------------------------------------- by hand

WORKED_BOXES = """0 0 2 1 / 1 0 3 1 / 1 0 2 1 / 0 0 3 1 / 0 0 1 2 / 0 0 2 2 / 1 0 2 1 /
    1 0 3 1 / 0 1 1 2 / 0 0 3 2 / 1 0 3 2 / 2 0 3 2"""
WORKED_GRADIENT = """3 6 1 2 / 4 7 -1 1 / 3 7 1 2 / 4 6 -1 1 / 2 12 -1 -1 / 3 12 -1 2 / 3 7 1 2 /
    4 7 -1 1 / 6 12 -1 -2 / 4 12 -1 1 / 4 9 -1 1 / 4 11 -1 1"""
WORKED_ARGMAX = [[1, 0, 0, 1]] * 4 + [[1, 1, 0, 1]] * 2 + [[1, 0, 0, 1]] * 2 + [[1, 1, 0, 0]]
WORKED_ARGMAX += [[1, 1, 0, 1]] * 3
WORKED_RESULT = [
    [[0, 2, 12, 24], [0, 6, 0, 0], [0, 0, 0, 0]],
    [[12, 28, 0, 0], [0, 0, 0, 0], [48, 9, 11, 0]],
    [[0, 0, 0, 0], [0, 0, 3, -3], [0, -2, -1, -3]],
    [[0, -1, 8, 6], [0, 0, 0, 0], [0, -2, 0, 0]],
]


def table(text: str) -> list[list[int]]:
    return [[int(word) for word in row.split()] for row in text.split("/")]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_worked_example(handle: pymluops.Handle, dtype: type) -> None:
    grad = np.array(table(WORKED_GRADIENT), dtype).reshape(1, 12, 4, 1)
    boxes = np.array(table(WORKED_BOXES), dtype).reshape(1, 12, 4)
    argmax = np.array(WORKED_ARGMAX, np.int32).reshape(1, 12, 4, 1)
    got = backward(grad, boxes, argmax, 1, (1, 3, 4), handle)
    assert np.array_equal(np.moveaxis(got[0], -1, 0), np.array(WORKED_RESULT))


def test_each_border_looks_at_its_own_channels(handle: pymluops.Handle) -> None:
    x = np.arange(2 * 3 * 4, dtype=np.float32).reshape(1, 2, 3, 4)
    boxes = np.zeros((1, 6, 4), np.float32)
    boxes[0, 0] = [0, 0, 2, 1]
    output, argmax = forward(x, boxes, 2, handle)
    # Pixels (y, x) from (0, 0): right to (0, 2), down to (1, 0); from (1, 2): to (1, 0), to (0, 2).
    assert output[0, 0, :, 0].tolist() == [8, 13, 22, 23]
    assert argmax[0, 0, :, 0].tolist() == [2, 2, 0, 0]


def test_value_between_pixels(handle: pymluops.Handle) -> None:
    x = np.zeros((1, 2, 2, 4), np.float32)
    x[0, :, :, 0] = [[1, 2], [4, 8]]
    boxes = np.full((1, 4, 4), 0.0, np.float32)
    boxes[0, 0] = [0.25, 0.5, 0.25, 0.5]
    output, _ = forward(x, boxes, 1, handle)
    assert output[0, 0, 0, 0] == 0.5 * (0.75 * 1 + 0.25 * 2) + 0.5 * (0.75 * 4 + 0.25 * 8)


def test_outside_is_a_candidate_of_value_zero(handle: pymluops.Handle) -> None:
    x = np.full((1, 1, 4, 4), -3, np.float32)
    boxes = np.zeros((1, 4, 4), np.float32)
    boxes[0, 0] = [0, 0, 8, 0]  # steps at 0, 2, 4, 6, 8: the third is the last inside
    boxes[0, 1] = [-4, 0, 4, 0]  # steps at -4, -2, 0, 2, 4
    boxes[0, 2] = [0, 5, 3, 5]  # all outside
    output, argmax = forward(x, boxes, 4, handle)
    assert output[0, :3, 0, 0].tolist() == [0, 0, 0]
    assert argmax[0, :3, 0, 0].tolist() == [3, 0, 0]
    x[...] = 5
    output, argmax = forward(x, boxes, 4, handle)
    assert output[0, :3, 0, 0].tolist() == [5, 5, 0]
    assert argmax[0, :3, 0, 0].tolist() == [0, 2, 0]


def test_the_first_of_equals_wins(handle: pymluops.Handle) -> None:
    x = np.zeros((1, 1, 5, 4), np.float32)
    x[0, 0, :, 0] = [1, 7, 2, 7, 7]
    boxes = np.zeros((1, 5, 4), np.float32)
    boxes[0, 0] = [0, 0, 4, 0]
    output, argmax = forward(x, boxes, 4, handle)
    assert (output[0, 0, 0, 0], argmax[0, 0, 0, 0]) == (7, 1)


def test_nan_stays_only_at_the_first_step(handle: pymluops.Handle) -> None:
    x = np.zeros((1, 1, 5, 4), np.float32)
    x[0, 0, :, 0] = [np.nan, 9, 9, 9, 9]
    x[0, 0, :, 2] = [1, 2, np.nan, -1, -1]  # the bottom border starts at the other end
    boxes = np.zeros((1, 5, 4), np.float32)
    boxes[0, 0] = [0, 0, 4, 0]
    output, argmax = forward(x, boxes, 4, handle)
    assert np.isnan(output[0, 0, 0, 0])
    assert argmax[0, 0, 0, 0] == 0
    # From the other end: -1, -1, NaN, NaN (0 times the NaN of the next pixel), 1.
    assert (output[0, 0, 2, 0], argmax[0, 0, 2, 0]) == (1, 4)


@pytest.mark.parametrize("pool_size", [1, 65, 5000])
def test_the_last_pixel_has_no_neighbour(handle: pymluops.Handle, pool_size: int) -> None:
    x = np.full((1, 3, 3, 4 * 20), np.inf, np.float32)
    x[0, 2, 2] = 5
    boxes = np.full((1, 9, 4), 2.5, np.float32)
    output, argmax = forward(x, boxes, pool_size, handle)
    assert (output == 5).all()
    assert not argmax.any()


# ----------------------------------------------------------------------- against the reference

CHANNELS = [1, 3, 4, 7, 8, 15, 16, 17, 33, 128, 145]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("pool_size", [1, 2, 10, 15, 16, 40, 64, 65])
def test_equals_reference(
    handle: pymluops.Handle, rng: np.random.Generator, dtype: type, pool_size: int
) -> None:
    for channels in rng.choice(CHANNELS, 4, replace=False):
        n, height, width = (int(v) for v in rng.integers(1, [4, 9, 12]))
        x = random_map(rng, n, height, width, 4 * channels).astype(dtype)
        boxes = random_boxes(rng, n, height, width).astype(dtype)
        output, argmax = forward(x, boxes, pool_size, handle)
        expected, expected_argmax = reference.border_align_forward(x, boxes, pool_size)
        assert np.array_equal(argmax, expected_argmax)
        assert same(output, expected.astype(dtype))

        grad = rng.standard_normal(output.shape).astype(dtype)
        chosen = rng.integers(0, pool_size + 1, argmax.shape).astype(np.int32)
        chosen = np.where(rng.random(argmax.shape) < 0.5, chosen, argmax)
        got = backward(grad, boxes, chosen, pool_size, x.shape, handle)
        expected = reference.border_align_backward(grad, boxes, chosen, pool_size, height, width)
        check_accuracy(got, expected, FLOAT_BAR if dtype == np.float32 else HALF_BAR)


@pytest.mark.parametrize("pool_size", [1, 7, 64, 65])
@pytest.mark.parametrize("count", [1, 3, 15, 16, 17, 40])
def test_borders_of_all_sorts_stand_side_by_side(
    handle: pymluops.Handle, rng: np.random.Generator, count: int, pool_size: int
) -> None:
    """Points, and borders that enter, leave or miss the map, all on one line."""
    sorts = [(0.5, 0.5), (-3, -2), (-2, 2), (1, 90), (-9, 90), (90, -9), (-1, -1), (np.nan, 1)]
    ends = rng.permutation(np.resize(np.array(sorts), (count, 2)))
    boxes = np.zeros((1, count, 4), np.float32)
    boxes[0, :, 0::2] = ends
    x = random_map(rng, 1, 1, count, 4 * 5).astype(np.float32) - 1
    output, argmax = forward(x, boxes, pool_size, handle)
    expected, expected_argmax = reference.border_align_forward(x, boxes, pool_size)
    assert np.array_equal(argmax, expected_argmax)
    assert same(output, expected)


def test_the_forward_adds_steps_one_by_one(handle: pymluops.Handle) -> None:
    # Ten times fl(0.1) is not 1 in float32 sums: the last point of 0..1 lies behind pixel 1.
    x = np.zeros((1, 1, 4, 4), np.float32)
    x[0, 0, :, 0] = [0, 1, 2, 0]
    boxes = np.zeros((1, 4, 4), np.float32)
    boxes[0, 0] = [0, 0, 1, 0]
    at = np.float32(0)
    for _ in range(10):
        at += np.float32(1) / np.float32(10)
    assert at > 1
    output, argmax = forward(x, boxes, 10, handle)
    assert (output[0, 0, 0, 0], argmax[0, 0, 0, 0]) == (at, 10)
    # The backward multiplies: its last point is pixel 1 itself.
    grad = np.zeros((1, 4, 4, 1), np.float32)
    grad[0, 0, 0] = 1
    chosen = np.full(grad.shape, 10, np.int32)
    got = backward(grad, boxes, chosen, 10, x.shape, handle)
    assert got[0, 0, :, 0].tolist() == [0, 1, 0, 0]


def test_half_is_rounded_once(handle: pymluops.Handle) -> None:
    # Three gradients that would each be lost if a sum were rounded to half in between.
    boxes = np.zeros((1, 4, 4), np.float16)
    grad = np.zeros((1, 4, 4, 1), np.float16)
    grad[0, :, 0, 0] = [2048, 1, 1, 1]
    argmax = np.zeros(grad.shape, np.int32)
    got = backward(grad, boxes, argmax, 1, (1, 2, 2), handle)
    assert got[0, 0, 0, 0] == np.float16(2051)


@pytest.mark.parametrize("channels", [3, 16])
@pytest.mark.parametrize("pool_size", [1, 40])
def test_sums_of_many_borders_keep_their_digits(
    handle: pymluops.Handle, rng: np.random.Generator, pool_size: int, channels: int
) -> None:
    """All boxes of a map are the same, as those of padding are: thousands of terms in a sum."""
    height, width = 70, 80
    boxes = np.zeros((1, height * width, 4), np.float32)
    boxes[...] = [3.25, 4.5, 9.75, 6.5]
    grad = rng.random((1, height * width, 4, channels), dtype=np.float32)
    argmax = rng.integers(0, pool_size + 1, grad.shape).astype(np.int32)
    got = backward(grad, boxes, argmax, pool_size, (1, height, width), handle)
    expected = reference.border_align_backward(grad, boxes, argmax, pool_size, height, width)
    check_accuracy(got, expected, 2e-7)  # 7e-7 if they were added up one by one


@pytest.mark.parametrize("shape", [(1, 300, 290, 3), (1, 300, 290, 2), (2, 2, 400, 15)])
def test_few_channels_of_large_maps(
    handle: pymluops.Handle, rng: np.random.Generator, shape: tuple[int, int, int, int]
) -> None:
    """With more sums than a cache holds, and with fewer."""
    n, height, width, channels = shape
    boxes = random_boxes(rng, n, height, width).astype(np.float32)
    grad = rng.standard_normal((n, height * width, 4, channels), dtype=np.float32)
    argmax = rng.integers(0, 5, grad.shape).astype(np.int32)
    got = backward(grad, boxes, argmax, 4, shape, handle)
    expected = reference.border_align_backward(grad, boxes, argmax, 4, height, width)
    check_accuracy(got, expected, FLOAT_BAR)


@pytest.mark.parametrize("channels", [5, 64, 600])
@pytest.mark.parametrize("n", [1, 2])
def test_threads_change_nothing(
    rng: np.random.Generator,
    handle: pymluops.Handle,
    for_each_thread_count: Callable[[Callable[[], object]], list],
    channels: int,
    n: int,
) -> None:
    """Also more threads than lists of borders: 4 for each image."""
    x = rng.standard_normal((n, 21, 30, 4 * channels), dtype=np.float32)
    boxes = random_boxes(rng, n, 21, 30).astype(np.float32)
    grad = rng.standard_normal((n, 630, 4, channels), dtype=np.float32)

    def run() -> tuple[Array, Array, Array]:
        output, argmax = forward(x, boxes, 10, handle)
        return output, argmax, backward(grad, boxes, argmax, 10, x.shape, handle)

    first, *others = for_each_thread_count(run)
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert a.tobytes() == b.tobytes()


# --------------------------------------------------------------------------------- gradients


def test_gradient_is_that_of_the_forward(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    """Finite differences: the forward is piecewise linear in the map.

    All points stay away from the map's limits, where a value jumps to 0.
    """
    x = rng.standard_normal((1, 4, 5, 8)).astype(np.float32)
    boxes = random_boxes(rng, 1, 4, 5).clip(-0.5, 3.5).astype(np.float32)
    output, argmax = forward(x, boxes, 7, handle)
    grad = rng.standard_normal(output.shape).astype(np.float32)
    got = backward(grad, boxes, argmax, 7, x.shape, handle).astype(np.float64)
    step = 2.0**-10
    for index in rng.integers(0, x.size, 40):
        values = []
        for sign in (1, -1):
            moved = x.copy()
            moved.reshape(-1)[index] += np.float32(sign * step)
            out, chosen = forward(moved, boxes, 7, handle)
            if not np.array_equal(chosen, argmax):
                break
            values.append((out.astype(np.float64) * grad).sum())
        else:
            slope = (values[0] - values[1]) / (2 * step)
            assert slope == pytest.approx(got.reshape(-1)[index], abs=3e-3)


@pytest.mark.parametrize("channels", [1, 20])
def test_gradients_outside_touch_nothing(handle: pymluops.Handle, channels: int) -> None:
    boxes = np.zeros((1, 12, 4), np.float32)
    boxes[0, :, :] = [-5, -5, -2, -2]
    grad = np.full((1, 12, 4, channels), np.nan, np.float32)
    got = backward(grad, boxes, np.zeros(grad.shape, np.int32), 3, (1, 3, 4), handle)
    assert not got.any()


@pytest.mark.parametrize("channels", [1, 40])
def test_a_weight_of_zero_passes_nothing_on(handle: pymluops.Handle, channels: int) -> None:
    boxes = np.full((1, 9, 4), -9, np.float32)
    boxes[0, 4] = [1, 1, 2, 2]
    grad = np.full((1, 9, 4, channels), np.inf, np.float32)
    got = backward(grad, boxes, np.zeros(grad.shape, np.int32), 2, (1, 3, 3), handle)
    expected = np.zeros((1, 3, 3, 4, channels), np.float32)
    expected[0, 1, 1, :2] = np.inf
    expected[0, 2, 2, 2:] = np.inf
    assert np.array_equal(got, expected.reshape(1, 3, 3, -1))

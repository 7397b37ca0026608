# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling against its reference, by hand where small."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from deform_roi_pool_calls import (
    FLOAT_BAR,
    GIVEN,
    HALF_BAR,
    RAMP,
    Array,
    Call,
    as_half,
    bits,
    check_accuracy,
    check_call,
    random_call,
    random_rois,
)

import pymluops

# ---------------------------------------------------------------------------------- by hand


def test_one_sample_between_four_pixels(handle: pymluops.Handle) -> None:
    # The RoI is [1, 3] x [1, 2] on the map, its only sample (x, y) = (2, 1.5).
    rois = np.float32([[0, 1.5, 1.5, 3.5, 2.5]])
    call = Call(RAMP, rois, pooled=(1, 1), scale=1.0, ratio=1)
    assert call.forward(handle).tolist() == [[[[5 * 1.5 + 2]]]]
    grad_input, _ = call.backward(handle, np.float32([[[[8]]]]))
    expected = np.zeros((4, 5))
    expected[1, 2] = expected[2, 2] = 4
    assert np.array_equal(grad_input[0, :, :, 0], expected)


def test_offsets_move_bins_by_the_size_of_the_roi(handle: pymluops.Handle) -> None:
    rois = np.float32([[0, 0.5, 0.5, 2.5, 1.5]])  # 2 x 1 pixels, the sample is at (1, 0.5)
    offset = np.float32([0.5, 1.0]).reshape(1, 2, 1, 1)
    call = Call(RAMP, rois, offset, (1, 1), 1.0, 1, gamma=0.5)
    assert call.forward(handle).tolist() == [[[[5 * (0.5 + 0.5) + (1 + 0.5)]]]]
    _, grad_offset = call.backward(handle, np.float32([[[[1]]]]))
    # The slopes are 1 along x and 5 along y; the steps gamma * 2 and gamma * 1.
    assert grad_offset.reshape(2).tolist() == [1.0, 2.5]


def test_samples_outside_count_in_the_divisor(handle: pymluops.Handle) -> None:
    # Samples at x = -1.5, -0.5, 0.5 and 1.5 of a map of ones: three are inside.
    rois = np.float32([[0, -1.5, 0.5, 2.5, 1.5]])
    call = Call(np.ones((1, 3, 3, 2), np.float32), rois, pooled=(1, 1), scale=1.0)
    assert call.forward(handle).tolist() == [[[[0.75, 0.75]]]]


@pytest.mark.parametrize("at", [-1.0, 5.0])
def test_limits_belong_to_the_inside(at: float, handle: pymluops.Handle) -> None:
    rois = np.float32([[0, at + 0.5, 2.5, at + 0.5, 2.5]])
    call = Call(RAMP, rois, pooled=(1, 1), scale=1.0, ratio=1)
    assert call.forward(handle).item() == (10 if at < 0 else 14)
    beyond = np.nextafter(np.float32(at), np.float32(at * 2))
    x = np.float32(np.nextafter(np.float32(at + 0.5), np.float32(at * 2)))
    if x - np.float32(0.5) == beyond:  # the RoI can name the next coordinate
        outside = replace(call, rois=np.float32([[0, x, 2.5, x, 2.5]]))
        assert outside.forward(handle).item() == 0


def test_roi_images_are_truncated(handle: pymluops.Handle) -> None:
    x = np.float32([1, 2]).reshape(2, 1, 1, 1)
    rois = np.float32([[image, 0.5, 0.5, 0.5, 0.5] for image in (-0.9, 0.9, 1.9)])
    call = Call(x, rois, pooled=(1, 1), scale=1.0, ratio=1)
    assert call.forward(handle).reshape(-1).tolist() == [1, 1, 2]


def test_empty_and_inverted_rois(handle: pymluops.Handle) -> None:
    rois = np.float32([[0, 3.5, 3.5, 1.5, 1.5], [0, 2.5, 2.5, 2.5, 2.5]])
    adaptive = Call(RAMP, rois, pooled=(2, 2), scale=1.0)
    assert not adaptive.forward(handle).any()
    sampled = replace(adaptive, ratio=1)
    # The inverted RoI runs from (3, 3) to (1, 1), its samples are at 2.5 and 1.5.
    assert sampled.forward(handle)[0, :, :, 0].tolist() == [[15, 14], [10, 9]]
    assert (sampled.forward(handle)[1] == 12).all()


# -------------------------------------------------------------------------------- reference

SHAPES = [(1, 1, 1, 1), (2, 9, 7, 3), (1, 20, 33, 16), (3, 5, 40, 17), (1, 12, 11, 70)]
SHAPES += [(1, 6, 6, 256), (1, 5, 7, 1100)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ratio", [0, 1, 2, 5])
@pytest.mark.parametrize("offset", [None, GIVEN], ids=["plain", "offset"])
def test_agrees_with_the_reference(
    shape: tuple,
    ratio: int,
    offset: Array | None,
    handle: pymluops.Handle,
    rng: np.random.Generator,
) -> None:
    call = random_call(rng, shape, 6, ratio=ratio, offset=offset)
    check_call(call, handle, rng, FLOAT_BAR)
    check_call(as_half(call), handle, rng, HALF_BAR)


def test_many_bins_in_the_order_of_the_map(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    call = random_call(rng, (2, 40, 80, 96), 300, pooled=(2, 3), ratio=2, offset=GIVEN)
    check_call(call, handle, rng, FLOAT_BAR)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_a_region_does_not_depend_on_the_others(
    half: bool,
    near_and_past: tuple[pymluops.Handle, pymluops.Handle],
    rng: np.random.Generator,
) -> None:
    # More than caches hold, all of it needed: strips, prefetched rows, results past the caches.
    x = rng.standard_normal((2, 40, 150, 96), np.float32)
    corner = rng.uniform(-5, 1, (200, 2)) + rng.random((200, 2)) * [140, 30]
    rois = np.c_[np.repeat([0, 1], 100), corner, corner + rng.uniform(5, 20, (200, 2))]
    call = Call(x, rois.astype(np.float32), pooled=(7, 7), scale=1.0, ratio=2)
    call = as_half(call) if half else call
    near, past = near_and_past
    few = [replace(call, rois=call.rois[i : i + 20]).forward(near) for i in range(0, 200, 20)]
    for threads in (1, 2, 5):
        past.num_threads = threads
        assert np.array_equal(call.forward(past), np.concatenate(few))


# By how many bins touch a pixel, how large the map is, and how large a bin is.
WAYS = {
    "few RoIs on a large map": {"shape": (1, 64, 96, 48), "rois": 3, "ratio": 2},
    "many RoIs on a small map": {"shape": (1, 9, 11, 20), "rois": 300, "ratio": 0},
    "few channels": {"shape": (2, 20, 30, 3), "rois": 100, "ratio": 0},
    "one channel": {"shape": (2, 40, 150, 1), "rois": 60, "ratio": 2},
    "one channel, few RoIs": {"shape": (1, 90, 150, 1), "rois": 3, "ratio": 2},
    "two rows": {"shape": (1, 2, 300, 5), "rois": 30, "ratio": 2},
    "two columns": {"shape": (1, 300, 2, 130), "rois": 30, "ratio": 2},
    "the most of few channels": {"shape": (1, 64, 96, 127), "rois": 40, "ratio": 0},
    "no longer few channels": {"shape": (1, 64, 96, 128), "rois": 40, "ratio": 0},
    "bins of many tiles": {"shape": (1, 60, 70, 512), "rois": 20, "ratio": 0, "pooled": (1, 1)},
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_of_the_backward(way: str, handle: pymluops.Handle, rng: np.random.Generator) -> None:
    call = random_call(rng, offset=GIVEN, **WAYS[way])
    check_call(call, handle, rng, FLOAT_BAR)
    check_call(as_half(call), handle, rng, HALF_BAR)
    check_call(replace(call, offset=None), handle, rng, FLOAT_BAR)


def test_a_large_bin_of_a_larger_map(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    """It is sorted by pixel, though most pixels of the map have nothing."""
    call = random_call(rng, (1, 64, 64, 128), 1, pooled=(1, 1), scale=1.0, offset=GIVEN)
    call = replace(call, rois=np.array([[0, 9, 13, 50, 54]], np.float32))
    check_call(call, handle, rng, FLOAT_BAR)
    check_call(as_half(call), handle, rng, HALF_BAR)


@pytest.mark.parametrize("ratio", [1, 0])
@pytest.mark.parametrize("offset", [None, GIVEN], ids=["plain", "offset"])
def test_bins_of_the_whole_map_among_very_many(
    ratio: int,
    offset: Array | None,
    for_each_thread_count: Callable[[Callable[[], object]], list],
    handle: pymluops.Handle,
    rng: np.random.Generator,
) -> None:
    """Their gradients go everywhere, and lists of bins for parts of the map have no room for it."""
    call = random_call(rng, (2, 100, 90, 8), 2200, pooled=(1, 1), scale=1.0, offset=offset)
    corner = call.rois[:, 1:3]
    rois = np.c_[call.rois[:, :1], corner, corner + rng.uniform(0, 4, corner.shape)]
    rois[::500, 1:] = [-1, -2, 91, 99]
    call = replace(call, rois=rois.astype(np.float32), ratio=ratio)
    grad = rng.uniform(0.5, 1.5, (2200, 1, 1, 8)).astype(np.float32)
    first, *others = for_each_thread_count(lambda: call.backward(handle, grad))
    assert all(bits(other) == bits(first) for other in others)
    for got, expected in zip(first, call.expected_gradients(grad), strict=True):
        if expected is not None:
            check_accuracy(got, expected, FLOAT_BAR)


def test_rounding_does_not_grow_with_the_bins(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    call = random_call(rng, (1, 2, 2, 4), 400, pooled=(7, 7), ratio=1)
    grad = rng.uniform(0.5, 1.5, (400, 7, 7, 4)).astype(np.float32)
    check_accuracy(call.backward(handle, grad)[0], call.expected_gradients(grad)[0], 2e-7)


def test_slopes_of_the_rim_reach_its_neighbour(handle: pymluops.Handle) -> None:
    # A sample at x = -0.5 is clamped to column 0, but its slope runs from column 0 to 1. So many
    # channels make tiles of one column, and so many RoIs are summed by tiles.
    x = np.zeros((1, 2, 30, 5000), np.float32)
    x[:, :, 1] = 1
    rois = np.float32([[0, -0.5, 0.5, 0.5, 0.5]] * 60)
    offset = np.zeros((60, 2, 1, 1), np.float32)
    call = Call(x, rois, offset, pooled=(1, 1), scale=1.0, ratio=1, gamma=1.0)
    _, grad_offset = call.backward(handle, np.ones((60, 1, 1, 5000), np.float32))
    assert grad_offset.reshape(60, 2).tolist() == [[5000, 0]] * 60


@pytest.mark.parametrize("ratio", [40, 700, 3000, 200_000])
def test_many_samples_per_pixel(
    ratio: int, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    # A constant along one axis: the reference then needs samples along the other only.
    values = rng.standard_normal(300).astype(np.float32)
    rois = np.float32([[0, 3, 0, 290, 0], [0, 250, 0, 251, 0], [0, 260, 0, 260.01, 0]])
    x = np.broadcast_to(values[None, None, :, None], (1, 2, 300, 1)).copy()
    call = Call(x, rois, pooled=(1, 3), scale=1.0, ratio=ratio)
    expected = np.empty((3, 1, 3, 1))
    for r, roi in enumerate(rois):
        start, size = roi[1] - np.float32(0.5), roi[3] - roi[1]
        step = (np.arange(ratio, dtype=np.float32) + np.float32(0.5)) * (size / np.float32(3))
        for pw in range(3):
            at = start + np.float32(pw) * (size / np.float32(3)) + step / np.float32(ratio)
            expected[r, 0, pw, 0] = np.interp(at.astype(np.float64), np.arange(300), values).mean()
    check_accuracy(call.forward(handle), expected, FLOAT_BAR)


def test_many_samples_at_the_rim_and_backwards(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    """Bins that begin before the map, end behind it, or are inverted; all far smaller than it."""
    ends = [(-0.9, 0.8), (-2, 0.5), (5.5, 7.5), (6.2, 6.9), (0.7, -0.6), (7.3, 5.1), (3.1, 2.9)]
    rois = np.float32([[0, a, b, c, d] for (a, c), (b, d) in zip(ends, ends[::-1], strict=True)])
    rois[:, 1:] += 0.5
    call = Call(
        rng.uniform(0.5, 1.5, (1, 7, 7, 3)).astype(np.float32),
        rois,
        rng.uniform(-0.1, 0.1, (len(rois), 2, 1, 1)).astype(np.float32),
        pooled=(1, 1),
        scale=1.0,
        ratio=700,
    )
    check_call(call, handle, rng, FLOAT_BAR)


def test_sample_positions_have_the_same_bits(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    # On a ramp along x a bin of one sample is its coordinate, here exact in float32.
    x = np.tile(np.float32([0, 1]), 64).reshape(1, 1, 128, 1)
    rois = random_rois(rng, (1, 1, 128, 1), 400, 1.0).astype(np.float32)
    rois[:, 0] = 0
    rois[:, 2::2] = 0.5
    call = Call(x, rois, pooled=(1, 3), scale=1.0, ratio=1)
    assert np.array_equal(call.forward(handle), call.expected().astype(np.float32))


# -------------------------------------------------------------------------------- gradients


def test_gradients_are_those_of_the_forward(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    """Differences of the reference, with coordinates that stay inside the map."""
    call = random_call(rng, (1, 30, 30, 5), 4, pooled=(2, 2), scale=1.0, ratio=2, offset=GIVEN)
    low = rng.uniform(8, 12, (4, 2))
    call = replace(call, rois=np.float32(np.c_[np.zeros(4), low, low + rng.uniform(5, 9, (4, 2))]))
    # Linear in x and y: differences are exact, and no step crosses a kink.
    ramps = np.add.outer(np.arange(30.0), 3 * np.arange(30.0))[None, ..., None]
    call = replace(call, x=np.float32(ramps * [1, 2, -1, 0.5, 3]))
    grad = rng.standard_normal((4, 2, 2, 5)).astype(np.float32)
    _, grad_offset = call.backward(handle, grad)
    for axis in range(2):
        moved = []
        for step in (-0.25, 0.25):
            offset = call.offset.copy()
            offset[:, axis] += np.float32(step)
            moved.append(replace(call, offset=offset).expected())
        slope = ((moved[1] - moved[0]) * grad).sum(3) / 0.5
        np.testing.assert_allclose(grad_offset[:, axis], slope, rtol=2e-4, atol=2e-4)

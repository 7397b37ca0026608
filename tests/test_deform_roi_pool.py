# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling against its reference, by hand where small, and with hostile data."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import guard
import numpy as np
import pytest

import pymluops
from pymluops.reference import deform_roi_pool as reference

FLOAT_BAR, HALF_BAR = 1e-6, 5e-4
Array = np.ndarray


@dataclass(frozen=True)
class Call:
    """The arguments of the forward; the gradient of its result makes those of the backward."""

    x: Array
    rois: Array
    offset: Array | None = None
    pooled: tuple[int, int] = (2, 3)
    scale: float = 0.5
    ratio: int = 0
    gamma: float = 0.1

    def forward(self, handle: pymluops.Handle, out: Array | None = None) -> Array:
        return pymluops.deform_roi_pool_forward(
            self.x, self.rois, self.offset, **self._numbers(), out=out, handle=handle
        )

    def backward(self, handle: pymluops.Handle, grad: Array) -> tuple[Array, Array | None]:
        return pymluops.deform_roi_pool_backward(
            grad, self.x, self.rois, self.offset, **self._numbers(), handle=handle
        )

    def expected(self) -> Array:
        return reference.deform_roi_pool_forward(self.x, self.rois, self.offset, *self._values())

    def expected_gradients(self, grad: Array) -> tuple[Array, Array | None]:
        return reference.deform_roi_pool_backward(
            grad, self.x, self.rois, self.offset, *self._values()
        )

    def _values(self) -> tuple[int, int, float, int, float]:
        return (*self.pooled, self.scale, self.ratio, self.gamma)

    def _numbers(self) -> dict[str, float]:
        names = ("pooled_height", "pooled_width", "spatial_scale", "sampling_ratio", "gamma")
        return dict(zip(names, self._values(), strict=True))


def random_rois(rng: np.random.Generator, shape: tuple, count: int, scale: float) -> Array:
    """RoIs anywhere around the map; some are inverted, some have whole numbers."""
    images, height, width, _ = shape
    corner = rng.uniform(-0.3, 0.9, (count, 2)) * [width, height]
    size = rng.uniform(-0.2, 0.8, (count, 2)) * [width, height]
    rois = np.concatenate([rng.integers(0, images, (count, 1)), corner, corner + size], 1)
    rois[:, 1:] /= scale
    return np.where(rng.random(rois.shape) < 0.1, np.round(rois), rois)


def random_call(rng: np.random.Generator, shape: tuple, rois: int, **parameters: object) -> Call:
    call = Call(np.empty(0), np.empty(0), **parameters)
    offset = rng.uniform(-1, 1, (rois, 2, *call.pooled)) if call.offset is not None else None
    return replace(
        call,
        x=rng.standard_normal(shape).astype(np.float32),
        rois=random_rois(rng, shape, rois, call.scale).astype(np.float32),
        offset=None if offset is None else offset.astype(np.float32),
    )


def as_half(call: Call) -> Call:
    offset = None if call.offset is None else call.offset.astype(np.float16)
    return replace(
        call, x=call.x.astype(np.float16), rois=call.rois.astype(np.float16), offset=offset
    )


def check_accuracy(got: Array, expected: Array, bar: float) -> None:
    error = got.astype(np.float64) - expected
    assert np.abs(error).sum() <= bar * np.abs(expected).sum()
    assert np.square(error).sum() <= bar**2 * np.square(expected).sum()


def check_call(call: Call, handle: pymluops.Handle, rng: np.random.Generator, bar: float) -> None:
    got = call.forward(handle)
    check_accuracy(got, call.expected(), bar)
    # Of one sign: on a map of one pixel all of it meets in one sum, which must not cancel.
    grad = rng.uniform(0.5, 1.5, got.shape).astype(got.dtype)
    for gradient, expected in zip(
        call.backward(handle, grad), call.expected_gradients(grad), strict=True
    ):
        if expected is None:
            assert gradient is None
        else:
            check_accuracy(gradient, expected, bar)


def bits(arrays: object) -> list[bytes]:
    parts = arrays if isinstance(arrays, tuple) else (arrays,)
    return [part.tobytes() for part in parts if part is not None]


GIVEN = np.empty(0)  # stands for an offset that is to be made
RAMP = np.arange(20, dtype=np.float32).reshape(1, 4, 5, 1)


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
    for_each_thread_count: Callable[[Callable[[], object]], list],
    handle: pymluops.Handle,
    rng: np.random.Generator,
) -> None:
    # More than caches hold, all of it needed: strips, prefetched rows, results past the caches.
    shape = (2, 140, 300, 256)
    x = rng.standard_normal(shape, np.float32)
    corner = rng.uniform(-5, 1, (700, 2)) + rng.random((700, 2)) * [290, 130]
    rois = np.c_[np.repeat([0, 1], 350), corner, corner + rng.uniform(5, 40, (700, 2))]
    call = Call(x, rois.astype(np.float32), pooled=(7, 7), scale=1.0, ratio=2)
    call = as_half(call) if half else call
    for got in for_each_thread_count(lambda: call.forward(handle)):
        for begin in range(0, 700, 20):
            few = replace(call, rois=call.rois[begin : begin + 20])
            assert np.array_equal(few.forward(handle), got[begin : begin + 20])


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
    "larger than the cache": {"shape": (1, 33, 34, 8192), "rois": 40, "ratio": 2},
    "larger than the cache, few RoIs": {"shape": (1, 33, 34, 8192), "rois": 4, "ratio": 2},
    "bins of many tiles": {"shape": (1, 60, 70, 512), "rois": 20, "ratio": 0, "pooled": (1, 1)},
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_of_the_backward(way: str, handle: pymluops.Handle, rng: np.random.Generator) -> None:
    call = random_call(rng, offset=GIVEN, **WAYS[way])
    check_call(call, handle, rng, FLOAT_BAR)
    check_call(as_half(call), handle, rng, HALF_BAR)
    check_call(replace(call, offset=None), handle, rng, FLOAT_BAR)


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


@pytest.mark.parametrize("offset", [None, GIVEN], ids=["plain", "offset"])
def test_rounding_does_not_grow_with_the_bins(
    offset: Array | None, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    call = random_call(rng, (1, 2, 2, 4), 400, pooled=(7, 7), ratio=1, offset=offset)
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


def test_backward_is_the_adjoint(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    call = random_call(rng, (2, 17, 23, 20), 30, ratio=3, offset=GIVEN)
    out = call.forward(handle).astype(np.float64)
    grad = rng.standard_normal(out.shape).astype(np.float32)
    grad_input, _ = call.backward(handle, grad)
    left, right = (out * grad).sum(), (call.x.astype(np.float64) * grad_input).sum()
    assert abs(left - right) <= 1e-6 * np.abs(out * grad).sum()


def test_non_finite_gradients_stay_at_their_corners(handle: pymluops.Handle) -> None:
    rois = np.float32([[0, 1.75, 1.75, 1.75, 1.75], [0, 90, 90, 90, 90], [0, 3.5, 1.5, 3.5, 1.5]])
    call = Call(RAMP, rois, np.zeros((3, 2, 1, 1), np.float32), (1, 1), 1.0, 1)
    grad = np.float32([np.inf, np.nan, 0]).reshape(3, 1, 1, 1)
    got = call.backward(handle, grad)
    for gradient, expected in zip(got, call.expected_gradients(grad), strict=True):
        assert np.array_equal(gradient, expected, equal_nan=True)
    assert np.isinf(got[0]).sum() == 4
    assert not np.isnan(got[0]).any()
    assert got[1][1].tolist() == [[[0]], [[0]]]


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_weights_of_zero_do_not_hide_pixels(value: float, handle: pymluops.Handle) -> None:
    x = np.ones((1, 4, 5, 1), np.float32)
    x[0, 3, 4] = x[0, 1, 2] = value
    corners = [(2, 1), (1, 1), (4, 3), (3, 3), (3.5, 2), (0, 0)]
    rois = np.float32([[0, a + 0.5, b + 0.5, a + 0.5, b + 0.5] for a, b in corners])
    call = Call(x, rois, pooled=(1, 1), scale=1.0, ratio=2)
    assert np.array_equal(call.forward(handle), call.expected(), equal_nan=True)


@pytest.mark.parametrize("ratio", [2, 4, 512])
def test_one_sample_of_weight_zero_among_others_is_enough(
    ratio: int, handle: pymluops.Handle
) -> None:
    """The first sample lies on column 1, between it and column 2; others see both of them."""
    x = np.ones((1, 4, 5, 1), np.float32)
    x[0, :, 2] = np.inf
    begin = 1 - 0.25 / ratio
    rois = np.float32([[0, begin + 0.5, 1.75, begin + 1, 1.75]])
    call = Call(x, rois, pooled=(1, 1), scale=1.0, ratio=ratio)
    assert np.isnan(call.expected()).all()
    assert np.isnan(call.forward(handle)).all()


# -------------------------------------------------------------------------------- hostility

HUGE = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38, 1e10]


@pytest.mark.parametrize("ratio", [-1, 0, 2, 2**31 - 1])
def test_huge_rois_end_and_agree(ratio: int, handle: pymluops.Handle) -> None:
    rows = [[0, a, b, c, d] for a in HUGE for b in (1, a) for c in (3, *HUGE[:4]) for d in (2, c)]
    rois = np.float32(rows)
    call = Call(np.ones((1, 6, 7, 3), np.float32), rois, np.zeros((len(rois), 2, 2, 3), np.float32))
    call = replace(call, ratio=ratio)
    start = time.monotonic()
    got = call.forward(handle)
    grad_input, grad_offset = call.backward(handle, np.ones_like(got))
    assert time.monotonic() - start < 5
    assert np.isfinite(got).all()
    assert (got >= 0).all()
    assert (got <= 1.000001).all()
    assert np.isfinite(grad_input).all()
    assert np.isfinite(grad_offset).all()
    if ratio == 2:
        np.testing.assert_allclose(got, call.expected(), atol=1e-6)
    # Weights of all samples of all bins, seen from either side.
    assert abs(got.sum(dtype=float) - grad_input.sum(dtype=float)) <= 1e-5 * max(1, got.sum())


def test_a_huge_roi_is_sampled_where_it_meets_the_map(handle: pymluops.Handle) -> None:
    # 2e6 pixels and as many samples per axis, a pixel apart; those on the map count.
    rois = np.float32([[0, -1e6, -1e6, 1e6, 1e6]])
    x = np.ones((1, 6, 7, 1), np.float32)
    call = Call(x, rois, pooled=(1, 1), scale=1.0)
    assert call.forward(handle).item() == pytest.approx(call.expected().item(), rel=1e-6)
    assert call.expected().item() > 0


def test_all_samples_of_the_world(handle: pymluops.Handle) -> None:
    rois = np.float32([[0, 1, 1, 5, 4], [0, 2.25, 2.25, 2.25, 2.25], [0, 4, 3, 2, 2]])
    few = Call(RAMP, rois, pooled=(2, 2), scale=1.0, ratio=2000)
    many = replace(few, ratio=2**31 - 1)
    # The mean over a bin of a map linear in both is its middle, however many samples there are.
    np.testing.assert_allclose(many.forward(handle), few.expected(), rtol=1e-6)


@pytest.mark.parametrize("image", [np.nan, -1, 2, 1e30, np.inf, -np.inf])
def test_bad_images_are_named_and_change_nothing(image: float, handle: pymluops.Handle) -> None:
    rois = np.float32([[0, 0, 0, 3, 3], [1, 0, 0, 3, 3], [image, 0, 0, 3, 3]])
    call = Call(np.ones((2, 4, 4, 3), np.float32), rois)
    out = np.full((3, 2, 3, 3), 7, np.float32)
    with pytest.raises(pymluops.BadParamError, match=r"rois: row 2 is of image .* 2 images"):
        call.forward(handle, out=out)
    assert (out == 7).all()
    with pytest.raises(pymluops.BadParamError, match=r"DeformRoiPoolBackward\] rois: row 2"):
        call.backward(handle, out)


# -------------------------------------------------------------------- threads, guards, modes


THREADS_SHAPES = [(2, 40, 80, 64), (1, 7, 7, 24), (1, 30, 30, 1), (1, 40, 80, 130)]


@pytest.mark.parametrize("shape", THREADS_SHAPES, ids=str)
@pytest.mark.parametrize(("rois", "ratio"), [(400, 0), (12, 2)])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_threads_do_not_change_bits(
    shape: tuple,
    rois: int,
    ratio: int,
    half: bool,
    for_each_thread_count: Callable[[Callable[[], object]], list],
    handle: pymluops.Handle,
    rng: np.random.Generator,
) -> None:
    call = random_call(rng, shape, rois, ratio=ratio, offset=GIVEN)
    call = as_half(call) if half else call
    grad = rng.standard_normal((rois, 2, 3, shape[3])).astype(call.x.dtype)
    results = for_each_thread_count(
        lambda: bits(call.forward(handle)) + bits(call.backward(handle, grad))
    )
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("channels", [63, 128, 300, 700])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_few_large_bins_are_shared_out(
    channels: int,
    half: bool,
    for_each_thread_count: Callable[[Callable[[], object]], list],
    handle: pymluops.Handle,
    rng: np.random.Generator,
) -> None:
    rois = np.float32([[0, -3, -1e4, 91, 1e4], [0, 2, 3, 60, 80], [0, -1, -2, 80, 89]])
    x = rng.uniform(0, 1, (1, 90, 90, channels)).astype(np.float32)
    for count in (1, 3):
        call = Call(x, rois[3 - count :], pooled=(1, 1), scale=1.0)
        call = as_half(call) if half else call
        results = for_each_thread_count(lambda call=call: call.forward(handle))
        check_accuracy(results[0], call.expected(), HALF_BAR if half else FLOAT_BAR)
        assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize("protect", guard.BOTH)
@pytest.mark.parametrize("channels", [1, 15, 17, 64, 300])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_stays_within_its_tensors(
    protect: Callable[[Array], Array],
    channels: int,
    half: bool,
    handle: pymluops.Handle,
    rng: np.random.Generator,
) -> None:
    call = random_call(rng, (1, 5, 4, channels), 7, ratio=2, offset=GIVEN)
    call = as_half(call) if half else call
    plain = call.forward(handle)
    guarded = replace(call, x=protect(call.x), rois=protect(call.rois), offset=protect(call.offset))
    out = protect(np.zeros_like(plain))
    guarded.forward(handle, out=out)
    check_accuracy(out, plain, HALF_BAR if half else FLOAT_BAR)
    gradients = pymluops.deform_roi_pool_backward(
        protect(plain),
        guarded.x,
        guarded.rois,
        guarded.offset,
        pooled_height=2,
        pooled_width=3,
        spatial_scale=0.5,
        sampling_ratio=2,
        out=(protect(np.zeros_like(call.x)), protect(np.zeros_like(call.offset))),
        handle=handle,
    )
    assert all(np.isfinite(g.astype(np.float32)).all() for g in gradients)

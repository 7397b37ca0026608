# SPDX-License-Identifier: Apache-2.0
"""RoIAlign with hostile data, any number of threads, and forbidden memory nearby."""

import time
from dataclasses import replace

import guard
import numpy as np
import pytest
from roi_align_calls import (
    EXAMPLE,
    FLOAT_BAR,
    HALF_BAR,
    Call,
    as_half,
    bits,
    check_accuracy,
    check_same,
    random_call,
)

import pymluops

MODES = ["avg", "max"]
HUGE = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38, 1e10, -3e9]


def huge_rois():
    rows = [[0, a, b, c, d] for a in HUGE for b in (1, a) for c in (3, *HUGE[:4]) for d in (2, c)]
    return np.float32(rows)


@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "not aligned"])
@pytest.mark.parametrize("ratio", [-1, 0, 2, 2**31 - 1])
def test_means_of_huge_rois_end_and_agree(ratio, aligned, handle):
    call = Call(np.ones((1, 6, 7, 3), np.float32), huge_rois(), ratio=ratio, aligned=aligned)
    start = time.monotonic()
    got = call.forward(handle)
    gradient = call.backward(handle, np.ones_like(got))
    assert time.monotonic() - start < 5
    assert ((got >= 0) & (got <= 1.000001)).all()
    assert np.isfinite(gradient).all()
    # Weights of all samples of all bins, seen from either side.
    assert abs(got.sum(dtype=float) - gradient.sum(dtype=float)) <= 1e-5 * max(1, got.sum())


@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "not aligned"])
@pytest.mark.parametrize("ratio", [-1, 0, 2, 128])
def test_maxima_of_huge_rois_end_and_agree(ratio, aligned, handle, rng):
    x = rng.standard_normal((1, 6, 7, 19)).astype(np.float32)
    call = Call(x, huge_rois(), ratio=ratio, aligned=aligned, mode="max")
    start = time.monotonic()
    got = call.forward(handle)
    assert time.monotonic() - start < 5
    check_same(got, call.expected())


def test_pixels_that_float32_cannot_tell_apart(handle):
    """From 2^24 on they are even, from 2^25 on multiples of 4; the last pixel is 2^25 + 2."""
    width = 2**25 + 3
    x = np.zeros((1, 1, width, 1), np.float32)
    x[0, 0, [2**24, 2**24 + 4, width - 1], 0] = 1, 2, 3
    rois = np.float32([[0, 2**24, 0, 2**24 + 4, 1], [0, 2**25 + 4, 0, 2**25 + 4, 1]])
    call = Call(x, rois, (1, 2), scale=1, ratio=1, aligned=False)
    got = call.forward(handle)
    assert got.reshape(2, 2).tolist() == [[1, 2], [3, 3]]
    gradient = call.backward(handle, got).reshape(-1)
    assert np.flatnonzero(gradient).tolist() == [2**24, 2**24 + 4, width - 1]
    assert gradient[gradient != 0].tolist() == [1, 2, 6]


def test_a_huge_roi_is_sampled_where_it_meets_the_map(handle, rng):
    # Millions of samples per axis, a pixel apart, of which many are at the same place; those on the
    # map count.
    x = rng.standard_normal((1, 6, 7, 5)).astype(np.float32)
    for size in (1e6, 3e7, 1e9, 2e9):
        rois = np.float32([[0, -size, -size, size, size / 2]])
        call = Call(x, rois, pooled=(1, 1), scale=1.0, mode="max")
        start = time.monotonic()
        check_same(call.forward(handle), call.expected())
        assert time.monotonic() - start < 2


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_weights_of_zero_do_not_hide_pixels(value, handle):
    x = np.ones((1, 4, 5, 1), np.float32)
    x[0, 3, 4] = x[0, 1, 2] = value
    corners = [(2, 1), (1, 1), (4, 3), (3, 3), (3.5, 2), (0, 0)]
    rois = np.float32([[0, a + 0.5, b + 0.5, a + 0.5, b + 0.5] for a, b in corners])
    call = Call(x, rois, pooled=(1, 1), scale=1.0, ratio=2)
    assert np.array_equal(call.forward(handle), call.expected(), equal_nan=True)
    largest = replace(call, mode="max")
    check_same(largest.forward(handle), largest.expected())


def test_non_finite_gradients_stay_at_their_pixels(handle):
    rois = np.float32([[0, 1.75, 1.75, 1.75, 1.75], [0, 90, 90, 90, 90], [0, 3.5, 1.5, 3.5, 1.5]])
    call = Call(EXAMPLE, rois, (1, 1), 1.0, 1)
    grad = np.float32([np.inf, np.nan, 0]).reshape(3, 1, 1, 1)
    got = call.backward(handle, grad)
    assert np.array_equal(got, call.expected_gradient(grad), equal_nan=True)
    assert np.isinf(got).sum() == 4
    assert not np.isnan(got).any()


ANYWHERE = [
    np.nan,
    np.inf,
    -np.inf,
    3e38,
    -3e38,
    1e10,
    -1,
    -1.0001,
    0,
    -0.0,
    0.3,
    2,
    2.5,
    6,
    7,
    7.1,
]


@pytest.mark.parametrize("channels", [1, 3, 40, 300])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_argmax_may_be_garbage(channels, half, handle, rng):
    call = random_call(rng, (2, 6, 7, channels), 12, mode="max")
    call = as_half(call) if half else call
    shape = (12, 2, 3, channels)
    with np.errstate(over="ignore"):
        places = [rng.choice(ANYWHERE, shape).astype(call.x.dtype) for _ in range(2)]
    grad = rng.uniform(0.5, 1.5, shape).astype(call.x.dtype)
    expected = call.expected_gradient(grad, *places)
    check_accuracy(call.backward(handle, grad, *places), expected, HALF_BAR if half else FLOAT_BAR)


def test_points_all_over_a_large_map(handle, rng):
    """What a bin touches then is in no few tiles."""
    call = random_call(rng, (2, 70, 130, 33), 20, mode="max")
    shape = (20, 2, 3, 33)
    places = [rng.uniform(-2, size + 2, shape).astype(np.float32) for size in (130, 70)]
    grad = rng.uniform(0.5, 1.5, shape).astype(np.float32)
    expected = call.expected_gradient(grad, *places)
    check_accuracy(call.backward(handle, grad, *places), expected, FLOAT_BAR)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("image", [np.nan, -1, 2, 1e30, np.inf, -np.inf])
def test_bad_images_are_named_and_change_nothing(image, mode, handle):
    rois = np.float32([[0, 0, 0, 3, 3], [1, 0, 0, 3, 3], [image, 0, 0, 3, 3]])
    call = Call(np.ones((2, 4, 4, 3), np.float32), rois, mode=mode)
    out = [np.full((3, 2, 3, 3), 7, np.float32) for _ in range(1 if mode == "avg" else 3)]
    with pytest.raises(pymluops.BadParamError, match=r"rois: row 2: image index .* 0 to 1 \(N-1\)"):
        call.forward(handle, out=out[0] if mode == "avg" else tuple(out))
    assert all((each == 7).all() for each in out)
    places = () if mode == "avg" else (out[1], out[2])
    of_map = np.full((2, 4, 4, 3), 7, np.float32)
    with pytest.raises(pymluops.BadParamError, match=r"RoiAlignBackward\w*\] rois: row 2"):
        call.backward(handle, out[0], *places, out=of_map)
    assert (of_map == 7).all()


# -------------------------------------------------------------------- threads, guards


THREADS_SHAPES = [(2, 40, 80, 64), (1, 7, 7, 24), (1, 30, 30, 1), (1, 40, 80, 130)]


@pytest.mark.parametrize("shape", THREADS_SHAPES, ids=str)
@pytest.mark.parametrize(("rois", "ratio"), [(400, 0), (12, 2)])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("mode", MODES)
def test_threads_do_not_change_bits(
    shape, rois, ratio, half, mode, for_each_thread_count, handle, rng
):
    call = random_call(rng, shape, rois, ratio=ratio, mode=mode)
    call = as_half(call) if half else call
    grad = rng.standard_normal((rois, 2, 3, shape[3])).astype(call.x.dtype)

    def run():
        found = call.forward(handle)
        places = () if mode == "avg" else found[1:]
        return bits(found) + bits(call.backward(handle, grad, *places))

    results = for_each_thread_count(run)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("protect", guard.BOTH)
@pytest.mark.parametrize("channels", [1, 15, 17, 64, 300])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("mode", MODES)
def test_stays_within_its_tensors(protect, channels, half, mode, handle, rng):
    call = random_call(rng, (1, 5, 4, channels), 7, ratio=2, mode=mode)
    call = as_half(call) if half else call
    plain = call.forward(handle)
    plain = (plain,) if mode == "avg" else plain
    guarded = replace(call, x=protect(call.x), rois=protect(call.rois))
    out = tuple(protect(np.zeros_like(each)) for each in plain)
    guarded.forward(handle, out=out[0] if mode == "avg" else out)
    for got, expected in zip(out, plain, strict=True):
        check_accuracy(got, expected, HALF_BAR if half else FLOAT_BAR)
    gradient = guarded.backward(
        handle, protect(plain[0]), *map(protect, plain[1:]), out=protect(np.zeros_like(call.x))
    )
    assert np.isfinite(gradient.astype(np.float32)).all()

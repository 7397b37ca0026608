# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling with hostile data, any number of threads, and forbidden memory nearby."""

import time
from collections.abc import Callable
from dataclasses import replace

import guard
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
    random_call,
)

import pymluops


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
    with pytest.raises(pymluops.BadParamError, match=r"rois: row 2: image index .* 0 to 1 \(N-1\)"):
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

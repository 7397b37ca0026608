# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution with any data at all, and forbidden memory nearby."""

import time
from collections.abc import Callable
from dataclasses import replace

import guard
import numpy as np
import pytest
from dcn_calls import FLOAT_BAR, HALF_BAR, Array, Call, as_half, bits, check_accuracy, random_call
from everywhere import inputs_at, results_everywhere

import pymluops

WILD = np.float32([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38, 1e10, -1e10, 2**31, -(2**31), 1e-45])


def equal(got: Array, expected: Array, bar: float) -> None:
    """The same NaNs and infinities, and numbers that are near."""
    got = got.astype(np.float64)
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    finite = np.isfinite(expected)
    assert np.array_equal(got[~finite], expected[~finite], equal_nan=True)
    check_accuracy(got[finite], expected[finite], bar)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("modulated", [False, True], ids=["plain", "modulated"])
def test_any_offset_is_legal(
    half: bool, modulated: bool, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    call = random_call(rng, (2, 9, 10, 20), 12, pad=1, deformable_group=2, modulated=modulated)
    wild = rng.random(call.offset.shape) < 0.3
    call.offset[wild] = rng.choice(WILD, wild.sum())
    with np.errstate(over="ignore"):
        call = as_half(call) if half else call
    grad = call.gradient(rng)
    for got, expected in zip(call.results(handle, grad), call.expected(grad), strict=True):
        assert np.isfinite(got).all()
        check_accuracy(got, expected, HALF_BAR if half else FLOAT_BAR)


@pytest.mark.parametrize("at", [-1.0, 4.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_limits_are_outside(at: float, axis: int, handle: pymluops.Handle) -> None:
    """And what is next to them inside counts."""
    x = np.ones((1, 4, 4, 1), np.float32)
    offset = np.zeros((1, 1, 1, 2), np.float32)
    call = Call(x, offset, np.ones((1, 1, 1, 1), np.float32), numbers={"stride": 2**20})
    offset[..., axis] = at
    one = np.ones((1, 1, 1, 1), np.float32)
    for result in call.results(handle, one)[:4]:
        assert not result.any()
    offset[..., axis] = np.nextafter(np.float32(at), np.float32(0))
    results, expected = call.results(handle, one), call.expected(one)
    assert results[2].ravel()[axis] == (1 if at < 0 else -1)
    for got, exact in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-6)


def test_the_last_of_many_pixels(handle: pymluops.Handle) -> None:
    """float32 has no 2**24 + 1: the pixel at 2**24 is inside all the same."""
    width = 2**24 + 1
    x = np.zeros((1, 1, width, 1), np.float32)
    x[0, 0, -1] = 5
    ones = np.ones((1, 1, 2, 1), np.float32)
    numbers = {"stride": (1, 2**24)}
    call = Call(x, np.zeros((1, 1, 2, 2), np.float32), ones[:, :, :1], numbers=numbers)
    output, grad_input, grad_offset, grad_filter, _ = call.results(handle, ones)
    assert output.ravel().tolist() == [0, 5]
    assert grad_input[0, 0, [0, -2, -1], 0].tolist() == [1, 0, 1]
    assert grad_offset.ravel().tolist() == [0, 0, -5, -5]
    assert grad_filter.item() == 5


def test_everything_outside_is_zero(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    """Whatever gradient and mask hold there."""
    call = random_call(rng, (1, 6, 7, 20), 9, pad=1)
    call = replace(call, offset=np.full_like(call.offset, 50), mask=call.mask * np.inf, bias=None)
    grad = np.full((1, 6, 7, 9), np.nan, np.float32)
    assert not call.forward(handle).any()
    for gradient in call.backward_data(handle, grad):
        assert gradient.tobytes() == bytes(gradient.nbytes)
    of_filter, of_bias = call.backward_weight(handle, grad)
    assert np.isnan(of_filter).all()
    assert np.isnan(of_bias).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["x", "filter", "mask"])
def test_numbers_that_are_none_spread_as_in_the_formula(
    name: str, value: float, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    call = random_call(rng, (1, 9, 10, 20), 12, pad=1, deformable_group=2, moved=1.5)
    array = getattr(call, name)
    array.reshape(-1)[rng.integers(0, array.size, 3)] = value
    grad = call.gradient(rng)
    for got, expected in zip(call.results(handle, grad), call.expected(grad), strict=True):
        equal(got, expected, FLOAT_BAR)


def test_gradients_that_are_none_stay_where_samples_are(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    """A pixel at weight 0 is not reached by a gradient of NaN."""
    call = random_call(rng, (1, 9, 10, 20), 12, pad=1, moved=1.5)
    call = replace(call, offset=np.round(call.offset))
    grad = call.gradient(rng)
    grad[0, 4, 5] = np.nan
    grad[0, 7, 2, 3] = np.inf
    for got, expected in zip(call.results(handle, grad), call.expected(grad), strict=True):
        equal(got, expected, FLOAT_BAR)
    # 9 pixels at the most, of each of the two.
    assert (~np.isfinite(call.backward_data(handle, grad)[0])).any(3).sum() <= 18


def test_every_nan_has_the_same_bits_for_any_number_of_threads(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    """NaNs of the data and those of inf - inf meet in sums, whose columns threads cut."""
    for shape, outputs, kernel in [((1, 5, 16, 92), 28, (3, 1)), ((1, 11, 19, 79), 14, (3, 3))] * 4:
        call = random_call(rng, shape, outputs, kernel)
        for array, rate in ((call.x, 0.02), (call.filter, 0.01)):
            wild = rng.random(array.shape) < rate
            array[wild] = rng.choice(WILD[:3], wild.sum())
        grad = call.gradient(rng)
        found = []
        for threads in (1, 2, 3):
            handle.num_threads = threads
            found.append(bits(call.results(handle, grad)))
        assert found[0] == found[1] == found[2]


def test_time_does_not_depend_on_offsets(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    call = random_call(rng, (1, 60, 70, 8), 8, pad=1, moved=0)
    grad = call.gradient(rng)
    for offsets in (call.offset, call.offset + 1e30, call.offset + np.float32(np.nan)):
        start = time.monotonic()
        replace(call, offset=offsets).results(handle, grad)
        assert time.monotonic() - start < 5


def test_all_samples_at_one_place(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    """Each pixel's gradient comes from everywhere: the worst that a scatter can meet."""
    call = random_call(rng, (1, 20, 21, 17), 9, pad=1)
    rows = np.arange(20)[:, None, None] - 1 + np.arange(9) // 3
    columns = np.arange(21)[None, :, None] - 1 + np.arange(9) % 3
    call.offset.reshape(20, 21, 9, 2)[..., 0] = 7.5 - rows
    call.offset.reshape(20, 21, 9, 2)[..., 1] = 11.25 - columns
    grad = call.gradient(rng)
    expected = call.expected(grad)
    first = None
    for threads in (1, 2, 5):
        handle.num_threads = threads
        results = call.results(handle, grad)
        first = first or bits(results)
        assert bits(results) == first
        for got, exact in zip(results, expected, strict=True):
            check_accuracy(got, exact, FLOAT_BAR)


# ------------------------------------------------------------------------------------ memory

GUARDED = {
    "one pixel": ((1, 1, 1, 1), 1, (1, 1), {}),
    "few channels": ((1, 5, 4, 3), 5, (3, 3), {"pad": 1}),
    "odd channels": ((2, 5, 4, 17), 33, (3, 2), {"pad": 1}),
    "groups": ((1, 6, 5, 30), 15, (3, 3), {"deformable_group": 2, "conv_group": 5}),
    "vectors": ((1, 4, 5, 64), 48, (3, 3), {"pad": 2, "stride": 2}),
    "many channels": ((1, 4, 5, 700), 3, (3, 3), {"pad": 1}),
    "a map that threads share": ((1, 36, 3, 20), 3, (3, 3), {"pad": 1}),
}


def offsets_to_every_corner(call: Call, rng: np.random.Generator) -> None:
    """Move samples to the limits of the map, and beyond."""
    height, width = call.x.shape[1:3]
    places = call.offset.reshape(-1, 2)
    some = rng.random(len(places)) < 0.5
    places[some, 0] = rng.choice([-height, -1, -0.5, 0, height - 1, height - 0.5], some.sum())
    places[some, 1] = rng.choice([-width, -1, -0.5, 0, width - 1, width - 0.5], some.sum())


@pytest.mark.parametrize("protect", guard.BOTH, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", GUARDED)
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_nothing_outside_is_read(
    protect: Callable[[Array], Array],
    form: str,
    half: bool,
    handle: pymluops.Handle,
    rng: np.random.Generator,
) -> None:
    shape, outputs, kernel, numbers = GUARDED[form]
    call = random_call(rng, shape, outputs, kernel, **numbers)
    offsets_to_every_corner(call, rng)
    call = as_half(call) if half else call
    grad = call.gradient(rng)
    handle.num_threads = 2
    expected = bits(call.results(handle, grad))
    arrays = {name: protect(getattr(call, name)) for name in ("x", "offset", "filter", "mask")}
    guarded = replace(call, **arrays, bias=protect(call.bias))
    assert bits(guarded.results(handle, protect(grad))) == expected


@pytest.mark.parametrize("form", GUARDED)
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_nothing_outside_is_written(
    form: str,
    half: bool,
    near_and_past: tuple[pymluops.Handle, pymluops.Handle],
    rng: np.random.Generator,
) -> None:
    """Outputs anywhere in memory, with one to five threads: the same bits."""
    shape, outputs, kernel, numbers = GUARDED[form]
    call = random_call(rng, shape, outputs, kernel, **numbers)
    call = as_half(call) if half else call
    grad = call.gradient(rng)
    x, offset, weights, mask, bias, dy = inputs_at(
        4, call.x, call.offset, call.filter, call.mask, call.bias, grad
    )
    call = Call(x, offset, weights, mask, bias, call.numbers)
    like = call.results(near_and_past[0], dy)

    def run(handle: pymluops.Handle, *outs: Array) -> None:
        call.forward(handle, out=outs[0])
        call.backward_data(handle, dy, out=outs[1:4])
        call.backward_weight(handle, dy, out=outs[4:])

    assert bits(results_everywhere(run, like, near_and_past)) == bits(like)

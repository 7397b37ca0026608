# SPDX-License-Identifier: Apache-2.0
"""What holds of deformable convolution for any numbers."""

from dataclasses import replace

import numpy as np
import pytest
from dcn_calls import FLOAT_BAR, Call, as_half, bits, check_accuracy, random_call

import pymluops

FORMS = {
    "plain": ((4, 9, 10, 12), 14, (3, 3), {"pad": 1, "modulated": False}),
    "modulated": ((4, 9, 10, 12), 14, (3, 3), {"pad": 1}),
    "groups": (
        (2, 12, 11, 24),
        36,
        (3, 3),
        {"pad": 1, "stride": 2, "deformable_group": 2, "conv_group": 3},
    ),
}


@pytest.fixture(params=FORMS)
def call(request: pytest.FixtureRequest, rng: np.random.Generator) -> Call:
    shape, outputs, kernel, numbers = FORMS[request.param]
    return random_call(rng, shape, outputs, kernel, **numbers)


def test_the_bias_is_added(call: Call, handle: pymluops.Handle, rng: np.random.Generator) -> None:
    bias = rng.standard_normal(call.filter.shape[0], np.float32)
    plain = replace(call, bias=None).forward(handle).astype(np.float64)
    check_accuracy(replace(call, bias=bias).forward(handle), plain + bias, FLOAT_BAR)


def test_a_mask_of_ones_is_none(
    call: Call, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    grad = call.gradient(rng)
    plain = replace(call, mask=None)
    taps = call.offset.shape[3] // 2
    ones = replace(call, mask=np.ones((*call.offset.shape[:3], taps), np.float32))
    forward, of_x, of_offset, of_filter, of_bias = plain.results(handle, grad)
    expected = (forward, of_x, of_offset, None, of_filter, of_bias)
    for got, wanted in zip(ones.results(handle, grad), expected, strict=True):
        if wanted is not None:
            check_accuracy(got, wanted.astype(np.float64), FLOAT_BAR)


def test_im2col_step_changes_nothing(
    call: Call, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    grad = call.gradient(rng)
    results = bits(call.results(handle, grad))
    for step in (2, len(call.x)):
        numbers = {**call.numbers, "im2col_step": step}
        assert bits(replace(call, numbers=numbers).results(handle, grad)) == results
    with pytest.raises(pymluops.BadParamError, match=r"dim 0 is \d, expected a multiple of 3"):
        replace(call, numbers={**call.numbers, "im2col_step": 3}).forward(handle)


THREADED = {
    "a small map": ((2, 9, 11, 24), 20, {}),
    "one image": ((1, 40, 50, 32), 32, {"deformable_group": 2}),
    "a high map, samples far from their pixels": ((1, 96, 20, 24), 16, {"moved": 20}),
    "many channels": ((1, 7, 8, 260), 130, {}),
    "a high map of many channels": ((1, 50, 6, 260), 20, {"stride": (2, 1)}),
    "groups": ((3, 20, 20, 24), 24, {"conv_group": 4}),
    "few pixels, many images": ((17, 3, 3, 10), 12, {}),
    "one row": ((1, 1, 300, 16), 8, {}),
    "many pixels, many offsets": ((2, 60, 61, 16), 8, {"deformable_group": 16}),
    "more outputs than a block has": ((1, 5, 6, 5), 1100, {}),
}


@pytest.mark.parametrize("form", THREADED)
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_threads_do_not_change_bits(
    form: str,
    half: bool,
    near_and_past: tuple[pymluops.Handle, pymluops.Handle],
    rng: np.random.Generator,
) -> None:
    shape, outputs, numbers = THREADED[form]
    call = random_call(rng, shape, outputs, pad=1, **numbers)
    call = as_half(call) if half else call
    grad = call.gradient(rng)
    near, past = near_and_past
    first = None
    for handle, threads in ((near, 1), (near, 2), (near, 5), (past, 1), (past, 3), (past, 4)):
        handle.num_threads = threads
        results = bits(call.results(handle, grad))
        first = first or results
        assert results == first, ("past" if handle is past else "near", threads)


def test_places_have_the_same_bits_everywhere(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """One tap, one channel: weights and samples, without a sum that may be made otherwise."""
    call = random_call(rng, (1, 30, 40, 1), 1, (1, 1), modulated=False, moved=3)
    call = replace(call, filter=np.ones((1, 1, 1, 1), np.float32))
    found = set()
    for isa in pymluops.supported_isas():
        monkeypatch.setenv("MLUOP_CPU_ISA", isa)
        with pymluops.Handle() as made:
            inside = call.forward(made) != 0
            found.add(inside.tobytes())
    assert len(found) == 1


def test_a_result_is_overwritten(
    call: Call, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    grad = call.gradient(rng)
    expected = call.results(handle, grad)
    data, weight = call.backward_data(handle, grad), call.backward_weight(handle, grad)

    def filled(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else np.full_like(array, np.nan)

    results = [
        call.forward(handle, out=filled(expected[0])),
        *call.backward_data(handle, grad, out=tuple(map(filled, data))),
        *call.backward_weight(handle, grad, out=tuple(map(filled, weight))),
    ]
    assert bits([a for a in results if a is not None]) == bits(expected)

# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution against its reference, by hand where small."""

from dataclasses import replace

import numpy as np
import pytest
from dcn_calls import (
    EXAMPLE,
    EXAMPLE_RESULTS,
    FLOAT_BAR,
    HALF_BAR,
    Call,
    as_half,
    check_accuracy,
    check_call,
    dense,
    random_call,
)

import pymluops

# ---------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_the_example_of_the_contract(half: bool, handle: pymluops.Handle) -> None:
    call = as_half(EXAMPLE) if half else EXAMPLE
    results = call.results(handle, np.full((1, 1, 1, 1), 2, call.x.dtype))
    assert [result.ravel().tolist() for result in results] == list(EXAMPLE_RESULTS)
    assert {result.dtype for result in results} == {call.x.dtype}


def test_zero_offsets_are_the_dense_convolution(
    handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    for shape, outputs, kernel, numbers in (
        ((2, 9, 11, 5), 7, (3, 3), {"pad": 1}),
        ((1, 8, 20, 64), 32, (3, 3), {"pad": 2, "dilation": 2}),
        ((2, 10, 9, 17), 33, (5, 3), {"stride": 2}),
        ((1, 6, 7, 40), 24, (1, 1), {}),
    ):
        call = random_call(rng, shape, outputs, kernel, modulated=False, moved=0, **numbers)
        check_accuracy(call.forward(handle), dense(call.x, call.filter, **numbers), FLOAT_BAR)


def test_gradients_of_zero_offsets_on_the_padding(handle: pymluops.Handle) -> None:
    """Every model's first step: samples at exactly -1 and H have no value and no gradient."""
    x = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1)
    call = Call(x, np.zeros((1, 3, 3, 18), np.float32), np.ones((1, 3, 3, 1), np.float32))
    call = replace(call, numbers={"pad": 1})
    grad = np.ones((1, 3, 3, 1), np.float32)
    _, grad_input, grad_offset, grad_filter, _ = call.results(handle, grad)
    assert grad_input.ravel().tolist() == [4, 6, 4, 6, 9, 6, 4, 6, 4]
    assert grad_filter.ravel().tolist() == [12, 21, 16, 27, 45, 33, 24, 39, 28]
    slopes = grad_offset.reshape(3, 3, 3, 3, 2)  # p, q, i, j, (y, x)
    assert not slopes[0, :, 0].any()
    assert not slopes[2, :, 2].any()
    assert not slopes[:, 0, :, 0].any()
    assert not slopes[:, 2, :, 2].any()
    assert slopes[1, 1, 0].tolist() == [[3, 1], [3, 1], [3, -3]]  # towards larger y and x
    assert slopes[1, 1, 2].tolist() == [[-7, 1], [-8, 1], [-9, -9]]


# -------------------------------------------------------------------------------- reference

# Maps, output channels, kernels, numbers: sizes that vectors divide, and that none does.
FORMS = {
    "one pixel": ((1, 1, 1, 1), 1, (1, 1), {}),
    "one pixel, all padding": ((2, 1, 1, 3), 5, (3, 3), {"pad": 1}),
    "one row": ((1, 1, 40, 8), 8, (1, 3), {"pad": (0, 1)}),
    "one column": ((1, 40, 1, 9), 4, (3, 1), {"pad": (1, 0)}),
    "odd channels": ((2, 7, 9, 19), 23, (3, 3), {"pad": 1}),
    "vectors": ((1, 12, 13, 64), 64, (3, 3), {"pad": 1}),
    "stride": ((2, 12, 15, 32), 16, (3, 3), {"pad": 1, "stride": 2}),
    "uneven": ((1, 11, 14, 6), 10, (2, 4), {"stride": (3, 1), "dilation": (1, 2)}),
    "four pads": ((1, 6, 5, 4), 3, (3, 3), {"pad": (2, 0, 1, 3)}),
    "deformable groups": ((2, 8, 9, 24), 18, (3, 3), {"pad": 1, "deformable_group": 4}),
    "groups": ((2, 8, 9, 24), 18, (3, 3), {"pad": 1, "conv_group": 3}),
    "groups across": (
        (1, 8, 9, 36),
        30,
        (3, 3),
        {"pad": 1, "deformable_group": 4, "conv_group": 6},
    ),
    "depthwise": ((1, 9, 9, 33), 33, (3, 3), {"pad": 1, "conv_group": 33}),
    "depthwise, many channels": ((1, 9, 14, 48), 96, (3, 3), {"pad": 1, "conv_group": 48}),
    "narrow groups across": (
        (1, 9, 14, 24),
        12,
        (3, 3),
        {"pad": 1, "deformable_group": 3, "conv_group": 12},
    ),
    "a group for each channel": ((1, 5, 6, 7), 8, (3, 3), {"pad": 1, "deformable_group": 7}),
    "many channels": ((1, 5, 6, 300), 70, (3, 3), {"pad": 1}),
    "more channels than a block has columns": ((1, 4, 5, 600), 5, (3, 3), {"pad": 1}),
    "many outputs": ((1, 5, 6, 20), 300, (3, 3), {"pad": 1}),
    "more outputs than a block has": ((1, 3, 4, 5), 1100, (3, 3), {"pad": 1}),
    "lines longer than a block": ((1, 5, 130, 6), 7, (3, 3), {"pad": 1}),
    "many pixels, many offsets": ((1, 60, 61, 16), 8, (3, 3), {"pad": 1, "deformable_group": 16}),
    "a large kernel": ((1, 9, 10, 3), 5, (7, 7), {"pad": 3}),
    "a map below the kernel": ((1, 2, 2, 4), 4, (5, 5), {"pad": 2}),
}


@pytest.mark.parametrize("modulated", [False, True], ids=["plain", "modulated"])
@pytest.mark.parametrize("form", FORMS)
def test_agrees_with_the_reference(
    form: str, modulated: bool, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    shape, outputs, kernel, numbers = FORMS[form]
    call = random_call(rng, shape, outputs, kernel, modulated=modulated, **numbers)
    check_call(call, handle, rng, FLOAT_BAR)
    check_call(as_half(call), handle, rng, HALF_BAR)


@pytest.mark.parametrize("moved", [0.01, 0.5, 30.0])
def test_offsets_of_any_size(
    moved: float, handle: pymluops.Handle, rng: np.random.Generator
) -> None:
    call = random_call(rng, (2, 20, 24, 16), 16, pad=1, moved=moved)
    check_call(call, handle, rng, FLOAT_BAR)


def test_sums_of_thousands_of_terms(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    """512 channels and 9 taps: one running float32 sum would not do."""
    call = random_call(rng, (1, 7, 9, 512), 40, pad=1)
    check_call(call, handle, rng, FLOAT_BAR)


def test_sums_over_many_pixels(handle: pymluops.Handle, rng: np.random.Generator) -> None:
    call = random_call(rng, (1, 200, 304, 6), 5, pad=1)
    call = replace(call, x=np.abs(call.x))
    grad = call.gradient(rng)
    expected = call.expected_of_weight(grad)
    for got, exact in zip(call.backward_weight(handle, grad), expected, strict=True):
        check_accuracy(got, exact, FLOAT_BAR)


def test_coordinates_are_rounded_once(handle: pymluops.Handle) -> None:
    """The place of a tap is a whole number, to which the offset is added in float32."""
    x = np.zeros((1, 1, 4, 1), np.float32)
    x[0, 0, 3] = 1
    offset = np.zeros((1, 1, 1, 2), np.float32)
    for pad, dx in ((2**24, 2**24 + 2), (2**20, 2**20 + 2.75)):
        call = Call(
            x,
            offset,
            np.ones((1, 1, 1, 1), np.float32),
            numbers={"pad": (0, 0, pad, 0), "stride": (1, 2**30)},
        )
        offset[0, 0, 0, 1] = dx
        assert call.forward(handle).item() == max(0, np.float32(dx) - pad - 2)


def test_extreme_numbers(handle: pymluops.Handle) -> None:
    """Sums of strides, pads and dilations beyond 2**31 are sums, not overflows."""
    x = np.float32([[[[3]]]])
    most = 2**31 - 1
    numbers = {"pad": (most, most, most, most), "stride": most, "dilation": (most, 1)}
    kernel = np.arange(1, 4, dtype=np.float32).reshape(1, 3, 1, 1)
    call = Call(x, np.zeros((1, 1, 3, 6), np.float32), kernel, numbers=numbers)
    # Rows -most, 0, most; columns -most, 0, most: the middle tap of the middle column is the pixel.
    assert call.forward(handle).ravel().tolist() == [0, 6, 0]
    _, grad_input, _, grad_filter, _ = call.results(handle, np.ones((1, 1, 3, 1), np.float32))
    assert grad_input.item() == 2
    assert grad_filter.ravel().tolist() == [0, 3, 0]


# ------------------------------------------------------------------------------- descriptors


def test_a_descriptor_that_is_refused_stays_as_it_was() -> None:
    lib, ffi = pymluops.capi.lib, pymluops.capi.ffi
    made = ffi.new("mluOpDCNDescriptor_t *")
    assert lib.mluOpCreateDCNDescriptor(made) == 0
    kind = lib.MLUOP_DTYPE_FLOAT
    assert lib.mluOpSetDCNDescriptor(made[0], 4, [0] * 4, [1, 1], [1, 1], 1, 1, 1, kind) == 0
    assert lib.mluOpSetDCNDescriptor(made[0], 4, [5] * 4, [1, 0], [2, 2], 3, 1, 1, kind) != 0
    arrays = (EXAMPLE.x, EXAMPLE.offset, EXAMPLE.mask, EXAMPLE.filter)
    described = [pymluops.TensorDescriptor.from_array(a, "NHWC") for a in arrays]
    output = np.zeros((1, 1, 1, 1), np.float32)
    output_desc = pymluops.TensorDescriptor.from_array(output, "NHWC")
    pairs = [(d.cdata, ffi.from_buffer(a)) for d, a in zip(described, arrays, strict=True)]
    with pymluops.Handle() as handle:
        status = lib.mluOpDCNForward(
            handle.cdata,
            made[0],
            *(part for pair in pairs for part in pair),
            *(ffi.NULL,) * 3,
            0,
            output_desc.cdata,
            ffi.from_buffer(output),
        )
    assert status == 0
    assert output.item() == 8.25
    assert lib.mluOpDestroyDCNDescriptor(made[0]) == 0

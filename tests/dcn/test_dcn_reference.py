# SPDX-License-Identifier: Apache-2.0
"""The float64 reference of deformable convolution: by hand, dense, and by finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from dcn_calls import EXAMPLE, EXAMPLE_RESULTS, Call, dense, random_call

from pymluops._families._stand_in import COORDINATES


def test_the_example_of_the_contract() -> None:
    results = EXAMPLE.expected(np.full((1, 1, 1, 1), 2.0))
    assert [result.ravel().tolist() for result in results] == list(EXAMPLE_RESULTS)


@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
def test_zero_offsets_are_dense(
    pad: int, stride: int, dilation: int, rng: np.random.Generator
) -> None:
    numbers = {"pad": pad, "stride": stride, "dilation": dilation}
    call = random_call(rng, (2, 7, 6, 3), 4, (3, 2), modulated=False, moved=0, **numbers)
    expected = dense(call.x, call.filter, **numbers)
    np.testing.assert_allclose(call.expected_output(), expected, rtol=1e-13, atol=1e-13)


def test_whole_offsets_shift_the_image(rng: np.random.Generator) -> None:
    call = random_call(rng, (1, 6, 7, 2), 3, (1, 1), modulated=False, moved=0)
    call.offset[..., 0], call.offset[..., 1] = 2, -1
    shifted = np.zeros_like(call.x)
    shifted[:, :4, 1:] = call.x[:, 2:, :-1]
    assert np.allclose(call.expected_output(), dense(shifted, call.filter), rtol=1e-13)


def test_groups_are_convolutions_of_their_own(rng: np.random.Generator) -> None:
    call = random_call(rng, (2, 5, 6, 4), 6, pad=1, deformable_group=2, conv_group=2)
    whole = call.expected_output()
    for g in (0, 1):
        channels, outs, taps = slice(2 * g, 2 * g + 2), slice(3 * g, 3 * g + 3), 9
        part = Call(
            call.x[..., channels],
            call.offset[..., g * 2 * taps : (g + 1) * 2 * taps],
            call.filter[outs],
            call.mask[..., g * taps : (g + 1) * taps],
            call.bias[outs],
            {"pad": 1},
        )
        np.testing.assert_allclose(whole[..., outs], part.expected_output(), rtol=1e-13)


@pytest.mark.parametrize(
    "numbers", [{"pad": 1}, {"stride": (2, 1), "deformable_group": 2}], ids=str
)
def test_gradients_are_finite_differences(numbers: dict, rng: np.random.Generator) -> None:
    """In float64 and between pixels, where samples have slopes on both sides."""
    call = random_call(rng, (2, 5, 6, 4), 6, conv_group=2, **numbers)
    whole = np.floor(call.offset)
    wide = {
        name: getattr(call, name).astype(np.float64) for name in ("x", "filter", "mask", "bias")
    }
    call = replace(call, offset=whole + rng.uniform(0.2, 0.8, whole.shape), **wide)
    grad = rng.standard_normal((*call.offset.shape[:3], 6))
    token = COORDINATES.set(np.float64)
    try:
        _, *gradients = call.expected(grad)
        for name, gradient in zip(
            ("x", "offset", "mask", "filter", "bias"), gradients, strict=True
        ):
            at = getattr(call, name)
            direction = rng.standard_normal(at.shape)
            ends = [
                (replace(call, **{name: at + step * direction}).expected_output() * grad).sum()
                for step in (1e-5, -1e-5)
            ]
            slope = (ends[0] - ends[1]) / 2e-5
            assert slope == pytest.approx((gradient * direction).sum(), rel=1e-7)
    finally:
        COORDINATES.reset(token)


def test_samples_fade_out_beyond_the_last_pixel() -> None:
    """The map goes on as zeros: halfway to the next pixel half of the last one is left."""
    call = Call(np.float32([[[[4]]]]), np.float32([[[[0.5, 0]]]]), np.float32([[[[1]]]]))
    assert call.expected_output().item() == 2
    for y, x, value in ((-0.5, 0, 2), (0.5, 0.5, 1), (-1, 0, 0), (1, 0, 0), (0, 0.75, 1)):
        moved = replace(call, offset=np.float32([[[[y, x]]]]))
        assert moved.expected_output().item() == value

# SPDX-License-Identifier: Apache-2.0
"""What the NumPy functions of deformable RoI pooling take, and what they refuse."""

import numpy as np
import pytest
from python_calls import CALLS

import pymluops
from pymluops import BadParamError


@pytest.mark.parametrize("number", [1, np.float16(1), np.float64(1), np.array(1.0), np.int32(1)])
def test_numbers_of_any_type(number):
    call = CALLS["deform_roi_pool_forward"]
    assert np.array_equal(call(gamma=number), call(gamma=1.0))


def test_no_grad_offset_without_an_offset():
    call = CALLS["deform_roi_pool_backward"]
    assert call(offset=None)[1] is None
    with pytest.raises(BadParamError, match=r"out\[1\]: .* no offset"):
        call(offset=None, out=call.new_outputs())


def test_no_regions():
    """Ordinary in detection: the result is empty, and everything else is still judged."""
    forward, backward = CALLS["deform_roi_pool_forward"], CALLS["deform_roi_pool_backward"]
    none = {key: backward.arrays[key][:0] for key in ("rois", "offset")}
    empty = forward(**none)
    assert (empty.shape, empty.dtype) == ((0, 2, 3, 3), np.float32)
    assert forward(**none | {"offset": None}).shape == (0, 2, 3, 3)
    assert forward(**none, out=empty) is empty
    none["grad_output"] = backward.arrays["grad_output"][:0]
    out = np.full((2, 4, 5, 3), 7, np.float32), np.empty((0, 2, 2, 3), np.float32)
    for grad_input, grad_offset in (backward(**none), backward(**none, out=out)):
        assert not grad_input.any()
        assert (grad_input.shape, grad_offset.shape) == (out[0].shape, out[1].shape)
    assert backward(**none | {"offset": None})[1] is None
    for wrong in ({"pooled_height": 0}, {"rois": np.zeros((0, 4), np.float32)}):
        with pytest.raises(BadParamError):
            backward(**none | wrong)
        with pytest.raises(BadParamError):
            forward(**{"rois": none["rois"], "offset": None} | wrong)
    for more in ("offset", "grad_output"):
        with pytest.raises(BadParamError):
            backward(**none | {more: backward.arrays[more]})


def test_coordinates_that_half_cannot_hold():
    """Pixel 2049 exists in float32 alone."""
    x = np.zeros((1, 1, 4096, 4), np.float16)
    x[0, 0, 2049] = 1
    rois = np.array([[0, 2049, 0, 2050, 1]], np.float32)
    y = pymluops.deform_roi_pool_forward(x, rois, pooled=1)
    assert y.dtype == np.float16
    assert y[0, 0, 0].tolist() == [1] * 4
    assert pymluops.deform_roi_pool_forward(x, rois.astype(np.float16), pooled=1).max() < 1

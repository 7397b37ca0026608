# SPDX-License-Identifier: Apache-2.0
"""What the NumPy functions of PSAMask take, and what they refuse."""

import numpy as np
import pytest
from python_calls import CALLS

import pymluops
from pymluops import BadParamError, BadTypeError, reference


@pytest.mark.parametrize("function", [pymluops.psamask_forward, pymluops.psamask_backward])
def test_psamask_has_no_half(function):
    with pytest.raises(BadTypeError, match=r"dtype float16 given, expected float32; convert it"):
        function(np.zeros((1, 1, 1, 1), np.float16), psa_type=0, h_mask=1, w_mask=1)


def test_psa_type_by_name():
    call = CALLS["psamask_forward"]
    assert np.array_equal(call(psa_type="collect"), call(psa_type=0))
    assert np.array_equal(call(psa_type="distribute"), call(psa_type=1))
    for wrong in ("Collect", "", "0"):
        with pytest.raises(BadParamError, match=r"psa_type: .* expected .collect"):
            call(psa_type=wrong)
    with pytest.raises(BadParamError, match=r'psa_type: 2 given, expected "collect" \(0\) or'):
        call(psa_type=2)


def test_values_of_the_reference_are_float64():
    x = np.full((1, 1, 1, 1), 1 + 2.0**-40)
    assert reference.psamask_forward(x, "collect", mask_size=1).item() == 1 + 2.0**-40


def test_the_same_texts():
    for module in (pymluops, reference):
        x = np.ones((1, 2, 2, 9), np.float32)
        for wrong in ("both", 2):
            with pytest.raises(ValueError, match=f'psa_type: {wrong!r} given, expected "collect"'):
                module.psamask_forward(x, psa_type=wrong, mask_size=3)
        with pytest.raises(ValueError, match="mask_size: given beside h_mask, expected one of"):
            module.psamask_forward(x, psa_type=0, h_mask=3, mask_size=3)
        with pytest.raises(TypeError, match="h_mask: missing; pass h_mask and w_mask, or m"):
            module.psamask_forward(x, psa_type=0)

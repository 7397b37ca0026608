# SPDX-License-Identifier: Apache-2.0
"""What the NumPy functions of CARAFE take, and what they refuse."""

import numpy as np
import pytest
from python_calls import CALLS

import pymluops
from pymluops import BadParamError, BadTypeError, reference


def test_too_large_results_are_refused_without_memory():
    x, mask = np.zeros((1, 60, 50, 400), np.float16), np.zeros((1, 300, 250, 1), np.float16)
    with pytest.raises(pymluops.NotSupportedError, match="scale_factor is 1000"):
        pymluops.carafe_forward(x, mask, kernel_size=3, group_size=1, scale_factor=1000)


def test_too_large_results_of_empty_inputs():
    """The C library accepts anything beside an empty tensor; there is no such result, though."""
    x, mask = np.zeros((1, 4, 4, 4), np.float32), np.zeros((1, 0, 0, 9), np.float32)
    with pytest.raises(pymluops.NotSupportedError, match=r"out: 2\*\*31 elements or more"):
        pymluops.carafe_forward(x, mask, kernel_size=3, group_size=1, scale_factor=10000)


def test_limits_are_not_supported():
    with pytest.raises(pymluops.NotSupportedError, match=r"scale_factor is 6, expected at most 5"):
        CALLS["carafe_forward"](scale_factor=6)
    with pytest.raises(NotImplementedError):
        CALLS["carafe_forward"](scale_factor=6)


def test_the_dtype_that_is_wanted_is_named_at_once():
    call = CALLS["carafe_forward"]
    half = {name: array.astype(np.float16) for name, array in call.arrays.items()}
    with pytest.raises(BadTypeError) as caught:
        call(**(half | {"mask": half["mask"].astype(np.float64)}))
    expected = "float64 given, expected float16, the dtype of input; "
    assert expected + "convert it with .astype(numpy.float16)" in str(caught.value)


def test_with_and_without_a_batch_are_not_mixed():
    call = CALLS["carafe_forward"]
    with pytest.raises(BadParamError, match=r"mask: 4 dims given, .* expected 3 dims"):
        call(input=call.arrays["input"][0])
    with pytest.raises(BadParamError, match=r"mask: 3 dims given, .* expected 4 dims"):
        call(mask=call.arrays["mask"][0])


def test_sums_are_float64():
    x = np.full((1, 1, 1, 1), 1 + 2.0**-40)
    numbers = {"kernel_size": 1, "group_size": 1, "scale_factor": 1}
    assert reference.carafe_forward(x, [[[[1]]]], **numbers).item() == 1 + 2.0**-40

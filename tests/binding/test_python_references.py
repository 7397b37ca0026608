# SPDX-License-Identifier: Apache-2.0
"""A reference takes what its operator takes, and says the same about it."""

import inspect

import numpy as np
import pytest
from python_calls import CALLS, as_tuple, facts

from pymluops import reference

# Other ways to say what the small call of an operator says, or something near.
WAYS, BATCHED = facts("WAYS"), facts("BATCHED")
SHORT = {
    "h_mask": ("w_mask", "mask_size"),
    "pooled_height": ("pooled_width", "pooled"),
    "kernel_h": ("kernel_w", "kernel_size"),
    "pad_h": ("pad_w", "padding"),
}


def in_short(numbers):
    numbers = dict(numbers)
    for first, (second, both) in SHORT.items():
        if first in numbers:
            numbers[both] = numbers.pop(first), numbers.pop(second)
    return numbers


def agree(name, **arguments):
    results = as_tuple(CALLS[name].function(**arguments))
    expected = as_tuple(getattr(reference, CALLS[name].name)(**arguments))
    for got, want in zip(results, expected, strict=True):
        assert (got is None) == (want is None)
        if got is not None:
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_parameters_are_those_of_the_operator(name):
    def parameters(function):
        return {
            parameter.name: parameter.default
            for parameter in inspect.signature(function).parameters.values()
            if parameter.name not in ("out", "handle")
        }

    call = CALLS[name]
    assert parameters(getattr(reference, call.name)) == parameters(call.function)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_keywords(name):
    call = CALLS[name]
    agree(name, **call.arrays, **call.numbers)
    agree(name, **call.arrays, **in_short(call.numbers))
    for change in WAYS.get(name, ()):
        agree(name, **call.arrays | call.numbers | change)


@pytest.mark.parametrize("name", BATCHED)
def test_one_image(name):
    call = CALLS[name]
    arrays = dict(call.arrays)
    images = arrays[next(key for key in arrays if arrays[key].ndim == 4)].shape[0]
    for key, array in arrays.items():
        if key == "rois":
            arrays[key] = array * np.float32([0, 1, 1, 1, 1])
        elif key in BATCHED[name] and array.shape[0] == images:
            arrays[key] = array[0]
    agree(name, **arrays, **call.numbers)


@pytest.mark.parametrize("name", CALLS)
def test_lists_and_float64(name):
    """Values of float64 are not rounded first; lists are as good as arrays."""
    call = CALLS[name]
    function = getattr(reference, call.name)
    expected = as_tuple(function(**call.arrays, **call.numbers))
    wide = {
        key: array.astype(np.float64) if array.dtype == np.float32 else array.astype(np.int64)
        for key, array in call.arrays.items()
    }
    lists = {key: array.tolist() for key, array in call.arrays.items()}
    for arrays in (wide, lists):
        for got, want in zip(as_tuple(function(**arrays, **call.numbers)), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_every_operator_has_a_reference():
    assert {call.name for call in CALLS.values()} < set(reference.__all__)

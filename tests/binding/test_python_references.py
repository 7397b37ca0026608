# SPDX-License-Identifier: Apache-2.0
"""A reference takes what its operator takes, and says the same about it."""

import inspect

import numpy as np
import pytest
from python_calls import CALLS, as_tuple

import pymluops
from pymluops import reference

MASK = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]], bool)
# Other ways to say what the small call of an operator says, or something near.
WAYS = {
    "psamask_forward": [{"psa_type": "collect"}, {"psa_type": "distribute"}],
    "psamask_backward": [{"psa_type": "collect"}, {"psa_type": "distribute"}],
    "masked_im2col_forward": [
        {"mask_h_idx": MASK, "mask_w_idx": None},
        {"mask_h_idx": np.nonzero(MASK), "mask_w_idx": None},
        {
            "feature": np.float32(range(48)).reshape(2, 2, 4, 3),
            "mask_h_idx": np.stack((MASK, ~MASK)),
            "mask_w_idx": None,
        },
    ],
    "masked_col2im_forward": [
        {"col": np.float32(range(10)).reshape(2, 5), "mask_h_idx": MASK, "mask_w_idx": None},
        {
            "col": np.float32(range(24)).reshape(2, 12),
            "mask_h_idx": np.stack((MASK, ~MASK)),
            "mask_w_idx": None,
            "height": None,
            "width": None,
        },
    ],
    "border_align_forward": [
        {"boxes": CALLS["border_align_forward"].arrays["boxes"].reshape(2, 2, 3, 4)}
    ],
    "deform_roi_pool_forward": [{"offset": None}, {"gamma": 0.5, "spatial_scale": 0.5}],
}
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
    results = as_tuple(getattr(pymluops, name)(**arguments))
    expected = as_tuple(getattr(reference, name)(**arguments))
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

    assert parameters(getattr(reference, name)) == parameters(getattr(pymluops, name))


@pytest.mark.parametrize("name", CALLS)
def test_the_same_keywords(name):
    call = CALLS[name]
    agree(name, **call.arrays, **call.numbers)
    agree(name, **call.arrays, **in_short(call.numbers))
    for change in WAYS.get(name, ()):
        agree(name, **call.arrays | call.numbers | change)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "masked_col2im_forward"])
def test_one_image(name):
    call = CALLS[name]
    arrays = dict(call.arrays)
    images = arrays[next(key for key in arrays if arrays[key].ndim == 4)].shape[0]
    for key, array in arrays.items():
        if key == "rois":
            arrays[key] = array * np.float32([0, 1, 1, 1, 1])
        elif key not in ("offset", "col", "mask_h_idx", "mask_w_idx") and (
            array.shape[0] == images and not (name == "deform_roi_pool_backward" and key != "input")
        ):
            arrays[key] = array[0]
    agree(name, **arrays, **call.numbers)


@pytest.mark.parametrize("name", CALLS)
def test_lists_and_float64(name):
    """Values of float64 are not rounded first; lists are as good as arrays."""
    call = CALLS[name]
    function = getattr(reference, name)
    expected = as_tuple(function(**call.arrays, **call.numbers))
    wide = {
        key: array.astype(np.float64) if array.dtype == np.float32 else array.astype(np.int64)
        for key, array in call.arrays.items()
    }
    lists = {key: array.tolist() for key, array in call.arrays.items()}
    for arrays in (wide, lists):
        for got, want in zip(as_tuple(function(**arrays, **call.numbers)), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_sums_are_float64():
    x = np.full((1, 1, 1, 1), 1 + 2.0**-40)
    numbers = {"kernel_size": 1, "group_size": 1, "scale_factor": 1}
    assert reference.carafe_forward(x, [[[[1]]]], **numbers).item() == 1 + 2.0**-40
    assert reference.psamask_forward(x, "collect", mask_size=1).item() == 1 + 2.0**-40


def test_the_same_texts():
    for module in (pymluops, reference):
        x = np.ones((1, 2, 2, 9), np.float32)
        for wrong in ("both", 2):
            with pytest.raises(ValueError, match=f'psa_type: {wrong!r} given, expected "collect"'):
                module.psamask_forward(x, psa_type=wrong, mask_size=3)
        with pytest.raises(ValueError, match="mask_size: given beside h_mask, expected one of"):
            module.psamask_forward(x, psa_type=0, h_mask=3, mask_size=3)
        with pytest.raises(TypeError, match="h_mask: None given, expected an int"):
            module.psamask_forward(x, psa_type=0)


def test_names_of_modules_still_work():
    from pymluops.reference.masked_im2col import masked_im2col_forward

    assert masked_im2col_forward is reference.masked.masked_im2col_forward
    assert masked_im2col_forward is reference.masked_im2col_forward
    assert {*CALLS} < set(reference.__all__)

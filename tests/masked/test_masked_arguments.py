# SPDX-License-Identifier: Apache-2.0
"""What the NumPy functions of masked im2col and col2im take, and what they refuse."""

import array

import numpy as np
import pytest
from interpreter import said_without_memory
from python_calls import CALLS, assert_blames, same

import pymluops
from pymluops import BadParamError, BadTypeError, MluOpError, reference
from pymluops._families.masked import positions


def test_two_huge_numbers_do_not_overflow():
    call = CALLS["masked_im2col_forward"]
    with pytest.raises(MluOpError, match=r"too large|elements"):
        call(kernel_h=2**31 - 1, kernel_w=2**31 - 1)


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3), np.array(3), True + 2])
def test_whole_numbers_of_any_type(number):
    call = CALLS["masked_im2col_forward"]
    assert np.array_equal(call(kernel_h=number), call(kernel_h=3))


def test_too_large_results_are_refused_without_memory():
    with pytest.raises(pymluops.NotSupportedError, match=r"data_col has 25769803776 elements"):
        CALLS["masked_im2col_forward"](kernel_h=2**20, kernel_w=2**12)


def test_positions_of_the_standard_library():
    call = CALLS["masked_im2col_forward"]
    assert np.array_equal(call(mask_h_idx=array.array("i", [0, 1, 3])), call())
    with pytest.raises(BadTypeError, match=r"mask_h_idx: dtype int16 given, expected int32"):
        call(mask_h_idx=array.array("h", [0, 1, 3]))


def test_lists_of_positions():
    call = CALLS["masked_im2col_forward"]
    assert call(mask_h_idx=[], mask_w_idx=[]).shape == (12, 0)
    for wrong in ([0, 1, 2**31], [0, 1, -(2**40)]):
        with pytest.raises(BadParamError, match=f"mask_h_idx: {wrong[2]} given, which does not"):
            call(mask_h_idx=wrong)
    for wrong in ([0.0, 1.0, 3.0], [True, False, True], [2**70, 0, 0], ["0", "1", "3"]):
        with pytest.raises(BadTypeError, match=r"mask_h_idx: list of .* expected int32"):
            call(mask_h_idx=wrong)


def test_errors_name_the_function_that_was_called():
    """Not the one that the size of working memory was asked of."""
    for name, wrong in (
        ("masked_im2col_forward", {"kernel_h": 0}),
        ("masked_col2im_forward", {"mask_h_idx": np.zeros(2, np.int32)}),
    ):
        with pytest.raises(BadParamError) as caught:
            CALLS[name](**wrong)
        assert_blames(caught.value, name, "")


def test_one_number_for_both_directions():
    call = CALLS["masked_im2col_forward"]
    arrays = call.arrays.values()
    short = call.function(*arrays, kernel_size=3, padding=1)
    assert same(short, call.function(*arrays, kernel_h=3, kernel_w=3, pad_h=1, pad_w=1))
    with pytest.raises(BadParamError, match="padding: given beside pad_w"):
        call.function(*arrays, kernel_size=3, pad_w=1, padding=1)


@pytest.fixture
def mask():
    return np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]], bool)


def test_a_mask_for_the_positions(mask):
    rows, columns = np.nonzero(mask)
    feature = CALLS["masked_im2col_forward"].arrays["feature"]
    numbers = {"kernel_h": 3, "kernel_w": 2, "pad_h": 1, "pad_w": 0}
    expected = pymluops.masked_im2col_forward(feature, rows, columns, **numbers)
    assert same(pymluops.masked_im2col_forward(feature, mask, **numbers), expected)
    assert same(pymluops.masked_im2col_forward(feature, np.nonzero(mask), **numbers), expected)
    col = np.arange(2 * len(rows), dtype=np.float32).reshape(2, -1)
    expected = pymluops.masked_col2im_forward(col, rows, columns, height=4, width=3)
    assert same(pymluops.masked_col2im_forward(col, mask), expected)
    assert same(pymluops.masked_col2im_forward(col, np.nonzero(mask), height=4, width=3), expected)


@pytest.mark.parametrize("order", [1, -1])
def test_positions_of_a_mask_are_those_of_nonzero(mask, order, monkeypatch):
    """Also where memory is not C-contiguous, and where maps are too large to keep their pixels."""
    mask = mask[::order, ::order].T
    assert np.array_equal(positions.chosen_positions(mask), np.nonzero(mask))
    kept = positions._pixels.cache_info()
    monkeypatch.setattr(positions, "KEPT_PIXELS", mask.size - 1)
    found = positions.chosen_positions(mask)
    assert np.array_equal(found, np.nonzero(mask))
    assert found.dtype == np.int32
    assert positions._pixels.cache_info() == kept
    assert positions.chosen_positions(mask[:0]).shape == (2, 0)


def test_masks_for_a_batch(rng, mask):
    masks = np.stack((mask, ~mask, np.zeros_like(mask)))
    features = rng.standard_normal((3, 2, 4, 3)).astype(np.float32)
    parts = [
        pymluops.masked_im2col_forward(f[None], m, kernel_size=3, padding=1)
        for f, m in zip(features, masks, strict=True)
    ]
    expected = np.concatenate(parts, axis=1)
    col = pymluops.masked_im2col_forward(features, masks, kernel_size=3, padding=1)
    assert same(col, expected)
    out = np.empty_like(expected)
    assert pymluops.masked_im2col_forward(features, masks, kernel_size=3, padding=1, out=out) is out
    assert same(out, expected)
    back = pymluops.masked_col2im_forward(col[4::9], masks)
    assert np.array_equal(back, features * masks[:, None])
    out = np.empty_like(back)
    assert pymluops.masked_col2im_forward(col[4::9], masks, out=out) is out
    assert same(out, back)


def test_masks_that_do_not_fit(mask):
    im2col, col2im = CALLS["masked_im2col_forward"], CALLS["masked_col2im_forward"]
    feature, col = im2col.arrays["feature"], np.ones((2, 5), np.float32)
    for wrong in (mask[:3], mask[None, :3], np.stack((mask, mask))):
        with pytest.raises(BadParamError, match=r"mask_h_idx: mask of shape .* as the map"):
            im2col.function(feature, wrong, kernel_size=1)
    for wrong in (mask[0], mask[None, None]):
        with pytest.raises(BadParamError, match=r"mask_h_idx: mask of shape .* expected \[H, W\]"):
            im2col.function(feature, wrong, kernel_size=1)
    with pytest.raises(BadParamError, match="mask_h_idx: mask of shape"):
        col2im.function(col, mask, height=5, width=3)
    with pytest.raises(BadParamError, match=r"col: 5 columns given, expected 10 as the mask"):
        col2im.function(col, np.stack((mask, mask)))
    with pytest.raises(BadParamError, match="mask_h_idx: tuple of 3 given, expected two arrays"):
        im2col.function(feature, np.nonzero(mask[None]), kernel_size=1)
    with pytest.raises(BadParamError, match="mask_h_idx: mask of no image given"):
        im2col.function(feature[:0], mask[None][:0], kernel_size=1)
    for columns in (col, col[:, :0]):
        with pytest.raises(BadParamError, match="mask_h_idx: mask of no image given"):
            col2im.function(columns, mask[None][:0])
    with pytest.raises(BadTypeError, match="mask_w_idx: None given, expected an array; only a"):
        im2col.function(feature, np.array([0, 1]), kernel_size=1)
    with pytest.raises(BadTypeError, match="mask_h_idx: list given that is no array"):
        im2col.function(feature, [[True], [True, False]], kernel_size=1)
    masked = np.ma.array(mask, mask=mask)
    with pytest.raises(BadTypeError, match=r"mask_h_idx: masked array .* fill it with"):
        im2col.function(feature, masked, kernel_size=1)
    with pytest.raises(BadTypeError, match=r"mask_h_idx: masked array .* fill it with"):
        col2im.function(col, masked)


def test_names_of_modules_still_work():
    from pymluops.reference.masked_im2col import masked_im2col_forward

    assert masked_im2col_forward is reference.masked.masked_im2col_forward
    assert masked_im2col_forward is reference.masked_im2col_forward


def test_a_copy_that_does_not_fit_is_an_error():
    call = "pymluops.masked_im2col_forward(large.transpose(0, 3, 1, 2), [0], [0], kernel_size=1)"
    expected = "AllocFailedError [mluOpMaskedIm2colForward] feature: no memory for shape (1, 4, 2"
    assert said_without_memory(call)[0].startswith(expected)

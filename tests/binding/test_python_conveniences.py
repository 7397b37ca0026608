# SPDX-License-Identifier: Apache-2.0
"""Short ways to say the same: they give the bits that the long way gives."""

import numpy as np
import pytest
from python_calls import CALLS, as_tuple

import pymluops
from pymluops import BadParamError, BadTypeError


def same(one, two):
    for a, b in zip(as_tuple(one), as_tuple(two), strict=True):
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
    return True


# ------------------------------------------------------------------------------------ numbers

SIZES = {
    "psamask_forward": ("mask_size", ("h_mask", "w_mask"), None),
    "psamask_backward": ("mask_size", ("h_mask", "w_mask"), None),
    "deform_roi_pool_forward": ("pooled", ("pooled_height", "pooled_width"), None),
    "deform_roi_pool_backward": ("pooled", ("pooled_height", "pooled_width"), None),
    "masked_im2col_forward": ("kernel_size", ("kernel_h", "kernel_w"), None),
}


@pytest.mark.parametrize("name", SIZES)
def test_two_sizes_in_one(name):
    call = CALLS[name]
    short, long, _ = SIZES[name]
    pair = tuple(call.numbers[each] for each in long)
    numbers = {key: value for key, value in call.numbers.items() if key not in long}
    arrays = call.arrays.values()
    assert same(call.function(*arrays, **numbers, **{short: pair}), call())
    assert same(call.function(*arrays, **numbers, **{short: list(pair)}), call())
    with pytest.raises(BadParamError, match=f"{short}: given beside {long[0]}, expected one of"):
        call(**{short: pair})
    for wrong in ((1, 2, 3), ()):
        with pytest.raises(BadParamError, match=f"{short}: {len(wrong)} numbers given"):
            call.function(*arrays, **numbers, **{short: wrong})
    with pytest.raises(BadTypeError, match=f"{short}: 'two' given, expected an int"):
        call.function(*arrays, **numbers, **{short: "two"})
    with pytest.raises(BadTypeError, match=f"{long[0]}: None given, expected an int"):
        call.function(*arrays, **numbers)


def test_one_number_for_both_directions():
    call = CALLS["masked_im2col_forward"]
    arrays = call.arrays.values()
    short = call.function(*arrays, kernel_size=3, padding=1)
    assert same(short, call.function(*arrays, kernel_h=3, kernel_w=3, pad_h=1, pad_w=1))
    with pytest.raises(BadParamError, match="padding: given beside pad_w"):
        call.function(*arrays, kernel_size=3, pad_w=1, padding=1)


# -------------------------------------------------------------------------------------- images

BATCHED = {
    "carafe_forward": ("input", "mask"),
    "carafe_backward": ("input", "mask", "grad_output"),
    "psamask_forward": ("x",),
    "psamask_backward": ("dy",),
    "deform_roi_pool_forward": ("input",),
    "deform_roi_pool_backward": ("input",),
    "border_align_forward": ("input", "boxes"),
    "border_align_backward": ("grad_output", "boxes", "argmax_idx"),
    "masked_im2col_forward": ("feature",),
}
# Results that have no dim of images.
UNBATCHED_RESULTS = {
    ("deform_roi_pool_forward", 0),
    ("deform_roi_pool_backward", 1),
    ("masked_im2col_forward", 0),
}


@pytest.mark.parametrize("name", BATCHED)
def test_an_image_without_a_batch(name):
    call = CALLS[name]
    first = {argument: call.arrays[argument][:1] for argument in BATCHED[name]}
    if "rois" in call.arrays:
        first["rois"] = call.arrays["rois"] * np.float32([0, 1, 1, 1, 1])
    single = first | {argument: first[argument][0] for argument in BATCHED[name]}
    expected = [
        result if (name, i) in UNBATCHED_RESULTS else result[0]
        for i, result in enumerate(call.results(**first))
    ]
    assert same(call.results(**single), tuple(expected))
    out = tuple(np.empty_like(result) for result in expected)
    returned = as_tuple(call(**single, out=out if len(out) > 1 else out[0]))
    assert all(got is given for got, given in zip(returned, out, strict=True))
    assert same(out, tuple(expected))
    strided = {key: np.repeat(value, 2, -1)[..., ::2] for key, value in single.items()}
    assert same(call.results(**strided), tuple(expected))


def test_with_and_without_a_batch_are_not_mixed():
    call = CALLS["carafe_forward"]
    with pytest.raises(BadParamError, match=r"mask: 4 dims given, .* expected 3 dims"):
        call(input=call.arrays["input"][0])
    with pytest.raises(BadParamError, match=r"mask: 3 dims given, .* expected 4 dims"):
        call(mask=call.arrays["mask"][0])


@pytest.mark.parametrize("name", ["border_align_forward", "border_align_backward"])
def test_boxes_for_each_pixel_of_a_map(name):
    call = CALLS[name]
    boxes = call.arrays["boxes"].reshape(2, 2, 3, 4)
    assert same(call(boxes=boxes), call())
    assert same(call(boxes=np.repeat(boxes, 2, 1)[:, ::2]), call())
    first = next(iter(call.arrays))
    single = {key: value[0] for key, value in call.arrays.items()} | {"boxes": boxes[0]}
    expected = call.results(**{key: value[:1] for key, value in call.arrays.items()})
    assert same(call.results(**single), tuple(result[0] for result in expected))
    assert first != "boxes"


# ------------------------------------------------------------------------------------ positions


def test_int64_indices():
    for name, call in CALLS.items():
        for argument, base in call.arrays.items():
            if base.dtype == np.int32:
                assert same(call(**{argument: base.astype(np.int64)}), call())
                assert same(call(**{argument: list(base.astype(np.int64))}), call())
                wrong = base.astype(np.int64)
                wrong.flat[0] = 2**32
                with pytest.raises(BadParamError, match=f"{argument}: number .* not fit int32"):
                    call(**{argument: wrong})
                assert name != "carafe_forward"


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
    with pytest.raises(BadTypeError, match="mask_w_idx: None given, expected an array; only a"):
        im2col.function(feature, np.array([0, 1]), kernel_size=1)


# ------------------------------------------------------------------------------------- regions


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


FLOAT32_COORDINATES = {
    "deform_roi_pool_forward": "rois",
    "deform_roi_pool_backward": "rois",
    "border_align_forward": "boxes",
    "border_align_backward": "boxes",
}


@pytest.mark.parametrize("name", FLOAT32_COORDINATES)
def test_half_maps_with_float32_coordinates(name):
    """Where float16 holds the coordinates, the bits are those of a call in float16 alone."""
    call = CALLS[name]
    half = {
        argument: base.astype(np.float16) if base.dtype == np.float32 else base
        for argument, base in call.arrays.items()
    }
    argument = FLOAT32_COORDINATES[name]
    mixed = half | {argument: half[argument].astype(np.float32)}
    assert same(call(**mixed), call(**half))
    out = tuple(np.full_like(result, 7) for result in call.results(**half))
    assert same(call(**mixed, out=out if len(out) > 1 else out[0]), call(**half))
    assert same(out, call.results(**half))
    with pytest.raises(BadTypeError, match=f"{argument}: dtype float16 given, expected float32"):
        call(**{argument: half[argument]})


def test_coordinates_that_half_cannot_hold():
    """Pixel 2049 exists in float32 alone."""
    x = np.zeros((1, 1, 4096, 4), np.float16)
    x[0, 0, 2049] = 1
    rois = np.array([[0, 2049, 0, 2050, 1]], np.float32)
    y = pymluops.deform_roi_pool_forward(x, rois, pooled=1)
    assert y.dtype == np.float16
    assert y[0, 0, 0].tolist() == [1] * 4
    assert pymluops.deform_roi_pool_forward(x, rois.astype(np.float16), pooled=1).max() < 1
    boxes = np.broadcast_to(np.float32([2049, 0, 2049, 0]), (1, 4096, 4))
    maxima, _ = pymluops.border_align_forward(x, boxes, pool_size=1)
    assert maxima.dtype == np.float16
    assert maxima.min() == 1

# SPDX-License-Identifier: Apache-2.0
"""RoIAlign against its reference, and by hand where small."""

from dataclasses import replace

import numpy as np
import pytest
from roi_align_calls import (
    EXAMPLE,
    FLOAT_BAR,
    HALF_BAR,
    Call,
    as_half,
    check_accuracy,
    check_call,
    check_same,
    random_call,
)

import pymluops

# ---------------------------------------------------------------------------------- by hand

GRADS = np.float32([4, 8])


def flat(values):
    return np.asarray(values).reshape(-1).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("boxes", "settings", "mean", "maximum", "of_mean", "of_maximum"),
    [
        (
            [[0, 0, 0, 4, 2], [0, -2, -2, 1, 1]],
            {"ratio": 2},
            [2.75, 7, 0, 0.53125],
            ([5, 9, 0, 1.125], [1, 3, -2.125, 0.125], [1, 1, -1.75, -0.25]),
            [4.75, 1.25, 2, 2, 1, 1, 2, 2, 0, 0, 0, 0],
            [7, 1, 0, 0, 0, 4, 0, 8, 0, 0, 0, 0],
        ),
        (
            [[0, 0, 0, 4, 2], [0, 3, 2, 1, 0]],
            {"aligned": False},
            [3.5625, 6.5625, 1, 1],
            ([4.5, 8.5, 1, 1], [1.5, 3.5, 3.25, 3.75], [0.5, 0.5, 2.5, 2.5]),
            [0.25, 0.5, 0.75, 1.5, 0.5, 1, 1.5, 3, 0.25, 0.5, 0.75, 13.5],
            [0, 1, 1, 4, 0, 1, 1, 4, 0, 0, 0, 12],
        ),
        (
            [[0, 3, 2, 1, 0]],
            {"ratio": 2},
            [5.625, 3.5625],
            ([7.5, 5.5], [2.25, 1.25], [1, 1]),
            [0.5, 3.25, 2, 0.25, 0.5, 3.25, 2, 0.25, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 6, 5, 1, 0, 0, 0, 0],
        ),
        ([[0, 3, 2, 1, 0]], {}, [0, 0], ([0, 0], [-1, -1], [-1, -1]), [0] * 12, [0] * 12),
    ],
    ids=["aligned", "not aligned", "upside down", "upside down and adaptive"],
)
def test_the_examples_of_the_contract(
    boxes, settings, mean, maximum, of_mean, of_maximum, dtype, handle
):
    rois = np.array(boxes, dtype)
    call = Call(EXAMPLE.astype(dtype), rois, pooled=(1, 2), scale=1.0, **settings)
    grad = np.tile(GRADS, len(rois)).astype(dtype).reshape(len(rois), 1, 2, 1)
    assert flat(call.forward(handle)) == mean
    assert flat(call.backward(handle, grad)) == of_mean
    largest = replace(call, mode="max")
    found = largest.forward(handle)
    assert tuple(map(flat, found)) == maximum
    assert flat(largest.backward(handle, grad, *found[1:])) == of_maximum


def test_rois_of_one_pixel_at_least_unless_aligned(handle):
    rois = np.float32([[0, 1, 1, 1.25, 1.25], [0, 1, 1, np.nan, 1.25], [0, 1, 1, -5, 9]])
    call = Call(EXAMPLE, rois[:2], pooled=(1, 1), scale=1.0, ratio=1, aligned=False)
    middle = (5 + 7 + 0 + 6) / 4  # of (1, 1) to (2, 2)
    assert flat(call.forward(handle)) == [middle, middle]
    narrow = replace(call, rois=rois[2:], mode="max")  # 1 wide, 8 high: the middle is at y = 5
    assert tuple(map(flat, narrow.forward(handle))) == ([0], [1.5], [5])


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([[1, 1, 1, 1]] * 3, (0.5, 0.5)),
        ([[0, 0, 0, 0]] * 3, (0.5, 0.5)),
        ([[1, 1, 2, 2]] * 3, (2.5, 0.5)),
        ([[1, 1, 1, 1], [1, 1, 1, 1], [3, 3, 3, 3]], (0.5, 1.5)),
    ],
)
def test_the_first_of_equal_samples_counts(rows, place, handle):
    x = np.float32(rows).reshape(1, 3, 4, 1)
    # Samples at x = 0.5, 1.5, 2.5 and y = 0.5, 1.5.
    rois = np.float32([[0, 0.5, 0.5, 3.5, 2.5]])
    _, at_x, at_y = Call(x, rois, pooled=(1, 1), scale=1.0, mode="max").forward(handle)
    assert (at_x.item(), at_y.item()) == place


@pytest.mark.parametrize(
    ("roi", "place"),
    [
        ([-2, 0.5, 2, 2.5], (-2, 0.5)),  # columns -2, -1 ... : the first one is outside
        ([2.5, 0.5, 7.5, 2.5], (4.5, 0.5)),  # the third sample of the first row
        ([0.5, 1.5, 2.5, 5.5], (0.5, 3.5)),  # all columns inside, the third row is not
        ([6.5, 0.5, 1.5, 2.5], (5.5, 0.5)),  # from right to left
    ],
)
def test_of_samples_outside_the_first_one_stands_for_all(roi, place, handle):
    """On a map of negative values the 0 outside is the maximum."""
    x = np.full((1, 3, 4, 5), -1, np.float32)
    ratio = 2 if roi[2] < roi[0] else 0
    call = Call(x, np.float32([[0, *roi]]), pooled=(1, 1), scale=1.0, ratio=ratio, mode="max")
    got = call.forward(handle)
    check_same(got, call.expected())
    assert (got[0] == 0).all()
    if ratio == 0:
        assert {*got[1].ravel(), *got[2].ravel()} == {*place}


@pytest.mark.parametrize("first", [np.nan, -np.inf, -1])
@pytest.mark.parametrize("then", [np.nan, -np.inf, -2, 3])
@pytest.mark.parametrize("channels", [1, 7, 70])
def test_nan_loses_against_every_number(first, then, channels, handle):
    """Two samples, each on a pair of columns of its own."""
    x = np.empty((1, 1, 4, channels), np.float32)
    x[:, :, :2], x[:, :, 2:] = first, then
    rois = np.float32([[0, 0, 0.5, 4, 0.75]])  # samples at x = 0.5 and 2.5
    call = Call(x, rois, pooled=(1, 1), scale=1.0, ratio=2, mode="max")
    rows = replace(call, rois=np.float32([[0, 0.5, 0.5, 4.5, 0.75]]))
    for each in (call, rows):
        check_same(each.forward(handle), each.expected())


def test_an_empty_roi_has_no_place(handle):
    rois = np.float32([[0, 2, 2, 2, 2], [0, 3, 3, 1, 1]])
    found = Call(EXAMPLE, rois, scale=1.0, mode="max").forward(handle)
    assert [set(flat(values)) for values in found] == [{0}, {-1}, {-1}]


# -------------------------------------------------------------------------------- reference

SHAPES = [(1, 1, 1, 1), (2, 9, 7, 3), (1, 20, 33, 16), (3, 5, 40, 17), (1, 12, 11, 70)]
SHAPES += [(1, 6, 6, 256), (1, 5, 7, 1100)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ratio", [0, 1, 2, 5])
@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "not aligned"])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_agrees_with_the_reference(shape, ratio, aligned, mode, handle, rng):
    call = random_call(rng, shape, 6, ratio=ratio, aligned=aligned, mode=mode)
    check_call(call, handle, rng, FLOAT_BAR)
    check_call(as_half(call), handle, rng, HALF_BAR)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_many_bins_in_the_order_of_the_map(mode, handle, rng):
    call = random_call(rng, (2, 40, 80, 96), 300, pooled=(2, 3), ratio=2, mode=mode)
    check_call(call, handle, rng, FLOAT_BAR)


# By how many bins touch a pixel, how large the map is, and how large a bin is.
WAYS = {
    "few RoIs on a large map": {"shape": (1, 64, 96, 48), "rois": 3, "ratio": 2},
    "many RoIs on a small map": {"shape": (1, 9, 11, 20), "rois": 300, "ratio": 0},
    "many RoIs on a pixel": {"shape": (1, 1, 1, 20), "rois": 800, "ratio": 1},
    "few channels": {"shape": (2, 20, 30, 3), "rois": 100, "ratio": 0},
    "one channel": {"shape": (2, 40, 150, 1), "rois": 60, "ratio": 2},
    "one channel, few RoIs": {"shape": (1, 90, 150, 1), "rois": 3, "ratio": 2},
    "two rows": {"shape": (1, 2, 300, 5), "rois": 30, "ratio": 2},
    "two columns": {"shape": (1, 300, 2, 130), "rois": 30, "ratio": 2},
    "bins of many tiles": {"shape": (1, 60, 70, 512), "rois": 20, "ratio": 0, "pooled": (1, 1)},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_ways_of_the_backward(way, mode, handle, rng):
    call = random_call(rng, mode=mode, **WAYS[way])
    check_call(call, handle, rng, FLOAT_BAR)
    check_call(as_half(call), handle, rng, HALF_BAR)


def test_maxima_of_wide_bins_and_many_samples(handle, rng):
    """More columns, rows and samples than are kept at a time."""
    for shape, ratio in (((1, 3, 700, 19), 0), ((1, 200, 4, 3), 0), ((1, 6, 6, 33), 128)):
        call = random_call(rng, shape, 5, pooled=(1, 1), ratio=ratio, mode="max")
        check_same(call.forward(handle), call.expected())


# ------------------------------------------------------------------------------- properties


def test_without_offsets_deformable_pooling_is_the_same(handle, rng):
    call = random_call(rng, (2, 20, 24, 37), 30, ratio=2)
    numbers = {"pooled": call.pooled, "spatial_scale": 0.5, "sampling_ratio": 2, "handle": handle}
    result = call.forward(handle)
    deformable = pymluops.deform_roi_pool_forward(call.x, call.rois, **numbers)
    assert np.array_equal(result, deformable)
    of_map, _ = pymluops.deform_roi_pool_backward(result, call.x, call.rois, **numbers)
    assert np.array_equal(call.backward(handle, result), of_map)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_a_region_does_not_depend_on_the_others(mode, half, near_and_past, rng):
    # More than caches hold, all of it needed: strips, prefetched rows, results past the caches.
    x = rng.standard_normal((2, 40, 150, 96), np.float32)
    corner = rng.uniform(-5, 1, (200, 2)) + rng.random((200, 2)) * [140, 30]
    rois = np.c_[np.repeat([0, 1], 100), corner, corner + rng.uniform(5, 20, (200, 2))]
    call = Call(x, rois.astype(np.float32), pooled=(7, 7), scale=1.0, ratio=2, mode=mode)
    call = as_half(call) if half else call
    near, past = near_and_past
    few = [replace(call, rois=call.rois[i : i + 20]).forward(near) for i in range(0, 200, 20)]
    few = [(part,) if mode == "avg" else part for part in few]
    for threads in (1, 2, 5):
        past.num_threads = threads
        whole = call.forward(past)
        for i, result in enumerate((whole,) if mode == "avg" else whole):
            assert np.array_equal(result, np.concatenate([part[i] for part in few]))


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_images_do_not_depend_on_each_other(mode, handle, rng):
    call = random_call(rng, (3, 12, 15, 24), 40, mode=mode)
    found = call.forward(handle)
    places = () if mode == "avg" else found[1:]
    grad = rng.standard_normal((40, 2, 3, 24)).astype(np.float32)
    together = call.backward(handle, grad, *places)
    for image in range(3):
        mine = call.rois[:, 0] == image
        alone = replace(call, x=call.x[image : image + 1], rois=call.rois[mine] * [0, 1, 1, 1, 1])
        alone = replace(alone, rois=alone.rois.astype(np.float32))
        part = alone.backward(handle, grad[mine], *(place[mine] for place in places))
        check_accuracy(part[0], together[image], 1e-6)


def test_no_regions(handle):
    none = Call(EXAMPLE, np.empty((0, 5), np.float32))
    assert none.forward(handle).shape == (0, 2, 3, 1)
    assert [each.shape for each in replace(none, mode="max").forward(handle)] == [(0, 2, 3, 1)] * 3
    grad = np.empty((0, 2, 3, 1), np.float32)
    for gradient in (
        none.backward(handle, grad, out=np.full((1, 3, 4, 1), 7, np.float32)),
        replace(none, mode="max").backward(handle, grad, grad, grad),
    ):
        assert np.array_equal(gradient, np.zeros((1, 3, 4, 1)))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"mode": "mean"}, pymluops.BadParamError, "pool_mode: 'mean' given, expected 'max' or"),
        ({"mode": None}, pymluops.BadParamError, "pool_mode: None given"),
        ({"ratio": 129, "mode": "max"}, pymluops.NotSupportedError, "sampling_ratio is 129"),
        ({"pooled": (0, 2)}, pymluops.BadParamError, "pooled_height is 0"),
    ],
)
def test_errors(change, error, text, handle):
    call = replace(Call(EXAMPLE, np.float32([[0, 0, 0, 2, 2]])), **change)
    with pytest.raises(error, match=text):
        call.forward(handle)


@pytest.mark.parametrize("channels", [1, 40])
def test_shares_of_a_point_are_exact(channels, handle):
    """A point just behind a row gives the next one as much as it is behind, unrounded."""
    y, x = (np.full((1, 1, 1, channels), value, np.float32) for value in (1e-5, 1 + 2**-20))
    size, box = {"batch": 1, "height": 2, "width": 3}, np.zeros((1, 5), np.float32)
    found = pymluops.roi_align_backward(
        np.ones_like(y), box, x, y, **size, pool_mode="max", handle=handle
    )
    row, col = np.float32([1 - y[0, 0, 0, 0], 1e-5]), np.float32([0, 1 - 2**-20, 2**-20])
    assert (found == np.multiply.outer(row, col)[None, :, :, None]).all()


def test_gradients_of_maxima_need_their_places(handle):
    call = Call(EXAMPLE, np.float32([[0, 0, 0, 2, 2]]), mode="max")
    with pytest.raises(pymluops.BadTypeError, match="argmax_x"):
        call.backward(handle, np.ones((1, 2, 3, 1), np.float32))

# SPDX-License-Identifier: Apache-2.0
"""What the NumPy functions of BorderAlign take, and what they refuse."""

import numpy as np
import pytest
from python_calls import CALLS, same

import pymluops
from pymluops import BadParamError


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


@pytest.mark.parametrize("name", ["border_align_forward", "border_align_backward"])
def test_boxes_of_a_map_of_another_shape(name):
    call = CALLS[name]
    boxes = call.arrays["boxes"].reshape(2, 3, 2, 4)  # the map has two rows of three pixels
    text = r"boxes: shape \(2, 3, 2, 4\) given, expected \(2, 2, 3, 4\) as the map"
    with pytest.raises(BadParamError, match=text):
        call(boxes=boxes)
    single = {key: value[0] for key, value in call.arrays.items()} | {"boxes": boxes[0]}
    with pytest.raises(
        BadParamError, match=r"boxes: shape \(3, 2, 4\) given, expected \(2, 3, 4\)"
    ):
        call(**single)


def test_coordinates_that_half_cannot_hold():
    """Pixel 2049 exists in float32 alone."""
    x = np.zeros((1, 1, 4096, 4), np.float16)
    x[0, 0, 2049] = 1
    boxes = np.broadcast_to(np.float32([2049, 0, 2049, 0]), (1, 4096, 4))
    maxima, _ = pymluops.border_align_forward(x, boxes, pool_size=1)
    assert maxima.dtype == np.float16
    assert maxima.min() == 1

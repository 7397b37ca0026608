# SPDX-License-Identifier: Apache-2.0
"""BorderAlign near in the caches and past them: the same bits, wherever results begin."""

import guard
import numpy as np
import pytest
from border_align_calls import (
    FLOAT_BAR,
    HALF_BAR,
    check_accuracy,
    random_boxes,
    random_map,
    same,
)
from everywhere import results_everywhere

import pymluops
from pymluops.reference import border_align as reference

# Whole lines of channels, which go past the caches, and others; a vector, some, and a rest.
SHAPES = [(2, 6, 7, 16), (1, 9, 17, 48), (1, 5, 9, 208), (1, 6, 7, 24), (2, 4, 5, 3)]


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("pool_size", [3, 70])
@pytest.mark.parametrize("shape", SHAPES)
def test_results_anywhere(near_and_past, rng, shape, pool_size, half):
    n, height, width, channels = shape
    dtype = np.float16 if half else np.float32
    x = random_map(rng, n, height, width, 4 * channels).astype(dtype)
    boxes = random_boxes(rng, n, height, width).astype(dtype)
    rows = (n, height * width, 4, channels)
    grad = rng.standard_normal(rows).astype(dtype)
    for fence in guard.BOTH:
        xs, bs, gs = (fence(array) for array in (x, boxes, grad))

        def forward(handle, *out, xs=xs, bs=bs):
            pymluops.border_align_forward(xs, bs, pool_size=pool_size, out=out, handle=handle)

        like = [np.empty(rows, dtype), np.empty(rows, np.int32)]
        output, argmax = results_everywhere(forward, like, near_and_past)
        assert same(output, reference.border_align_forward(x, boxes, pool_size)[0].astype(dtype))

        steps = fence(argmax)

        def backward(handle, out, gs=gs, bs=bs, steps=steps):
            pymluops.border_align_backward(
                *(gs, bs, steps),
                pool_size=pool_size,
                height=height,
                width=width,
                out=out,
                handle=handle,
            )

        (got,) = results_everywhere(backward, [np.empty_like(x)], near_and_past)
        expected = reference.border_align_backward(grad, boxes, argmax, pool_size, height, width)
        check_accuracy(got, expected, HALF_BAR if half else FLOAT_BAR)

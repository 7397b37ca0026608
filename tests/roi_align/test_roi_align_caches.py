# SPDX-License-Identifier: Apache-2.0
"""RoIAlign near in the caches and past them: the same bits, at any place."""

from dataclasses import replace

import guard
import numpy as np
import pytest
from everywhere import results_everywhere
from roi_align_calls import FLOAT_BAR, HALF_BAR, as_half, check_accuracy, check_same, random_call

# By how many bins touch a pixel, how large the map is, and how large a bin is. The first is needed
# as a whole, and its rows are prefetched.
WAYS = {
    "whole map": {"shape": (2, 40, 60, 48), "rois": 200, "ratio": 2, "pooled": (3, 3)},
    "few RoIs": {"shape": (1, 33, 34, 130), "rois": 4, "ratio": 2},
    "many RoIs": {"shape": (1, 9, 11, 20), "rois": 200, "ratio": 0},
    "many channels": {"shape": (1, 12, 13, 600), "rois": 40, "ratio": 2},
    "few channels": {"shape": (2, 20, 30, 3), "rois": 40, "ratio": 0},
    "one channel": {"shape": (2, 20, 50, 1), "rois": 40, "ratio": 2},
    "large bins": {"shape": (1, 40, 45, 17), "rois": 5, "ratio": 0, "pooled": (1, 1)},
}


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("way", WAYS)
def test_results_anywhere(way, mode, half, near_and_past, rng):
    call = random_call(rng, mode=mode, **WAYS[way])
    call = as_half(call) if half else call
    dtype, bar = call.x.dtype, HALF_BAR if half else FLOAT_BAR
    pooled = (len(call.rois), *call.pooled, call.x.shape[3])
    # Of one sign: a sum does not cancel.
    grad = rng.uniform(0.5, 1.5, pooled).astype(dtype)
    expected = call.expected()
    places = () if mode == "avg" else [place.astype(dtype) for place in expected[1:]]
    of_map = call.expected_gradient(grad, *places)
    for fence in guard.BOTH:
        fenced = replace(call, x=fence(call.x), rois=fence(call.rois))
        given = [fence(array) for array in (grad, *places)]

        def forward(handle, *out, fenced=fenced):
            fenced.forward(handle, out=out[0] if len(out) == 1 else out)

        def backward(handle, out, fenced=fenced, given=given):
            fenced.backward(handle, *given, out=out)

        like = [np.empty(pooled, dtype)] * (1 if mode == "avg" else 3)
        results = results_everywhere(forward, like, near_and_past)
        if mode == "avg":
            check_accuracy(results[0], expected, bar)
        else:
            check_same(results, expected)
        (gradient,) = results_everywhere(backward, [np.empty_like(call.x)], near_and_past)
        check_accuracy(gradient, of_map, bar)

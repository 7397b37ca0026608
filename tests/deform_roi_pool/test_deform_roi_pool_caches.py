# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling near in the caches and past them: the same bits, at any place."""

from dataclasses import replace

import guard
import numpy as np
import pytest
from deform_roi_pool_calls import (
    FLOAT_BAR,
    GIVEN,
    HALF_BAR,
    as_half,
    check_accuracy,
    random_call,
)
from everywhere import results_everywhere

import pymluops

# By how many bins touch a pixel, how large the map is, and how large a bin is. The first is needed
# as a whole, and its rows are prefetched.
WAYS = {
    "whole map": {"shape": (2, 40, 60, 48), "rois": 200, "ratio": 2, "pooled": (3, 3)},
    "few RoIs": {"shape": (1, 33, 34, 130), "rois": 4, "ratio": 2},
    "many RoIs": {"shape": (1, 9, 11, 20), "rois": 200, "ratio": 0},
    "many channels": {"shape": (1, 12, 13, 600), "rois": 40, "ratio": 2},
    "sorted by pixel": {"shape": (1, 20, 24, 128), "rois": 40, "ratio": 0},
    "few channels": {"shape": (2, 20, 30, 3), "rois": 40, "ratio": 0},
    "one channel": {"shape": (2, 20, 50, 1), "rois": 40, "ratio": 2},
    "large bins": {"shape": (1, 40, 45, 17), "rois": 5, "ratio": 0, "pooled": (1, 1)},
}


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("way", WAYS)
def test_results_anywhere(way, half, near_and_past, rng):
    call = random_call(rng, offset=GIVEN, **WAYS[way])
    call = as_half(call) if half else call
    dtype, bar = call.x.dtype, HALF_BAR if half else FLOAT_BAR
    pooled = (len(call.rois), *call.pooled, call.x.shape[3])
    # Of one sign: a sum does not cancel.
    grad = rng.uniform(0.5, 1.5, pooled).astype(dtype)
    expected = call.expected(), *call.expected_gradients(grad)
    for fence in guard.BOTH:
        inputs = {name: fence(getattr(call, name)) for name in ("x", "rois", "offset")}
        fenced, grads = replace(call, **inputs), fence(grad)

        def forward(handle, out, fenced=fenced):
            fenced.forward(handle, out=out)

        def backward(handle, *out, fenced=fenced, grads=grads):
            pymluops.deform_roi_pool_backward(
                *(grads, fenced.x, fenced.rois, fenced.offset),
                **fenced._numbers(),
                out=out,
                handle=handle,
            )

        results = results_everywhere(forward, [np.empty(pooled, dtype)], near_and_past)
        like = [np.empty_like(call.x), np.empty_like(call.offset)]
        results += results_everywhere(backward, like, near_and_past)
        for result, exact in zip(results, expected, strict=True):
            check_accuracy(result, exact, bar)


# Bins that touch few pixels of a map, about as many as there are, and most of them many times.
@pytest.mark.parametrize("rois", [2, 10, 60])
@pytest.mark.parametrize("channels", [16, 127, 128, 257])
def test_grad_offset_does_not_depend_on_the_size_of_the_cache(
    rois: int,
    channels: int,
    rng: np.random.Generator,
    isa: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = rng.standard_normal((1, 30, 30, channels)).astype(np.float32)
    corners = rng.uniform(0, 20, (rois, 2))
    boxes = np.concatenate([np.zeros((rois, 1)), corners, corners + 8], 1).astype(np.float32)
    offset = rng.uniform(-1, 1, (rois, 2, 3, 3)).astype(np.float32)
    grad = rng.standard_normal((rois, 3, 3, channels)).astype(np.float32)
    results = []
    for size in ("0", "9223372036854775807"):
        monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", size)
        with pymluops.Handle() as handle:
            gradients = pymluops.deform_roi_pool_backward(
                *(grad, x, boxes, offset),
                pooled_height=3,
                pooled_width=3,
                spatial_scale=1.0,
                sampling_ratio=2,
                gamma=0.1,
                handle=handle,
            )
            results.append([g.tobytes() for g in gradients])
    assert results[0] == results[1]

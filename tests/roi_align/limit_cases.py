# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

import pymluops

N, R = Along(0), Along(0)


def large(rng):
    low = rng.uniform(0, 8, (5, 2))
    rois = np.column_stack((rng.integers(0, 2, 5), low, low + 4)).astype(np.float32)
    image = rng.standard_normal((2, 16, 16, 256), np.float32)
    size = {"batch": 2, "height": 16, "width": 16}
    for mode, results in (("avg", 1), ("max", 3)):
        numbers = {"sampling_ratio": 2, "pool_mode": mode}
        arrays = {"input": image, "rois": rois}
        forward = Example("roi_align_forward", arrays, {"pooled": (3, 3), **numbers})
        yield forward, Axis({"input": N}, (None,) * results, numbers="rois")
        yield forward, Axis({"rois": R}, (R,) * results)
        grad = rng.standard_normal((5, 3, 3, 256), np.float32)
        places = forward(pymluops.Handle())[1:]
        arrays = {"grad_output": grad, "rois": rois}
        arrays |= dict(zip(("argmax_x", "argmax_y"), places, strict=False))
        backward = Example("roi_align_backward", arrays, {**size, **numbers})
        yield backward, Axis({}, (N,), numbers="rois")


#: For each sampling_ratio: regions far beyond the map, of which it fills bins.
WORST = {
    0: [0, -16, -100, 32, 100],
    2: [0, 7.11, -1, 11.24, 16.01],
    64: [0, 16, 16.01, 15.4, 16.01],
}
#: Instructions for means and maxima: each of 4096 samples of a bin costs something in the last.
MOST = {0: (140, 140), 2: (55, 25), 64: (270, 7500)}


def work(rng):
    low = rng.uniform(0, 10, (16, 2))
    image = rng.standard_normal((1, 16, 16, 32), np.float32)
    rois = np.column_stack((np.zeros(16), low, low + 5)).astype(np.float32)
    grad = rng.standard_normal((16, 4, 4, 32), np.float32)
    for ratio, row in WORST.items():
        for mode, most in zip(("avg", "max"), MOST[ratio], strict=True):
            numbers = {"sampling_ratio": ratio, "pool_mode": mode}
            arrays = {"input": image, "rois": rois}
            forward = Example("roi_align_forward", arrays, {"pooled": (4, 4), **numbers})
            yield forward, {"rois": row}, most
            arrays = {"grad_output": grad, "rois": rois}
            size = {"batch": 1, "height": 16, "width": 16}
            worst = {"rois": row}
            if mode == "max":  # worst: each channel somewhere else
                for axis, name in enumerate(("argmax_x", "argmax_y")):
                    near = low[:, axis, None, None, None] + rng.uniform(0, 2, grad.shape)
                    arrays[name] = near.astype(np.float32)
                    worst[name] = rng.uniform(0, 16, grad.shape)
            yield Example("roi_align_backward", arrays, {**size, **numbers}), worst, 270

# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

N, R = Along(0), Along(0)


def large(rng):
    low = rng.uniform(0, 8, (5, 2))
    rois = np.column_stack((rng.integers(0, 2, 5), low, low + 4)).astype(np.float32)
    arrays = {
        "input": rng.standard_normal((2, 16, 16, 256), np.float32),
        "rois": rois,
        "offset": rng.standard_normal((5, 2, 3, 3), np.float32),
    }
    numbers = {"pooled": (3, 3), "sampling_ratio": 2}
    forward = Example("deform_roi_pool_forward", dict(arrays), numbers)
    yield forward, Axis({"input": N}, (None,), numbers="rois")
    yield forward, Axis({"rois": R, "offset": R}, (R,))
    arrays["grad_output"] = rng.standard_normal((5, 3, 3, 256), np.float32)
    backward = Example("deform_roi_pool_backward", arrays, numbers)
    # The blocks over which an offset's gradient is summed depend on the size of the batch.
    yield backward, Axis({"input": N}, (N, None), exact=False, numbers="rois")


#: Regions beyond the map, with bins that offsets move onto it; and upside down at its rim.
WORST = {0: [0, -5.08, -2.94, 28.16, 52], 2: [0, 6.19, 6.83, 11.19, 15.5], 64: [0, 0, 16, 0, 16.25]}


def work(rng):
    low = rng.uniform(0, 10, (16, 2))
    arrays = {
        "input": rng.standard_normal((1, 16, 16, 32), np.float32),
        "rois": np.column_stack((np.zeros(16), low, low + 5)).astype(np.float32),
        "offset": rng.standard_normal((16, 2, 4, 4), np.float32),
    }
    grad = rng.standard_normal((16, 4, 4, 32), np.float32)
    for (ratio, row), most in zip(WORST.items(), (100, 45, 270), strict=True):
        numbers = {"pooled": (4, 4), "sampling_ratio": ratio}
        worst = {"rois": row, "offset": [0.29, -1.01, -1.24, -3.8]}
        yield Example("deform_roi_pool_forward", arrays, numbers), worst, most
        both = {"grad_output": grad, **arrays}
        yield Example("deform_roi_pool_backward", both, numbers), worst, most

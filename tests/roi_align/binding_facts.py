# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about RoIAlign; python_calls.py explains each."""

import numpy as np

FREE = {
    ("roi_align_forward_v2", "input"): (0, 1, 2, 3),
    ("roi_align_forward_v2", "rois"): (0,),
    ("roi_align_backward", "grad_output"): (1, 2, 3),
}
SIZES = {"roi_align_forward_v2": ("pooled", ("pooled_height", "pooled_width"), None)}
BATCHED = {"roi_align_forward_v2": ("input",)}
UNBATCHED_RESULTS = {("roi_align_forward_v2", 0)}
FLOAT32_COORDINATES = {
    "roi_align_forward_v2": "rois",
    "roi_align_backward": "rois",
    "roi_align_backward_v2": "rois",
}
EARLY = {
    "roi align, no regions": (
        "roi_align_forward_v2",
        {"rois": np.empty((0, 5), np.float32)},
        [(0, 2, 3, 3)],
    ),
    "roi align backward, no regions": (
        "roi_align_backward",
        {"grad_output": np.empty((0, 2, 3, 3), np.float32), "rois": np.empty((0, 5), np.float32)},
        [(2, 4, 5, 3)],
    ),
}
WAYS = {
    "roi_align_forward_v2": [
        {"aligned": False, "spatial_scale": 0.5},
        {"pool_mode": "max"},
        {"pool_mode": "max", "sampling_ratio": 0},
    ],
    "roi_align_backward": [{"aligned": False, "spatial_scale": 0.5}],
}

# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about deformable RoI pooling; python_calls.py explains each."""

import numpy as np

FREE = {
    ("deform_roi_pool_forward", "input"): (0, 1, 2, 3),
    ("deform_roi_pool_backward", "input"): (0, 1, 2),
}
SIZES = {
    "deform_roi_pool_forward": ("pooled", ("pooled_height", "pooled_width"), None),
    "deform_roi_pool_backward": ("pooled", ("pooled_height", "pooled_width"), None),
}
BATCHED = {
    "deform_roi_pool_forward": ("input",),
    "deform_roi_pool_backward": ("input",),
}
UNBATCHED_RESULTS = {
    ("deform_roi_pool_forward", 0),
    ("deform_roi_pool_backward", 1),
}
FLOAT32_COORDINATES = {
    "deform_roi_pool_forward": "rois",
    "deform_roi_pool_backward": "rois",
}
EARLY = {
    "roi pool, no rows": (
        "deform_roi_pool_forward",
        {"input": np.empty((2, 0, 5, 3), np.float32)},
        [(2, 2, 3, 3)],
    ),
    "roi pool backward, no rows": (
        "deform_roi_pool_backward",
        {"input": np.empty((2, 0, 5, 3), np.float32)},
        [(2, 0, 5, 3), (2, 2, 2, 3)],
    ),
}
WAYS = {
    "deform_roi_pool_forward": [{"offset": None}, {"gamma": 0.5, "spatial_scale": 0.5}],
}

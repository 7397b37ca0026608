# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about masked im2col and col2im; python_calls.py explains each."""

import numpy as np

MASK = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]], bool)
FREE = {
    ("masked_im2col_forward", "feature"): (1, 2, 3),
    ("masked_col2im_forward", "col"): (0,),
}
SIZES = {
    "masked_im2col_forward": ("kernel_size", ("kernel_h", "kernel_w"), None),
}
BATCHED = {
    "masked_im2col_forward": ("feature",),
}
UNBATCHED_RESULTS = {
    ("masked_im2col_forward", 0),
}
EARLY = {
    "im2col, no positions": (
        "masked_im2col_forward",
        {"mask_h_idx": np.empty(0, np.int32), "mask_w_idx": np.empty(0, np.int32)},
        [(12, 0)],
    ),
    "col2im, no positions": (
        "masked_col2im_forward",
        {
            "col": np.empty((2, 0), np.float32),
            "mask_h_idx": np.empty(0, np.int32),
            "mask_w_idx": np.empty(0, np.int32),
        },
        [(1, 2, 4, 3)],
    ),
}
WAYS = {
    "masked_im2col_forward": [
        {"mask_h_idx": MASK, "mask_w_idx": None},
        {"mask_h_idx": np.nonzero(MASK), "mask_w_idx": None},
        {
            "feature": np.float32(range(48)).reshape(2, 2, 4, 3),
            "mask_h_idx": np.stack((MASK, ~MASK)),
            "mask_w_idx": None,
        },
    ],
    "masked_col2im_forward": [
        {"col": np.float32(range(10)).reshape(2, 5), "mask_h_idx": MASK, "mask_w_idx": None},
        {
            "col": np.float32(range(24)).reshape(2, 12),
            "mask_h_idx": np.stack((MASK, ~MASK)),
            "mask_w_idx": None,
            "height": None,
            "width": None,
        },
    ],
}

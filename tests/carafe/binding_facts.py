# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about CARAFE; python_calls.py explains each."""

import numpy as np

BATCHED = {
    "carafe_forward": ("input", "mask"),
    "carafe_backward": ("input", "mask", "grad_output"),
}
EARLY = {
    "carafe, no channels": (
        "carafe_backward",
        {
            "input": np.empty((1, 2, 3, 0), np.float32),
            "grad_output": np.empty((1, 4, 6, 0), np.float32),
        },
        [(1, 2, 3, 0), (1, 4, 6, 18)],
    ),
    "carafe, no images": (
        "carafe_forward",
        {"input": np.empty((0, 2, 3, 4), np.float32), "mask": np.empty((0, 4, 6, 18), np.float32)},
        [(0, 4, 6, 4)],
    ),
}
GRADIENT_BY_NAME = {
    "carafe_backward",
}

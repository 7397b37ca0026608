# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about PSAMask; python_calls.py explains each."""

import numpy as np

FREE = {
    ("psamask_forward", "x"): (0, 1, 2),
    ("psamask_backward", "dy"): (0,),
}
SIZES = {
    "psamask_forward": ("mask_size", ("h_mask", "w_mask"), None),
    "psamask_backward": ("mask_size", ("h_mask", "w_mask"), None),
}
BATCHED = {
    "psamask_forward": ("x",),
    "psamask_backward": ("dy",),
}
EARLY = {
    "psamask, no mask": (
        "psamask_forward",
        {"x": np.empty((2, 2, 3, 0), np.float32), "h_mask": 0, "w_mask": 5},
        [(2, 2, 3, 6)],
    ),
}
WAYS = {
    "psamask_forward": [{"psa_type": "collect"}, {"psa_type": "distribute"}],
    "psamask_backward": [{"psa_type": "collect"}, {"psa_type": "distribute"}],
}
EMPTY_FOR_ZERO = {
    "psamask_backward": (2, 2, 3, 0),
}

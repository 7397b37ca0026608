# SPDX-License-Identifier: Apache-2.0
"""The simplest operator, y = x for one pixel: tests/cases reads, writes and breaks cases of it."""

import pymluops

NAME, FUNCTION = "psamask_forward", "mluOpPsamaskForward"
BLOCK, PARAMETERS = "psamask_forward_param", "psa_type: 0 h_mask: 1 w_mask: 1"


def copy(pixels):
    """Call it: each pixel is an image."""
    return pymluops.psamask_forward(pixels.reshape(-1, 1, 1, 1), psa_type=0, h_mask=1, w_mask=1)


# A call of it, and of one more operator, in a process of their own.
CALLED = (NAME, "psamask_backward")
CALLS = """
import numpy as np, pymluops
numbers = {"psa_type": 0, "h_mask": 1, "w_mask": 1}
x = np.array([1.5, -2, np.inf, np.nan, 1e-40, 3.0000002], np.float32).reshape(6, 1, 1, 1)
pymluops.psamask_forward(x, **numbers)
pymluops.psamask_backward(x, **numbers)
"""

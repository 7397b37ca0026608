# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

N = Along(0)


def large(rng):
    for name in ("to_nhwc", "to_nchw"):
        x = rng.standard_normal((2, 30, 31, 32), np.float32)
        yield Example(name, {"x": x}, {}), Axis({"x": N}, (N,))


def work(rng):
    """It looks at no values."""
    for name in ("to_nhwc", "to_nchw"):
        x = rng.standard_normal((2, 32, 32, 32), np.float32)
        yield Example(name, {"x": x}, {}), {"x": np.nan}, 2

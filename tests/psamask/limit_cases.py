# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

N = Along(0)


def large(rng):
    for kind in (0, 1):
        numbers = {"psa_type": kind, "h_mask": 3, "w_mask": 5}
        x = rng.standard_normal((2, 20, 24, 15), np.float32)
        yield Example("psamask_forward", {"x": x}, numbers), Axis({"x": N}, (N,))
        dy = rng.standard_normal((2, 20, 24, 480), np.float32)
        yield Example("psamask_backward", {"dy": dy}, numbers), Axis({"dy": N}, (N,))


def work(rng):
    """It looks at no values."""
    numbers = {"psa_type": 0, "h_mask": 15, "w_mask": 15}
    x = rng.standard_normal((1, 8, 8, 225), np.float32)
    yield Example("psamask_forward", {"x": x}, numbers), {"x": np.nan}, 4
    dy = rng.standard_normal((1, 8, 8, 64), np.float32)
    yield Example("psamask_backward", {"dy": dy}, numbers), {"dy": np.nan}, 4

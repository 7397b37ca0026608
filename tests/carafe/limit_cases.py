# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

N = Along(0)


def large(rng):
    arrays = {
        "input": rng.standard_normal((2, 24, 24, 256), np.float32),
        "mask": rng.standard_normal((2, 24, 24, 1), np.float32),
        "grad_output": rng.standard_normal((2, 24, 24, 256), np.float32),
    }
    numbers = {"kernel_size": 1, "group_size": 1, "scale_factor": 1}
    backward = Example("carafe_backward", dict(arrays), numbers)
    yield backward, Axis(dict.fromkeys(arrays, N), (N, N))
    del arrays["grad_output"]
    yield Example("carafe_forward", arrays, numbers), Axis(dict.fromkeys(arrays, N), (N,))


def work(rng):
    """It looks at no values: hostile ones take the same work."""
    arrays = {
        "input": rng.standard_normal((1, 8, 8, 64), np.float32),
        "mask": rng.standard_normal((1, 16, 16, 25), np.float32),
    }
    numbers = {"kernel_size": 5, "group_size": 1, "scale_factor": 2}
    hostile = {"input": np.nan, "mask": np.inf}
    yield Example("carafe_forward", dict(arrays), numbers), hostile, 12
    arrays["grad_output"] = rng.standard_normal((1, 16, 16, 64), np.float32)
    yield Example("carafe_backward", arrays, numbers), {**hostile, "grad_output": 1e-40}, 20

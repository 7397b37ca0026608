# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

N = Along(0)


def large(rng):
    boxes = rng.uniform(-1, 8, (2, 64, 4)).astype(np.float32)
    x = rng.standard_normal((2, 8, 8, 256), np.float32)
    arrays = {"input": x, "boxes": boxes}
    forward = Example("border_align_forward", arrays, {"pool_size": 2})
    yield forward, Axis(dict.fromkeys(arrays, N), (N, N))
    arrays = {
        "grad_output": rng.standard_normal((2, 64, 4, 64), np.float32),
        "boxes": boxes,
        "argmax_idx": rng.integers(0, 3, (2, 64, 4, 64), np.int32),
    }
    numbers = {"pool_size": 2, "height": 8, "width": 8}
    yield Example("border_align_backward", arrays, numbers), Axis(dict.fromkeys(arrays, N), (N,))


def work(rng):
    """Long borders across the map, with many steps."""
    boxes = rng.uniform(0, 8, (1, 64, 4)).astype(np.float32)
    long = {"boxes": [-100, -0.64, 7.57, 0.61]}
    for pool_size, most in ((10, 25), (100, 250), (5000, 400)):
        numbers = {"pool_size": pool_size}
        x = {"input": rng.standard_normal((1, 8, 8, 128), np.float32), "boxes": boxes}
        yield Example("border_align_forward", x, numbers), long, most
        arrays = {
            "grad_output": rng.standard_normal((1, 64, 4, 32), np.float32),
            "boxes": boxes,
            "argmax_idx": rng.integers(0, pool_size + 1, (1, 64, 4, 32), np.int32),
        }
        backward = Example("border_align_backward", arrays, {**numbers, "height": 8, "width": 8})
        yield backward, {"boxes": [100, -1.01, 7.5, 8]}, 50

# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

N = Along(0)


def large(rng):
    def normal(*shape):
        return rng.standard_normal(shape, np.float32)

    arrays = {
        "input": normal(2, 12, 12, 128),
        "offset": normal(2, 12, 12, 2),
        "mask": normal(2, 12, 12, 1),
        "filter": normal(8, 1, 1, 128),
    }
    images = dict.fromkeys(("input", "offset", "mask"), N)
    yield Example("deform_conv_forward", dict(arrays), {}), Axis(dict(images), (N,))
    arrays["grad_output"] = normal(2, 12, 12, 8)
    images["grad_output"] = N
    yield Example("deform_conv_backward_data", dict(arrays), {}), Axis(images, (N, N, N))
    del arrays["filter"]
    # Few pixels of each image: sums over all of them are those of the last ones, to the bit.
    few = {name: array[:, :2, :8].copy() for name, array in arrays.items()}
    weight = Example("deform_conv_backward_weight", few, {"kernel_size": 1})
    yield weight, Axis(images, (None, None))
    # The largest tensor is the result.
    arrays = {
        "input": normal(2, 12, 12, 4),
        "offset": normal(2, 12, 12, 2),
        "filter": normal(128, 1, 1, 4),
    }
    images = dict.fromkeys(("input", "offset"), N)
    yield Example("deform_conv_forward", arrays, {}), Axis(images, (N,))


def work(rng):
    """Samples outside cost less: work is that of the shapes."""
    arrays = {
        "input": rng.standard_normal((1, 16, 16, 32), np.float32),
        "offset": rng.standard_normal((1, 16, 16, 18), np.float32),
        "filter": rng.standard_normal((16, 3, 3, 32), np.float32),
    }
    far = {"offset": rng.uniform(-16, 16, (1, 16, 16, 18))}
    yield Example("deform_conv_forward", dict(arrays), {"pad": 1}), far, 90
    arrays["grad_output"] = rng.standard_normal((1, 16, 16, 16), np.float32)
    yield Example("deform_conv_backward_data", dict(arrays), {"pad": 1}), far, 90
    del arrays["filter"]
    numbers = {"pad": 1, "kernel_size": 3}
    yield Example("deform_conv_backward_weight", arrays, numbers), far, 90

# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn, and what holds of them: see tests/properties."""

import numpy as np
from declared import CHANNELS, EXTENTS, GROUPS, Along, Axis, Example, normal
from hypothesis import strategies as st

import pymluops

ROWS, C = Along(0), Along(3)


@st.composite
def forward(draw, dtype=np.float32):
    n, h, w, groups = draw(GROUPS), draw(EXTENTS), draw(EXTENTS), draw(GROUPS)
    size, scale = draw(st.sampled_from([1, 3, 5])), draw(GROUPS)
    shapes = {
        "input": (n, h, w, groups * draw(CHANNELS)),
        "mask": (n, h * scale, w * scale, groups * size * size),
    }
    return Example(
        "carafe_forward",
        {name: normal(draw, dtype, *shape) for name, shape in shapes.items()},
        {"kernel_size": size, "group_size": groups, "scale_factor": scale},
        linear=("input", "mask"),
        gradients={
            "input": lambda *given: _gradients(*given)[0],
            "mask": lambda *given: _gradients(*given)[1],
        },
        axes=(
            Axis({"input": ROWS, "mask": ROWS}, (ROWS,), parts=True),
            Axis({"input": C}, (C,), groups=groups),
        ),
    )


def _gradients(example, dy, handle):
    return pymluops.carafe_backward(
        **example.arrays, grad_output=dy, **example.numbers, handle=handle
    )


@st.composite
def backward(draw, dtype=np.float32):
    example = draw(forward(dtype))
    channels = example.arrays["input"].shape[3]
    grad = normal(draw, dtype, *example.arrays["mask"].shape[:3], channels)
    images = dict.fromkeys(("input", "mask", "grad_output"), ROWS)
    groups = example.numbers["group_size"]
    return example.having(
        function="carafe_backward",
        arrays={**example.arrays, "grad_output": grad},
        linear=("grad_output",),
        gradients={},
        axes=(
            Axis(images, (ROWS, ROWS), parts=True),
            Axis({"input": C, "grad_output": C}, (C, None), exact=False, groups=groups),
        ),
    )


EXAMPLES = {"carafe_forward": forward, "carafe_backward": backward}

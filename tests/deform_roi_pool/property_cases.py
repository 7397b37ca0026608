# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn, and what holds of them: see tests/properties."""

import numpy as np
from declared import CHANNELS, EXTENTS, GROUPS, Along, Axis, Example, normal
from hypothesis import strategies as st

import pymluops

N, R, C = Along(0), Along(0), Along(3)


def _rois(draw, n, h, w, scale, dtype):
    """Regions in and out of the map, some upside down."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.sampled_from([1, 2, 3, 5, 7, 30]))
    corners = rng.uniform(-2, max(h, w) + 2, (count, 4)) / scale
    return np.column_stack((rng.integers(0, n, count), corners)).astype(dtype)


@st.composite
def forward(draw, dtype=np.float32):
    n, h, w, c = draw(GROUPS), draw(EXTENTS), draw(EXTENTS), draw(CHANNELS)
    numbers = {
        "pooled": (draw(GROUPS), draw(GROUPS)),
        "spatial_scale": 0.5,
        "sampling_ratio": draw(st.integers(0, 3)),
        "gamma": 0.25,
    }
    rois = _rois(draw, n, h, w, 0.5, dtype)
    return Example(
        "deform_roi_pool_forward",
        {
            "input": normal(draw, dtype, n, h, w, c),
            "rois": rois,
            "offset": normal(draw, dtype, len(rois), 2, *numbers["pooled"]),
        },
        numbers,
        linear=("input",),
        gradients={"input": lambda *given: _gradients(*given)[0]},
        axes=(
            Axis({"rois": R, "offset": R}, (R,), parts=True),
            Axis({"input": N}, (None,), numbers="rois"),
            Axis({"input": C}, (C,)),
        ),
        plain=("rois", "offset"),
    )


def _gradients(example, dy, handle):
    return pymluops.deform_roi_pool_backward(dy, **example.arrays, **example.numbers, handle=handle)


@st.composite
def backward(draw, dtype=np.float32):
    example = draw(forward(dtype))
    rois, image = example.arrays["rois"], example.arrays["input"]
    grad = normal(draw, dtype, len(rois), *example.numbers["pooled"], image.shape[3])
    return example.having(
        function="deform_roi_pool_backward",
        arrays={"grad_output": grad, **example.arrays},
        linear=("grad_output",),
        gradients={},
        axes=(
            Axis(dict.fromkeys(("grad_output", "rois", "offset"), R), (None, R), exact=False),
            Axis({"input": N}, (N, None), numbers="rois"),
            Axis({"input": C, "grad_output": C}, (C, None), exact=False),
        ),
        signed=(1,),
    )


EXAMPLES = {"deform_roi_pool_forward": forward, "deform_roi_pool_backward": backward}

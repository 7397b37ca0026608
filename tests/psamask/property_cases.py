# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn, and what holds of them: see tests/properties."""

import numpy as np
from declared import EXTENTS, GROUPS, Along, Axis, Example, normal
from hypothesis import strategies as st

import pymluops

N = Along(0)


def _example(draw, name, other, argument, dtype):
    h, w = draw(EXTENTS), draw(EXTENTS)
    numbers = {
        "psa_type": draw(st.integers(0, 1)),
        "h_mask": draw(st.integers(1, 13)),
        "w_mask": draw(st.integers(1, 13)),
    }
    masks = numbers["h_mask"] * numbers["w_mask"]
    channels = masks if argument == "x" else h * w
    return Example(
        name,
        {argument: normal(draw, dtype, draw(GROUPS), h, w, channels)},
        numbers,
        linear=(argument,),
        gradients={argument: lambda _, dy, handle: other(dy, **numbers, handle=handle)},
        axes=(Axis({argument: N}, (N,), parts=True),),
        exact=True,
    )


@st.composite
def forward(draw, dtype=np.float32):
    return _example(draw, "psamask_forward", pymluops.psamask_backward, "x", np.float32)


@st.composite
def backward(draw, dtype=np.float32):
    return _example(draw, "psamask_backward", pymluops.psamask_forward, "dy", np.float32)


EXAMPLES = {"psamask_forward": forward, "psamask_backward": backward}

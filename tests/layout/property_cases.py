# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn, and what holds of them: see tests/properties."""

import numpy as np
from declared import CHANNELS, EXTENTS, GROUPS, Along, Axis, Example, normal
from hypothesis import strategies as st

import pymluops

N = Along(0)


def _example(draw, name, other, shape, dtype):
    return Example(
        name,
        {"x": normal(draw, dtype, *shape)},
        {},
        linear=("x",),
        gradients={"x": lambda _, dy, handle: other(dy, handle=handle)},
        axes=(
            Axis({"x": N}, (N,), parts=True),
            Axis({"x": Along(1)}, (Along(3 if name == "to_nhwc" else 2),)),
        ),
        exact=True,
    )


@st.composite
def to_nhwc(draw, dtype=np.float32):
    shape = draw(GROUPS), draw(CHANNELS), draw(EXTENTS), draw(EXTENTS)
    return _example(draw, "to_nhwc", pymluops.to_nchw, shape, dtype)


@st.composite
def to_nchw(draw, dtype=np.float32):
    shape = draw(GROUPS), draw(EXTENTS), draw(EXTENTS), draw(CHANNELS)
    return _example(draw, "to_nchw", pymluops.to_nhwc, shape, dtype)


EXAMPLES = {"to_nhwc": to_nhwc, "to_nchw": to_nchw}

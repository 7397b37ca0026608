# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn, and what holds of them: see tests/properties."""

import numpy as np
from declared import CHANNELS, Along, Axis, Example, normal
from hypothesis import strategies as st

import pymluops

SIDES = st.integers(1, 9)
M, ROW = Along(1), Along(0)


def _positions(draw, h, w):
    """Some places of the map, each once, in no order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    chosen = rng.permutation(h * w)[: draw(st.integers(1, h * w))].astype(np.int32)
    return {"mask_h_idx": chosen // np.int32(w), "mask_w_idx": chosen % np.int32(w)}


@st.composite
def im2col(draw, dtype=np.float32):
    c, h, w = draw(CHANNELS), draw(SIDES), draw(SIDES)
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    padding = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    positions = _positions(draw, h, w)
    return Example(
        "masked_im2col_forward",
        {"feature": normal(draw, dtype, 1, c, h, w), **positions},
        {"kernel_size": kernel, "padding": padding},
        linear=("feature",),
        gradients={"feature": _gradient},
        axes=(
            Axis(dict.fromkeys(positions, ROW), (M,), parts=True),
            Axis({"feature": Along(1)}, (Along(0, width=kernel[0] * kernel[1]),)),
        ),
        exact=True,
        plain=tuple(positions),
    )


def _gradient(example, dy, handle):
    """Each tap of the window puts its row back where it was taken from, if that is on the map."""
    _, c, h, w = example.arrays["feature"].shape
    (kh, kw), (ph, pw) = example.numbers["kernel_size"], example.numbers["padding"]
    total = np.zeros((1, c, h, w))
    for tap, rows in enumerate(dy.reshape(c, kh * kw, -1).transpose(1, 0, 2)):
        y = example.arrays["mask_h_idx"] - ph + tap // kw
        x = example.arrays["mask_w_idx"] - pw + tap % kw
        inside = (y >= 0) & (y < h) & (x >= 0) & (x < w)
        places = y[inside].astype(np.int32), x[inside].astype(np.int32)
        total += pymluops.masked_col2im_forward(
            np.ascontiguousarray(rows[:, inside]), *places, height=h, width=w, handle=handle
        )
    return total


@st.composite
def col2im(draw, dtype=np.float32):
    c, h, w = draw(CHANNELS), draw(SIDES), draw(SIDES)
    positions = _positions(draw, h, w)
    count = len(positions["mask_h_idx"])
    return Example(
        "masked_col2im_forward",
        {"col": normal(draw, dtype, c, count), **positions},
        {"height": h, "width": w},
        linear=("col",),
        # It takes back what was put somewhere: im2col of col2im is the columns themselves.
        gradients={
            "col": lambda example, dy, handle: pymluops.masked_im2col_forward(
                dy,
                *(example.arrays[name] for name in positions),
                kernel_size=(1, 1),
                handle=handle,
            )
        },
        axes=(
            Axis({"col": M, **dict.fromkeys(positions, ROW)}, (None,)),
            Axis({"col": ROW}, (M,)),
        ),
        exact=True,
        plain=tuple(positions),
    )


EXAMPLES = {"masked_im2col_forward": im2col, "masked_col2im_forward": col2im}

# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn, and what holds of them: see tests/properties."""

import numpy as np
from declared import CHANNELS, EXTENTS, GROUPS, Along, Axis, Example, normal
from hypothesis import strategies as st

import pymluops

N, K, C = Along(0), Along(1), Along(3)
BORDERS = Along(3, tiles=4)


def _boxes(draw, n, h, w, dtype):
    """Quarters of pixels, in and out of the map: steps of them are exact, added up or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return (rng.integers(-8, 4 * (max(h, w) + 2), (n, h * w, 4)) / 4).astype(dtype)


@st.composite
def forward(draw, dtype=np.float32):
    n, h, w, c = draw(GROUPS), draw(EXTENTS), draw(EXTENTS), draw(CHANNELS)
    pool_size = draw(st.sampled_from([1, 2, 4, 8]))
    return Example(
        "border_align_forward",
        {"input": normal(draw, dtype, n, h, w, 4 * c), "boxes": _boxes(draw, n, h, w, dtype)},
        {"pool_size": pool_size},
        gradients={"input": _gradient},
        axes=(
            Axis({"input": N, "boxes": N}, (N, N), parts=True),
            Axis({"boxes": K}, (K, K)),
            Axis({"input": BORDERS}, (C, C)),
        ),
        exact=True,
        plain=("boxes",),
    )


def _gradient(example, dy, handle):
    _, argmax = example(handle)
    return pymluops.border_align_backward(
        dy,
        example.arrays["boxes"],
        argmax,
        **example.numbers,
        height=example.arrays["input"].shape[1],
        width=example.arrays["input"].shape[2],
        handle=handle,
    )


@st.composite
def backward(draw, dtype=np.float32):
    n, h, w, c = draw(GROUPS), draw(EXTENTS), draw(EXTENTS), draw(CHANNELS)
    pool_size = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arguments = ("grad_output", "boxes", "argmax_idx")
    return Example(
        "border_align_backward",
        {
            "grad_output": normal(draw, dtype, n, h * w, 4, c),
            "boxes": _boxes(draw, n, h, w, dtype),
            "argmax_idx": rng.integers(0, pool_size + 1, (n, h * w, 4, c), np.int32),
        },
        {"pool_size": pool_size, "height": h, "width": w},
        linear=("grad_output",),
        axes=(
            Axis(dict.fromkeys(arguments, N), (N,), parts=True),
            Axis(dict.fromkeys(arguments, K), (None,), exact=False),
            Axis({"grad_output": C, "argmax_idx": C}, (BORDERS,)),
        ),
        plain=("boxes", "argmax_idx"),
    )


EXAMPLES = {"border_align_forward": forward, "border_align_backward": backward}

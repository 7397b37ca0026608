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


def _forward(draw, mode, dtype):
    n, h, w, c = draw(GROUPS), draw(EXTENTS), draw(EXTENTS), draw(CHANNELS)
    numbers = {
        "pooled": (draw(GROUPS), draw(GROUPS)),
        "spatial_scale": 0.5,
        "sampling_ratio": draw(st.integers(0, 3)),
        "aligned": draw(st.booleans()),
        "pool_mode": mode,
    }
    results = 1 if mode == "avg" else 3
    return Example(
        "roi_align_forward",
        {"input": normal(draw, dtype, n, h, w, c), "rois": _rois(draw, n, h, w, 0.5, dtype)},
        numbers,
        linear=("input",) if mode == "avg" else (),
        gradients={"input": _gradient},
        axes=(
            Axis({"rois": R}, (R,) * results, parts=True),
            Axis({"input": N}, (None,) * results, numbers="rois"),
            Axis({"input": C}, (C,) * results),
        ),
        exact=mode == "max",
        plain=("rois",),
    )


def _gradient(example, dy, handle):
    image = example.arrays["input"]
    numbers = {k: v for k, v in example.numbers.items() if k != "pooled"}
    size = {"batch": len(image), "height": image.shape[1], "width": image.shape[2]}
    places = example(handle)[1:]
    return pymluops.roi_align_backward(
        dy, example.arrays["rois"], *places, **size, **numbers, handle=handle
    )


@st.composite
def average(draw, dtype=np.float32):
    return _forward(draw, "avg", dtype)


@st.composite
def maximum(draw, dtype=np.float32):
    return _forward(draw, "max", dtype)


@st.composite
def backward(draw, dtype=np.float32):
    example = _forward(draw, draw(st.sampled_from(["avg", "max"])), dtype)
    image, rois = example.arrays["input"], example.arrays["rois"]
    output, *places = example(pymluops.Handle())
    numbers = {k: v for k, v in example.numbers.items() if k != "pooled"}
    size = {"batch": len(image), "height": image.shape[1], "width": image.shape[2]}
    arrays = {"grad_output": normal(draw, dtype, *output.shape), "rois": rois}
    arrays |= dict(zip(("argmax_x", "argmax_y"), places, strict=False))
    return Example(
        "roi_align_backward",
        arrays,
        {**size, **numbers},
        linear=("grad_output",),
        axes=(
            Axis(dict.fromkeys(arrays, R), (None,), exact=False),
            Axis({name: C for name in arrays if name != "rois"}, (C,), exact=False),
        ),
        plain=("rois", "argmax_x", "argmax_y"),
    )


EXAMPLES = {
    "roi_align_forward, means": average,
    "roi_align_forward, maxima": maximum,
    "roi_align_backward": backward,
}

# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn, and what holds of them: see tests/properties."""

import numpy as np
from declared import CHANNELS, EXTENTS, GROUPS, Along, Axis, Example, normal
from hypothesis import strategies as st

import pymluops

N, OUT, C = Along(0), Along(0), Along(3)  # images, outputs of the filter, channels


@st.composite
def forward(draw, dtype=np.float32):
    n, kh, kw, ho, wo = *(draw(GROUPS) for _ in range(3)), draw(EXTENTS), draw(EXTENTS)
    groups, deformable = draw(GROUPS), draw(GROUPS)
    stride, dilation, pad = draw(GROUPS), draw(st.integers(1, 2)), draw(st.integers(0, 1))
    h = (ho - 1) * stride + dilation * (kh - 1) + 1 - 2 * pad
    w = (wo - 1) * stride + dilation * (kw - 1) + 1 - 2 * pad
    h, w, pad = (h, w, pad) if min(h, w) > 0 else (h + 2 * pad, w + 2 * pad, 0)
    channels, outputs = draw(st.sampled_from([1, 2, 5, 8, 17])), draw(CHANNELS)
    taps = deformable * kh * kw
    shapes = {
        "input": (n, h, w, groups * deformable * channels),
        "offset": (n, ho, wo, taps * 2),
        "filter": (groups * outputs, kh, kw, deformable * channels),
    }
    if draw(st.booleans()):
        shapes["mask"] = (n, ho, wo, taps)
    scales = [name for name in ("mask",) if name in shapes]
    images = dict.fromkeys(("input", "offset", *scales), N)
    return Example(
        "deform_conv_forward",
        {name: normal(draw, dtype, *shape) for name, shape in shapes.items()},
        {
            "pad": pad,
            "stride": stride,
            "dilation": dilation,
            "deformable_group": deformable,
            "conv_group": groups,
        },
        linear=("input", "filter", *scales),
        gradients={
            "input": lambda *given: _of_data(*given)[0],
            "filter": lambda *given: _of_weight(*given)[0],
            **{name: lambda *given: _of_data(*given)[2] for name in scales},
        },
        axes=(
            Axis(images, (N,), parts=True),
            Axis({"filter": OUT}, (C,), groups=groups, exact=False),
        ),
        plain=("offset",),
    )


def _of_data(example, dy, handle):
    return pymluops.deform_conv_backward_data(
        **example.arrays, grad_output=dy, **example.numbers, handle=handle
    )


def _of_weight(example, dy, handle):
    arrays = {name: value for name, value in example.arrays.items() if name != "filter"}
    return pymluops.deform_conv_backward_weight(
        **arrays,
        grad_output=dy,
        kernel_size=example.arrays["filter"].shape[1:3],
        **example.numbers,
        handle=handle,
    )


def _with_gradient(draw, example, dtype):
    outputs = len(example.arrays["filter"])
    return normal(draw, dtype, *example.arrays["offset"].shape[:3], outputs)


@st.composite
def backward_data(draw, dtype=np.float32):
    example = draw(forward(dtype))
    arrays = {**example.arrays, "grad_output": _with_gradient(draw, example, dtype)}
    images = {name: N for name in arrays if name != "filter"}
    results = 3 if "mask" in arrays else 2
    return example.having(
        function="deform_conv_backward_data",
        arrays=arrays,
        linear=("grad_output", "filter"),
        gradients={},
        axes=(
            Axis(images, (N,) * results, parts=True),
            Axis(
                {"filter": OUT, "grad_output": C},
                (None,) * results,
                groups=example.numbers["conv_group"],
                exact=False,
            ),
        ),
        signed=(1,),
    )


@st.composite
def backward_weight(draw, dtype=np.float32):
    example = draw(forward(dtype))
    arrays = {**example.arrays, "grad_output": _with_gradient(draw, example, dtype)}
    size = arrays.pop("filter").shape[1:3]
    groups = example.numbers["conv_group"]
    return example.having(
        function="deform_conv_backward_weight",
        arrays=arrays,
        numbers={**example.numbers, "kernel_size": size},
        linear=("grad_output",),
        gradients={},
        axes=(
            Axis(dict.fromkeys(arrays, N), (None, None), exact=False),
            Axis({"grad_output": C}, (OUT, OUT), groups=groups, exact=False),
        ),
    )


EXAMPLES = {
    "deform_conv_forward": forward,
    "deform_conv_backward_data": backward_data,
    "deform_conv_backward_weight": backward_weight,
}

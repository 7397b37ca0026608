# SPDX-License-Identifier: Apache-2.0
"""What deformable convolution becomes in ONNX."""

from typing import Any


def deform_conv2d(
    input: Any,
    offset: Any,
    mask: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    deform_groups: int,
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of mmcv's node, its inputs, and its attributes: of two kinds."""
    numbers = {
        "stride": list(stride),
        "padding": list(padding),
        "dilation": list(dilation),
        "groups": groups,
        "deform_groups": deform_groups,
    }
    if mask is None:
        numbers |= {"bias": 0, "im2col_step": 32}
        return "MMCVDeformConv2d", (input, offset, weight), numbers
    inputs = (input, offset, mask, weight) if bias is None else (input, offset, mask, weight, bias)
    return "MMCVModulatedDeformConv2d", inputs, numbers

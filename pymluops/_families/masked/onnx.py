# SPDX-License-Identifier: Apache-2.0
"""What masked convolution becomes in ONNX."""

from typing import Any


def masked_conv2d(
    features: Any, mask: Any, weight: Any, bias: Any, pad_h: int, pad_w: int
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of mmcv's node, its inputs, and its attributes."""
    inputs = (features, mask, weight) if bias is None else (features, mask, weight, bias)
    return "MMCVMaskedConv2d", inputs, {"padding": [pad_h, pad_w], "stride": 1}

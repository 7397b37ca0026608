# SPDX-License-Identifier: Apache-2.0
"""What CARAFE becomes in ONNX."""

from typing import Any


def carafe(
    features: Any, masks: Any, kernel_size: int, group_size: int, scale_factor: int
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of mmcv's node, its inputs, and its attributes."""
    numbers = {"kernel_size": kernel_size, "group_size": group_size}
    return "MMCVCARAFE", (features, masks), {**numbers, "scale_factor": float(scale_factor)}

# SPDX-License-Identifier: Apache-2.0
"""What BorderAlign becomes in ONNX."""

from typing import Any


def border_align(
    input: Any, boxes: Any, pool_size: int
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of mmcv's node, its inputs, and its attributes."""
    return "MMCVBorderAlign", (input, boxes), {"pool_size": pool_size}

# SPDX-License-Identifier: Apache-2.0
"""What deformable RoI pooling becomes in ONNX."""

from typing import Any


def deform_roi_pool(
    input: Any,
    rois: Any,
    offset: Any,
    pooled_h: int,
    pooled_w: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of mmcv's node, its inputs, and its attributes."""
    numbers = {
        "pooled_height": pooled_h,
        "pooled_width": pooled_w,
        "spatial_scale": spatial_scale,
        "sampling_ratio": sampling_ratio,
        "gamma": gamma,
    }
    inputs = (input, rois) if offset is None else (input, rois, offset)
    return "MMCVDeformRoIPool", inputs, numbers

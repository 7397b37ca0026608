# SPDX-License-Identifier: Apache-2.0
"""What RoIAlign becomes in ONNX."""

from typing import Any

from pymluops._families.roi_align.arrays import POOL_MODES


def roi_align(
    input: Any,
    rois: Any,
    pooled_h: int,
    pooled_w: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of mmcv's node, its inputs, and its attributes."""
    numbers = {
        "output_height": pooled_h,
        "output_width": pooled_w,
        "spatial_scale": spatial_scale,
        "sampling_ratio": sampling_ratio,
        "mode": next(word for word, mode in POOL_MODES.items() if mode == pool_mode),
        "aligned": int(aligned),
    }
    return "MMCVRoiAlign", (input, rois), numbers

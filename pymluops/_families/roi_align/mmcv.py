# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for RoIAlign."""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.roi_align.tensors import roi_align

#: What mmcv calls the family.
NAME = "RoIAlign"
REPLACED = {"roi_align.roi_align": roi_align}
_ops = torch.ops.pymluops


def roi_align_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    results = _ops.roi_align(
        input,
        rois,
        aligned_height,
        aligned_width,
        spatial_scale,
        sampling_ratio,
        pool_mode,
        aligned,
    )
    for ours, theirs in zip(results, (output, argmax_x, argmax_y), strict=True):
        theirs.copy_(ours)


def roi_align_backward(
    grad_output: Tensor,
    rois: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    grad_input: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    grad_input.copy_(
        _ops.roi_align_backward(
            grad_output,
            grad_input,
            rois,
            argmax_x,
            argmax_y,
            spatial_scale,
            sampling_ratio,
            pool_mode,
            aligned,
        )
    )

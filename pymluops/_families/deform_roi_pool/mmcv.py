# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for deformable RoI pooling."""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.deform_roi_pool.modules import (
    DeformRoIPoolPack,
    ModulatedDeformRoIPoolPack,
)
from pymluops._families.deform_roi_pool.tensors import deform_roi_pool

#: What mmcv calls the family.
NAME = "DeformRoIPool"
REPLACED = {
    "deform_roi_pool.deform_roi_pool": deform_roi_pool,
    "deform_roi_pool.DeformRoIPoolPack.forward": DeformRoIPoolPack.forward,
    "deform_roi_pool.ModulatedDeformRoIPoolPack.forward": ModulatedDeformRoIPoolPack.forward,
}
_ops = torch.ops.pymluops


def deform_roi_pool_forward(
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    output: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    output.copy_(
        _ops.deform_roi_pool(
            input,
            rois,
            _offset_or_none(offset),
            pooled_height,
            pooled_width,
            spatial_scale,
            sampling_ratio,
            gamma,
        )
    )


def deform_roi_pool_backward(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    grad_input: Tensor,
    grad_offset: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    of_input, of_offset = _ops.deform_roi_pool_backward(
        grad_output,
        input,
        rois,
        _offset_or_none(offset),
        spatial_scale,
        sampling_ratio,
        gamma,
    )
    grad_input.copy_(of_input)
    grad_offset.copy_(of_offset)


def _offset_or_none(offset: Tensor) -> Tensor | None:
    """Return None for the empty vector by which mmcv means "no offset"."""
    return None if offset.dim() == 1 else offset

# SPDX-License-Identifier: Apache-2.0
"""The C functions of deformable RoI pooling on torch tensors."""

from torch import Tensor

from pymluops.torch._native_calls import array, call, nhwc


def forward(
    features: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    output: Tensor,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    """Call it with NHWC features and output."""
    call(
        "mluOpDeformRoiPoolForward",
        *nhwc(features),
        *array(rois),
        *array(offset),
        output.shape[2],
        output.shape[3],
        spatial_scale,
        sampling_ratio,
        gamma,
        *nhwc(output),
    )


def backward(
    grad_output: Tensor,
    features: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    grad_features: Tensor,
    grad_offset: Tensor | None,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    """Call it with NHWC features and gradients of features and output."""
    call(
        "mluOpDeformRoiPoolBackward",
        *nhwc(grad_output),
        *nhwc(features),
        *array(rois),
        *array(offset),
        grad_output.shape[2],
        grad_output.shape[3],
        spatial_scale,
        sampling_ratio,
        gamma,
        *nhwc(grad_features),
        *array(grad_offset),
    )

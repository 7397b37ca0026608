# SPDX-License-Identifier: Apache-2.0
"""The C functions of deformable RoI pooling on torch tensors."""

from torch import Tensor

from pymluops._families.deform_roi_pool import reference
from pymluops.torch._double import in_double, is_double, pixels
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
    if is_double(features):
        numbers = (*output.shape[2:], spatial_scale, sampling_ratio, gamma)
        given = (pixels(features), rois, offset)
        pixels(output).copy_(in_double(reference.deform_roi_pool_forward, *given, *numbers))
        return
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
    if is_double(features):
        numbers = (*grad_output.shape[2:], spatial_scale, sampling_ratio, gamma)
        given = (pixels(grad_output), pixels(features), rois, offset)
        made = in_double(reference.deform_roi_pool_backward, *given, *numbers)
        pixels(grad_features).copy_(made[0])
        if grad_offset is not None:
            grad_offset.copy_(made[1])
        return
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

# SPDX-License-Identifier: Apache-2.0
"""The C functions of CARAFE on torch tensors."""

from torch import Tensor

from pymluops._descriptor import object_descriptor
from pymluops.torch._native_calls import call, nhwc


def forward(
    features: Tensor,
    masks: Tensor,
    output: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """Call it with NHWC tensors."""
    call(
        "mluOpCarafeForward",
        object_descriptor("Carafe", 4, kernel_size, group_size, scale_factor),
        *nhwc(features),
        *nhwc(masks),
        *nhwc(output),
    )


def backward(
    features: Tensor,
    masks: Tensor,
    grad_output: Tensor,
    grad_features: Tensor,
    grad_masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    """Call it with NHWC tensors."""
    call(
        "mluOpCarafeBackward",
        object_descriptor("Carafe", 4, kernel_size, group_size, scale_factor),
        *nhwc(features),
        *nhwc(masks),
        *nhwc(grad_output),
        *nhwc(grad_features),
        *nhwc(grad_masks),
    )

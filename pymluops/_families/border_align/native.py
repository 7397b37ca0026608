# SPDX-License-Identifier: Apache-2.0
"""The C functions of BorderAlign on torch tensors."""

from torch import Tensor

from pymluops._families.border_align import reference
from pymluops.torch._double import in_double, is_double, pixels
from pymluops.torch._native_calls import array, call, nhwc


def forward(
    features: Tensor, boxes: Tensor, output: Tensor, argmax: Tensor, pool_size: int
) -> None:
    """Call it with NHWC tensors and boxes; (N, C, K, 4) stands for [N, K, 4, C]."""
    if is_double(features):
        made = in_double(reference.border_align_forward, pixels(features), boxes, pool_size)
        pixels(output).copy_(made[0])
        pixels(argmax).copy_(made[1])
        return
    call(
        "mluOpBorderAlignForward",
        *nhwc(features),
        *array(boxes),
        pool_size,
        *nhwc(output),
        *nhwc(argmax),
    )


def backward(
    grad_output: Tensor, boxes: Tensor, argmax: Tensor, grad_features: Tensor, pool_size: int
) -> None:
    """Call it with tensors as for the forward."""
    if is_double(grad_output):
        given = (pixels(grad_output), boxes, pixels(argmax), pool_size, *grad_features.shape[2:])
        pixels(grad_features).copy_(in_double(reference.border_align_backward, *given))
        return
    call(
        "mluOpBorderAlignBackward",
        *nhwc(grad_output),
        *array(boxes),
        *nhwc(argmax),
        pool_size,
        *nhwc(grad_features),
    )

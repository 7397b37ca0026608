# SPDX-License-Identifier: Apache-2.0
"""The C functions of CARAFE on torch tensors."""

from torch import Tensor

from pymluops._descriptor import object_descriptor
from pymluops._families.carafe import reference
from pymluops.torch._double import in_double, is_double, pixels
from pymluops.torch._native_calls import call, nchw, nhwc


def forward(features: Tensor, masks: Tensor, output: Tensor, *numbers: int) -> None:
    """Call it with NHWC tensors; the numbers are kernel_size, group_size and scale_factor."""
    if is_double(output):
        given = (pixels(features), pixels(masks))
        pixels(output).copy_(in_double(reference.carafe_forward, *given, *numbers))
        return
    parameters = object_descriptor("Carafe", 4, *numbers)
    call("mluOpCarafeForward", parameters, *nhwc(features), *nhwc(masks), *nhwc(output))


def forward_nchw(features: Tensor, masks: Tensor, output: Tensor, *numbers: int) -> None:
    """Call it with NHWC tensors and a contiguous output, in float32 or float16."""
    parameters = object_descriptor("Carafe", 4, *numbers)
    call("mluOpCpuCarafeNchwForward", parameters, *nhwc(features), *nhwc(masks), *nchw(output))


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
    if is_double(features):
        numbers = (kernel_size, group_size, scale_factor)
        given = (pixels(features), pixels(masks), pixels(grad_output))
        made = in_double(reference.carafe_backward, *given, *numbers)
        pixels(grad_features).copy_(made[0])
        pixels(grad_masks).copy_(made[1])
        return
    call(
        "mluOpCarafeBackward",
        object_descriptor("Carafe", 4, kernel_size, group_size, scale_factor),
        *nhwc(features),
        *nhwc(masks),
        *nhwc(grad_output),
        *nhwc(grad_features),
        *nhwc(grad_masks),
    )

# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for deformable convolution.

mmcv passes buffers for columns and for ones, and how many images to take at once: nothing here
needs them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.dcn.shapes import front
from pymluops._families.dcn.tensors import deform_conv2d, modulated_deform_conv2d

#: What mmcv calls the family.
NAME = "DeformConv2d"
REPLACED = {
    "deform_conv.deform_conv2d": deform_conv2d,
    "modulated_deform_conv.modulated_deform_conv2d": modulated_deform_conv2d,
}
_ops = torch.ops.pymluops


def deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    output: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    numbers = ((dH, dW), (padH, padW), (dilationH, dilationW), group, deformable_group)
    output.copy_(_ops.deform_conv2d(input, offset, None, weight, None, *numbers))


def deform_conv_backward_input(
    input: Tensor,
    offset: Tensor,
    gradOutput: Tensor,
    gradInput: Tensor,
    gradOffset: Tensor,
    weight: Tensor,
    columns: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    numbers = ((dH, dW), (padH, padW), (dilationH, dilationW), group, deformable_group)
    needed = (True, True, False, False, False)
    of_input, of_offset, *_ = _ops.deform_conv2d_backward(
        gradOutput, input, offset, None, weight, *numbers, needed
    )
    gradInput.copy_(of_input)
    gradOffset.copy_(of_offset)


def deform_conv_backward_parameters(
    input: Tensor,
    offset: Tensor,
    gradOutput: Tensor,
    gradWeight: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    scale: float,
    im2col_step: int,
) -> None:
    numbers = ((dH, dW), (padH, padW), (dilationH, dilationW), group, deformable_group)
    needed = (False, False, False, True, False)
    of_weight = _ops.deform_conv2d_backward(
        gradOutput, input, offset, None, gradWeight, *numbers, needed
    )[3]
    gradWeight.add_(of_weight, alpha=scale)


def modulated_deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    output: Tensor,
    columns: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    taps, size = deformable_group * kernel_h * kernel_w, tuple(output.shape[2:])
    numbers = ((stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
    output.copy_(
        _ops.deform_conv2d(
            input,
            front(offset, 2 * taps, size),
            front(mask, taps, size),
            weight,
            bias if with_bias else None,
            *numbers,
            group,
            deformable_group,
        )
    )


def modulated_deform_conv_backward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    columns: Tensor,
    grad_input: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor,
    grad_offset: Tensor,
    grad_mask: Tensor,
    grad_output: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    taps, size = deformable_group * kernel_h * kernel_w, tuple(grad_output.shape[2:])
    numbers = ((stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
    grads = _ops.deform_conv2d_backward(
        grad_output,
        input,
        front(offset, 2 * taps, size),
        front(mask, taps, size),
        weight,
        *numbers,
        group,
        deformable_group,
        (True, True, True, True, with_bias),
    )
    grad_input.copy_(grads[0])
    grad_offset.copy_(_behind(grads[1], grad_offset))
    grad_mask.copy_(_behind(grads[2], grad_mask))
    grad_weight.copy_(grads[3])
    if with_bias:
        grad_bias.copy_(grads[4])


def _behind(grad: Tensor, like: Tensor) -> Tensor:
    """Return a gradient with zeros behind that of each image, in the shape of larger maps."""
    if grad.shape == like.shape:
        return grad
    full = like.new_zeros((like.shape[0], like[0].numel()))
    full[:, : grad[0].numel()] = grad.flatten(1)
    return full.view(like.shape)

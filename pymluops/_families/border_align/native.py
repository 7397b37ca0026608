# SPDX-License-Identifier: Apache-2.0
"""The C functions of BorderAlign on torch tensors."""

from torch import Tensor

from pymluops.torch._native_calls import array, call, nhwc


def forward(
    features: Tensor, boxes: Tensor, output: Tensor, argmax: Tensor, pool_size: int
) -> None:
    """Call it with NHWC tensors and boxes; (N, C, K, 4) stands for [N, K, 4, C]."""
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
    call(
        "mluOpBorderAlignBackward",
        *nhwc(grad_output),
        *array(boxes),
        *nhwc(argmax),
        pool_size,
        *nhwc(grad_features),
    )

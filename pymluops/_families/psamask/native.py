# SPDX-License-Identifier: Apache-2.0
"""The C functions of PSAMask on torch tensors."""

from torch import Tensor

from pymluops.torch._native_calls import call, nhwc


def forward(x: Tensor, y: Tensor, psa_type: int, h_mask: int, w_mask: int) -> None:
    """Call it with NHWC tensors of float32."""
    call("mluOpPsamaskForward", psa_type, *nhwc(x), h_mask, w_mask, *nhwc(y))


def backward(dy: Tensor, dx: Tensor, psa_type: int, h_mask: int, w_mask: int) -> None:
    """Call it with NHWC tensors of float32."""
    call("mluOpPsamaskBackward", psa_type, *nhwc(dy), h_mask, w_mask, *nhwc(dx))

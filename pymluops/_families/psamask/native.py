# SPDX-License-Identifier: Apache-2.0
"""The C functions of PSAMask on torch tensors."""

from torch import Tensor

from pymluops._families.psamask import reference
from pymluops.torch._double import in_double, is_double, pixels
from pymluops.torch._native_calls import call, nhwc


def forward(x: Tensor, y: Tensor, psa_type: int, h_mask: int, w_mask: int) -> None:
    """Call it with NHWC tensors of float32 or float64."""
    if is_double(x):
        given = (pixels(x), psa_type, h_mask, w_mask)
        pixels(y).copy_(in_double(reference.psamask_forward, *given))
        return
    call("mluOpPsamaskForward", psa_type, *nhwc(x), h_mask, w_mask, *nhwc(y))


def backward(dy: Tensor, dx: Tensor, psa_type: int, h_mask: int, w_mask: int) -> None:
    """Call it with NHWC tensors of float32 or float64."""
    if is_double(dy):
        given = (pixels(dy), psa_type, h_mask, w_mask)
        pixels(dx).copy_(in_double(reference.psamask_backward, *given))
        return
    call("mluOpPsamaskBackward", psa_type, *nhwc(dy), h_mask, w_mask, *nhwc(dx))

# SPDX-License-Identifier: Apache-2.0
"""The C functions of PSAMask on torch tensors."""

from torch import Tensor

from pymluops._families.psamask import reference
from pymluops.torch._double import in_double, is_double, pixels
from pymluops.torch._native_calls import call, nchw, nhwc


def forward(
    x: Tensor, y: Tensor, psa_type: int, h_mask: int, w_mask: int, channels_last: bool
) -> None:
    """Call it with tensors of float32 or float64, both channels_last or both contiguous."""
    if is_double(x):
        given = (pixels(x), psa_type, h_mask, w_mask)
        pixels(y).copy_(in_double(reference.psamask_forward, *given))
    elif channels_last:
        call("mluOpPsamaskForward", psa_type, *nhwc(x), h_mask, w_mask, *nhwc(y))
    else:
        call("mluOpCpuPsamaskNchwForward", psa_type, *nchw(x), h_mask, w_mask, *nchw(y))


def backward(
    dy: Tensor, dx: Tensor, psa_type: int, h_mask: int, w_mask: int, channels_last: bool
) -> None:
    """Call it with tensors of float32 or float64, both channels_last or both contiguous."""
    if is_double(dy):
        given = (pixels(dy), psa_type, h_mask, w_mask)
        pixels(dx).copy_(in_double(reference.psamask_backward, *given))
    elif channels_last:
        call("mluOpPsamaskBackward", psa_type, *nhwc(dy), h_mask, w_mask, *nhwc(dx))
    else:
        call("mluOpCpuPsamaskNchwBackward", psa_type, *nchw(dy), h_mask, w_mask, *nchw(dx))

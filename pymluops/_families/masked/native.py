# SPDX-License-Identifier: Apache-2.0
"""The C functions of masked im2col and col2im on torch tensors."""

from torch import Tensor

from pymluops._families.masked import reference
from pymluops.capi import ffi
from pymluops.torch._double import in_double, is_double
from pymluops.torch._native_calls import array, call, nchw, rows

# What the library asks for, whatever the tensors: a query would take as long as a small call.
_WORKSPACE, _WORKSPACE_SIZE = ffi.NULL, 0


def im2col(
    features: Tensor,
    positions: Tensor,
    data_col: Tensor,
    kernel_size: tuple[int, int],
    padding: tuple[int, int],
) -> None:
    """Call it with NCHW features and with int32 positions, one row of each coordinate."""
    if is_double(features):
        given = (features, *positions, *kernel_size, *padding)
        data_col.copy_(in_double(reference.masked_im2col_forward, *given))
        return
    features_args, col_args = nchw(features), array(data_col)
    h_args, w_args = rows(positions)
    call(
        "mluOpMaskedIm2colForward",
        *features_args,
        *h_args,
        *w_args,
        *kernel_size,
        *padding,
        _WORKSPACE,
        _WORKSPACE_SIZE,
        *col_args,
    )


def col2im(col: Tensor, positions: Tensor, image: Tensor) -> None:
    """Call it with an NCHW image and positions as above; what no column names becomes 0."""
    if is_double(col):
        given = (col, *positions, *image.shape[2:])
        image.copy_(in_double(reference.masked_col2im_forward, *given))
        return
    col_args, image_args = array(col), nchw(image)
    h_args, w_args = rows(positions)
    room = (_WORKSPACE_SIZE, _WORKSPACE)
    call("mluOpMaskedCol2imForward", *col_args, *h_args, *w_args, *room, *image_args)

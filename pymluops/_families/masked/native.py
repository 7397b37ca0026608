# SPDX-License-Identifier: Apache-2.0
"""The C functions of masked im2col and col2im on torch tensors."""

from torch import Tensor

from pymluops._call import workspace_for
from pymluops._families.masked import reference
from pymluops.torch._double import in_double, is_double
from pymluops.torch._native_calls import array, call, nchw, rows


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
    x, (at_h, at_w), col = nchw(features), rows(positions), array(data_col)
    descriptors = (x[0], at_h[0], at_w[0], *kernel_size, col[0])
    room = workspace_for("mluOpGetMaskedIm2colForwardWorkspaceSize", *descriptors)
    call("mluOpMaskedIm2colForward", *x, *at_h, *at_w, *kernel_size, *padding, *room, *col)


def col2im(col: Tensor, positions: Tensor, image: Tensor) -> None:
    """Call it with an NCHW image and positions as above; what no column names becomes 0."""
    if is_double(col):
        given = (col, *positions, *image.shape[2:])
        image.copy_(in_double(reference.masked_col2im_forward, *given))
        return
    x, (at_h, at_w), im = array(col), rows(positions), nchw(image)
    descriptors = (x[0], at_h[0], at_w[0], im[0])
    workspace, size = workspace_for("mluOpGetMaskedCol2imForwardWorkspaceSize", *descriptors)
    call("mluOpMaskedCol2imForward", *x, *at_h, *at_w, size, workspace, *im)

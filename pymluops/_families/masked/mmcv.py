# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for masked im2col and col2im."""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.masked import native
from pymluops.torch._tensors import to_dense

#: What mmcv calls the family.
NAME = "MaskedConv2d"


def masked_im2col_forward(
    im: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    col: Tensor,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
) -> None:
    columns = torch.empty(col.shape, dtype=torch.float32)
    native.im2col(
        to_dense(im, torch.float32),
        torch.stack((mask_h_idx, mask_w_idx)).to(torch.int32),
        columns,
        (kernel_h, kernel_w),
        (pad_h, pad_w),
    )
    col.copy_(columns)


def masked_col2im_forward(
    col: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    im: Tensor,
    height: int,
    width: int,
    channels: int,
) -> None:
    image = torch.empty(im.shape, dtype=torch.float32)
    native.col2im(
        to_dense(col, torch.float32),
        torch.stack((mask_h_idx, mask_w_idx)).to(torch.int32),
        image,
    )
    im.copy_(image)

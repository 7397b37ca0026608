# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for masked im2col and col2im."""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.masked.columns import masked_col2im, masked_im2col
from pymluops._families.masked.modules import MaskedConv2d
from pymluops._families.masked.tensors import masked_conv2d

#: What mmcv calls the family.
NAME = "MaskedConv2d"
REPLACED = {
    "masked_conv.masked_conv2d": masked_conv2d,
    "masked_conv.MaskedConv2d.forward": MaskedConv2d.forward,
}


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
    positions = torch.stack((mask_h_idx, mask_w_idx))
    col.copy_(masked_im2col(im, positions, kernel_h, kernel_w, pad_h, pad_w))


def masked_col2im_forward(
    col: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    im: Tensor,
    height: int,
    width: int,
    channels: int,
) -> None:
    positions = torch.stack((mask_h_idx, mask_w_idx))
    im.copy_(masked_col2im(col, positions, height, width))

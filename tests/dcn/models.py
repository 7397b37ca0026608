# SPDX-License-Identifier: Apache-2.0
"""Models that convolve with moved taps, and that convolution in plain torch."""

from typing import Any

import torch
from parts import Model, corners, pair
from torch import Tensor

MODELS = {
    "dcn faster-rcnn": Model("mmdet", "dcn/faster-rcnn_r50-dconv-c3-c5_fpn_1x_coco.py"),
    "dcnv2 mask-rcnn": Model("mmdet", "dcnv2/mask-rcnn_r50-mdconv-c3-c5_fpn_1x_coco.py"),
    "dyhead atss": Model("mmdet", "dyhead/atss_r50_fpn_dyhead_1x_coco.py", autocast=True),
}


def modulated_deform_conv2d(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deform_groups: int = 1,
) -> Tensor:
    (sh, sw), (ph, pw), (dh, dw) = map(pair, (stride, padding, dilation))
    n, _, height, width = input.shape
    out_channels, _, kh, kw = weight.shape
    out_h = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    out_w = (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    rows = (torch.arange(out_h) * sh - ph)[None, None, :, None]
    columns = (torch.arange(out_w) * sw - pw)[None, None, None]
    rows = rows + (torch.arange(kh) * dh)[:, None, None, None]
    columns = columns + (torch.arange(kw) * dw)[None, :, None, None]
    # Maps may be larger than the output: the operator reads them with the output's strides.
    moves = offset.reshape(n, -1)[:, : 2 * deform_groups * kh * kw * out_h * out_w]
    moves = moves.view(n, deform_groups, kh, kw, 2, out_h, out_w)
    factors = None
    if mask is not None:
        factors = mask.reshape(n, -1)[:, : deform_groups * kh * kw * out_h * out_w]
        factors = factors.view(n, deform_groups, 1, kh * kw, out_h * out_w)
    sampled = []
    for image, move in zip(input, moves, strict=True):
        for part, by in zip(image.chunk(deform_groups), move, strict=True):
            y, x = rows + by[:, :, 0], columns + by[:, :, 1]
            height, width = part.shape[1:]
            inside = (y > -1) & (y < height) & (x > -1) & (x < width)
            sampled.append(corners(part, y.flatten(), x.flatten()) * inside.flatten())
    values = torch.stack(sampled).view(n, deform_groups, -1, kh * kw, out_h * out_w)
    if factors is not None:
        values = values * factors
    values = values.reshape(n, groups, -1, out_h * out_w)
    result = weight.reshape(groups, out_channels // groups, -1) @ values
    result = result.view(n, out_channels, out_h, out_w)
    return result if bias is None else result + bias[:, None, None]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deform_groups: int = 1,
    bias: bool = False,
    im2col_step: int = 32,
) -> Tensor:
    numbers = (stride, padding, dilation, groups, deform_groups)
    return modulated_deform_conv2d(input, offset, None, weight, None, *numbers)


STAND_INS = {
    "deform_conv.deform_conv2d": ("deform_conv2d", deform_conv2d),
    "modulated_deform_conv.modulated_deform_conv2d": ("deform_conv2d", modulated_deform_conv2d),
}

# SPDX-License-Identifier: Apache-2.0
"""Models that attend to points, and the spreading of their masks in plain torch."""

from typing import Any

import torch
from parts import Model, pair
from torch import Tensor

MODELS = {
    "psanet cityscapes": Model(
        "mmseg", "psanet/psanet_r50-d8_4xb2-40k_cityscapes-512x1024.py", channels_last=True
    ),
    "psanet ade20k": Model("mmseg", "psanet/psanet_r50-d8_4xb4-80k_ade20k-512x512.py"),
}


def psa_mask(x: Tensor, psa_type: int, mask_size: Any) -> Tensor:
    n, _, height, width = x.shape
    h_mask, w_mask = pair(mask_size)
    h, w, th, tw = (
        part.flatten()
        for part in torch.meshgrid(
            *map(torch.arange, (height, width, height, width)), indexing="ij"
        )
    )
    u, v = th - h + (h_mask - 1) // 2, tw - w + (w_mask - 1) // 2
    hit = (u >= 0) & (u < h_mask) & (v >= 0) & (v < w_mask)
    h, w, th, tw, u, v = (part[hit] for part in (h, w, th, tw, u, v))
    y = x.new_zeros(n, height * width, height * width)
    images = torch.arange(n)[:, None]
    values = x[images, u * w_mask + v, h, w]
    here, there = h * width + w, th * width + tw
    y = y.index_put((images, there, here) if psa_type == 0 else (images, here, there), values)
    return y.view(n, height * width, height, width)


STAND_INS = {"psa_mask.psa_mask": ("psa_mask", psa_mask)}

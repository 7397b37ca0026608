# SPDX-License-Identifier: Apache-2.0
"""A model that takes masks from regions, and RoIAlign in plain torch."""

import math
from typing import Any

import torch
from parts import Model, pair, points, sample
from torch import Tensor

MODELS = {"mask-rcnn": Model("mmdet", "mask_rcnn/mask-rcnn_r50_fpn_1x_coco.py")}


def roi_align(
    input: Tensor,
    rois: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    pool_mode: str = "avg",
    aligned: bool = True,
) -> Tensor:
    assert pool_mode == "avg"
    bins_h, bins_w = pair(output_size)
    pooled = []
    for image, *corners in map(list, rois.unbind(0)):
        x1, y1, x2, y2 = (corner * spatial_scale - (0.5 if aligned else 0) for corner in corners)
        h, w = y2 - y1, x2 - x1
        if not aligned:
            h, w = h.clamp(min=1), w.clamp(min=1)
        grid_h = sampling_ratio or max(math.ceil(h / bins_h), 0)
        grid_w = sampling_ratio or max(math.ceil(w / bins_w), 0)
        y, x = points(y1, h, bins_h, grid_h), points(x1, w, bins_w, grid_w)
        shape = (bins_h, grid_h, bins_w, grid_w)
        ys, xs = y[:, :, None, None].expand(shape), x[None, None].expand(shape)
        values = sample(input[int(image)], ys.flatten(), xs.flatten())
        pooled.append(values.view(-1, *shape).sum((2, 4)) / max(grid_h * grid_w, 1))
    return torch.stack(pooled) if pooled else input.new_zeros(0, input.shape[1], bins_h, bins_w)


STAND_INS = {"roi_align.roi_align": ("roi_align", roi_align)}

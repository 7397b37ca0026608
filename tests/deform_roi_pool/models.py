# SPDX-License-Identifier: Apache-2.0
"""Models that pool regions whose bins move, and that pooling in plain torch."""

import math
from typing import Any

import torch
from parts import Model, pair, points, with_slopes
from torch import Tensor

MODELS = {
    "dcn faster-rcnn dpool": Model(
        "mmdet", "dcn/faster-rcnn_r50_fpn_dpool_1x_coco.py", autocast=True
    ),
    "dcnv2 faster-rcnn mdpool": Model("mmdet", "dcnv2/faster-rcnn_r50_fpn_mdpool_1x_coco.py"),
}


def deform_roi_pool(
    input: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
) -> Tensor:
    bins_h, bins_w = pair(output_size)
    pooled = []
    for r, (image, *corners) in enumerate(map(list, rois.unbind(0))):
        x1, y1, x2, y2 = (corner * spatial_scale - 0.5 for corner in corners)
        h, w = y2 - y1, x2 - x1
        grid_h = sampling_ratio or max(math.ceil(h / bins_h), 0)
        grid_w = sampling_ratio or max(math.ceil(w / bins_w), 0)
        shape = (bins_h, grid_h, bins_w, grid_w)
        y = points(y1, h, bins_h, grid_h)[:, :, None, None].expand(shape)
        x = points(x1, w, bins_w, grid_w)[None, None].expand(shape)
        if offset is not None:
            x = x + gamma * w * offset[r, 0][:, None, :, None]
            y = y + gamma * h * offset[r, 1][:, None, :, None]
        values = with_slopes(input[int(image)], y.flatten(), x.flatten())
        pooled.append(values.view(-1, *shape).sum((2, 4)) / max(grid_h * grid_w, 1))
    return torch.stack(pooled) if pooled else input.new_zeros(0, input.shape[1], bins_h, bins_w)


STAND_INS = {"deform_roi_pool.deform_roi_pool": ("deform_roi_pool", deform_roi_pool)}

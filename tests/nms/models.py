# SPDX-License-Identifier: Apache-2.0
"""A model that needs no other operator of ours, and non-maximum suppression in plain torch."""

import torch
from parts import Model
from torch import Tensor

MODELS = {"retinanet": Model("mmdet", "retinanet/retinanet_r50_fpn_1x_coco.py")}
#: Settings that say how many boxes there are before and after it.
BOX_LIMITS = ("max_per_img", "nms_pre")


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """As the function of mmcv's compiled module."""
    order = scores.sort(descending=True, stable=True)[1]
    boxes = boxes[order]
    area = (boxes[:, 2:] - boxes[:, :2] + offset).prod(1)
    alive = torch.ones(len(boxes), dtype=torch.bool)
    for i in range(len(boxes)):
        if alive[i]:
            low = torch.maximum(boxes[i, :2], boxes[i + 1 :, :2])
            high = torch.minimum(boxes[i, 2:], boxes[i + 1 :, 2:])
            shared = (high - low + offset).clamp(min=0).prod(1)
            alive[i + 1 :] &= ~(shared / (area[i] + area[i + 1 :] - shared) > iou_threshold)
    return order[alive]


EXTENSION = {"nms": ("nms", nms)}

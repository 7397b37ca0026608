# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for nms."""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.nms.tensors import _hard, _soft

#: What mmcv calls the family.
NAME = "nms"


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    return _hard(boxes, scores, None, iou_threshold, offset, 0, -1)


def softnms(
    boxes: Tensor,
    scores: Tensor,
    dets: Tensor,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> Tensor:
    inds, now = _soft(boxes, scores, None, (iou_threshold, sigma, min_score, offset), method)
    dets[: len(inds)] = torch.cat((boxes[inds], now[:, None].to(boxes.dtype)), 1)
    return inds

# SPDX-License-Identifier: Apache-2.0
"""Small calls of nms in PyTorch, and the same in stock operations.

What they return has as many rows as the data says, and no gradient but that of taking rows.
"""

from typing import Any

import torch
from torch import Tensor
from torch_case import Case, between

import pymluops.torch as ours


def reference(
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: float,
    offset: int = 0,
    score_threshold: float = 0,
    max_num: int = -1,
) -> tuple[Tensor, Tensor]:
    order = scores.sort(descending=True, stable=True)[1]
    if score_threshold > 0:
        order = order[scores[order] > score_threshold]
    kept: list[int] = []
    for i in order.tolist():
        if not kept or not (_iou(boxes[kept], boxes[i], offset) > iou_threshold).any():
            kept.append(i)
    inds = torch.tensor(kept[:max_num] if max_num > 0 else kept, dtype=torch.int64)
    return torch.cat((boxes[inds], scores[inds, None]), 1), inds


def _iou(kept: Tensor, box: Tensor, offset: int) -> Tensor:
    def area(boxes: Tensor) -> Tensor:
        return (boxes[..., 2] - boxes[..., 0] + offset) * (boxes[..., 3] - boxes[..., 1] + offset)

    low, high = torch.maximum(kept[:, :2], box[:2]), torch.minimum(kept[:, 2:], box[2:])
    shared = (high - low + offset).clamp(min=0).prod(1)
    return shared / (area(kept) + area(box) - shared)


def arguments(generator: torch.Generator, n: int = 60) -> tuple[Tensor, Tensor]:
    """Return boxes, many of which overlap, and scores, some of which are equal."""
    low = between(generator, n, 2, low=0, high=40)
    boxes = torch.cat((low, low + between(generator, n, 2, low=2, high=30)), 1)
    return boxes, torch.randint(1, 30, (n,), generator=generator) / 32


def _make(*numbers: Any) -> Any:
    return lambda generator: (*arguments(generator), *numbers)


def _operator(
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: float,
    offset: int = 0,
    score_threshold: float = 0,
    max_num: int = -1,
) -> Any:
    least = score_threshold if score_threshold > 0 else -float("inf")
    most = max_num if max_num > 0 else 2**31 - 1
    return "nms", (boxes, scores, None, iou_threshold, least, most, offset, 0, 0.5)


CASES = [
    Case(name, ours.nms, reference, _make(*numbers), (), _operator)
    for name, numbers in (
        ("nms", (0.5,)),
        ("nms_offset", (0.3, 1)),
        ("nms_score_threshold", (0.5, 0, 0.4)),
        ("nms_max_num", (0.7, 0, 0, 5)),
    )
]

#: mmcv has functions alone.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {}

# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression in stock operations of PyTorch: hard, of one class."""

from typing import Any

import torch
from torch import Tensor

from pymluops._families._torch_peers import tensor
from pymluops.bench._peers import Made, Peer, tensors

_MOST_BOXES = 20000


def _overlaps(of: Tensor, others: Tensor, threshold: float) -> Tensor:
    """Return which of the other boxes share more than a threshold with a box."""
    low = torch.maximum(of[:2], others[:, :2])
    high = torch.minimum(of[2:], others[:, 2:])
    both = (high - low).clamp(min=0).prod(1)
    area = (of[2:] - of[:2]).prod()
    areas = (others[:, 2:] - others[:, :2]).prod(1)
    return both / (area + areas - both) > threshold


def _greedy(p: Any) -> Made | None:
    if p.classes != 1 or p.method != 0 or len(p.boxes) > _MOST_BOXES:
        return None
    boxes, scores = tensor(p.boxes), tensor(p.scores)

    def run() -> Tensor:
        order = scores.argsort(descending=True)
        sorted_boxes, kept = boxes[order], []
        while len(order):
            kept.append(order[0])
            alive = ~_overlaps(sorted_boxes[0], sorted_boxes[1:], p.threshold)
            order, sorted_boxes = order[1:][alive], sorted_boxes[1:][alive]
        return torch.stack(kept)

    return run, tensors


PEERS = {"nms": [Peer("a loop over the boxes that are kept", _greedy, 0)]}

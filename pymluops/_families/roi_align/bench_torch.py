# SPDX-License-Identifier: Apache-2.0
"""The means of RoIAlign in PyTorch's operations; calls of ours for benchmarks/layouts.py."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from pymluops import torch as ops
from pymluops._families._torch_peers import gradients, pooled_regions, tensor
from pymluops.bench._peers import Made, Peer, tensors


def _forward(p: Any) -> Made | None:
    if p.maximum:
        return None
    x, rois = tensor(p.x), tensor(p.rois)
    return lambda: pooled_regions(x, rois, None, p), tensors


def _backward(p: Any) -> Made | None:
    if p.maximum:
        return None
    x, rois = tensor(np.zeros(p.map, np.float32)), tensor(p.rois)
    return gradients(lambda x: pooled_regions(x, rois, None, p), [x], tensor(p.grad)), tensors


PEERS = {
    "roi_align_forward": [Peer("embedding_bag, a bag for each bin", _forward, 1e-2)],
    "roi_align_backward": [Peer("autograd of embedding_bag", _backward, 1e-2)],
}


def ours() -> Iterator[Any]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    for count in (200, 1000):
        corners = torch.rand(count, 2) * 500
        boxes = torch.cat([torch.zeros(count, 1), corners, corners + 100], 1)
        images = [torch.randn(1, 256, 152, 152)]
        yield f"roi_align {count}", lambda x, b=boxes: ops.roi_align(x, b, 7, 0.25, 2), images

# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling in PyTorch's operations; calls of ours for benchmarks/layouts.py."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from pymluops import torch as ops
from pymluops._families._torch_peers import gradients, pooled_regions, tensor
from pymluops.bench._peers import Made, Peer, tensors


def _forward(p: Any) -> Made:
    x, rois = tensor(p.x), tensor(p.rois)
    offset = None if p.offset is None else tensor(p.offset)
    return lambda: pooled_regions(x, rois, offset, p), tensors


def _backward(p: Any) -> Made:
    rois = tensor(p.rois)

    def forward(x: Tensor, offset: Tensor | None = None) -> Tensor:
        return pooled_regions(x, rois, offset, p)

    inputs = [tensor(array) for array in (p.x, p.offset) if array is not None]
    return gradients(forward, inputs, tensor(p.grad)), tensors


PEERS = {
    "deform_roi_pool_forward": [Peer("embedding_bag, a bag for each bin", _forward, 1e-2)],
    # Where a sample is on a line of pixels, its side decides the gradient of its place.
    "deform_roi_pool_backward": [Peer("autograd of embedding_bag", _backward, 3e-2)],
}


def ours() -> Iterator[Any]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    corners = torch.rand(200, 2) * 100
    rois = torch.cat([torch.zeros(200, 1), corners, corners + 50], 1)
    images = [torch.randn(1, 256, 100, 100)]
    yield "deform_roi_pool", lambda x: ops.deform_roi_pool(x, rois, None, 7, 0.5, 2, 0.1), images

# SPDX-License-Identifier: Apache-2.0
"""BorderAlign in stock operations of PyTorch, and calls of ours for benchmarks/layouts.py."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pymluops import torch as ops
from pymluops._families._torch_peers import clamped_corners, tensor
from pymluops.bench._peers import Made, Peer, tensors


def _points(boxes: Tensor, pool_size: int) -> tuple[Tensor, Tensor]:
    """Return y and x of the samples [N, K, 4, pool_size + 1]: top, left, bottom, right."""
    left, top, right, bottom = boxes.unbind(-1)
    step = torch.arange(pool_size + 1, dtype=boxes.dtype) / pool_size
    across = (right - left)[..., None] * step
    along = (bottom - top)[..., None] * step
    still = torch.zeros_like(across)
    starts = ((top, still, left, across), (top, along, left, still))
    ends = ((bottom, still, right, -across), (bottom, -along, right, still))
    sides = (*starts, *ends)
    y = torch.stack([of_y[..., None] + move for of_y, move, _, _ in sides], 2)
    x = torch.stack([of_x[..., None] + move for _, _, of_x, move in sides], 2)
    return y, x


def _forward(p: Any) -> Made:
    x, boxes = tensor(p.x), tensor(p.boxes)
    n, height, width, channels = x.shape
    rows = x.view(-1, channels // 4)
    shape = (*boxes.shape[:2], 4, channels // 4)

    def run() -> tuple[Tensor, Tensor]:
        ys, xs = _points(boxes, p.pool_size)
        places, weights = clamped_corners(ys, xs, height, width)
        image = torch.arange(n).view(-1, 1, 1, 1, 1) * (height * width)
        places = (places + image) * 4 + torch.arange(4).view(1, 1, 4, 1, 1)
        best = found = None
        for step in range(p.pool_size + 1):
            value = functional.embedding_bag(
                places[..., step, :].reshape(-1, 4),
                rows,
                mode="sum",
                per_sample_weights=weights[..., step, :].reshape(-1, 4),
            )
            if best is None or found is None:
                best, found = value, torch.zeros(value.shape, dtype=torch.int32)
            else:
                found = torch.where(value > best, step, found)
                best = torch.maximum(best, value)
        assert best is not None
        assert found is not None
        return best.view(shape), found.view(shape)

    return run, tensors


def _backward(p: Any) -> Made:
    grad, boxes, argmax = tensor(p.grad), tensor(p.boxes), tensor(p.argmax)
    n, _, _, channels = grad.shape

    def run() -> Tensor:
        ys, xs = _points(boxes, p.pool_size)
        places, weights = clamped_corners(ys, xs, p.height, p.width)
        steps = argmax.long()
        found = torch.zeros(n, p.height * p.width, 4, channels)
        for corner in range(4):
            at = places[..., corner].gather(3, steps)
            found.scatter_add_(1, at, grad * weights[..., corner].gather(3, steps))
        return found.view(n, p.height, p.width, -1)

    return run, tensors


PEERS = {
    "border_align_forward": [Peer("embedding_bag, a maximum for each step", _forward, 1e-3)],
    "border_align_backward": [Peer("scatter_add, a call for each corner", _backward, 1e-3)],
}


def ours() -> Iterator[Any]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    boxes = torch.rand(1, 1024, 4).mul(16) + torch.tensor([0.0, 0.0, 16.0, 16.0])
    images = [torch.randn(1, 1024, 32, 32)]
    yield "border_align", lambda x: ops.border_align(x, boxes, 10), images

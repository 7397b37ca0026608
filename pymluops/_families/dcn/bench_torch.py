# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution in PyTorch's operations; calls of ours for benchmarks/layouts.py."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pymluops import torch as ops
from pymluops._families._torch_peers import corners, gradients, tensor
from pymluops.bench._peers import Made, Peer, tensors


def _columns(x: Tensor, offset: Tensor, mask: Tensor | None, p: Any) -> Tensor:
    """Return the samples [pixels, 9 * channels]: each is a bag of four pixels."""
    n, height, width, channels = x.shape
    groups = p.deformable_groups
    _, high, wide, _ = offset.shape
    moves = offset.view(n, high, wide, groups, 3, 3, 2)
    tap = torch.arange(3) - 1
    rows = (torch.arange(high) * p.stride).view(-1, 1, 1, 1, 1) + tap.view(3, 1)
    columns = (torch.arange(wide) * p.stride).view(-1, 1, 1, 1) + tap
    places, weights = corners(moves[..., 0] + rows, moves[..., 1] + columns, height, width)
    if mask is not None:
        weights = weights * mask.view(n, high, wide, groups, 3, 3, 1)
    image = torch.arange(n).view(-1, 1, 1, 1, 1, 1, 1) * (height * width)
    group = torch.arange(groups).view(-1, 1, 1, 1)
    places = (places + image) * groups + group
    order = (0, 1, 2, 4, 5, 3, 6)  # the groups are parts of the channels
    found = functional.embedding_bag(
        places.permute(order).reshape(-1, 4),
        x.reshape(-1, channels // groups),
        mode="sum",
        per_sample_weights=weights.permute(order).reshape(-1, 4),
    )
    return found.view(n * high * wide, 9 * channels)


def _convolved(columns: Tensor, weights: Tensor, like: Tensor) -> Tensor:
    return (columns @ weights.reshape(len(weights), -1).T).view(*like.shape[:3], -1)


def _given(p: Any) -> list[Tensor]:
    return [tensor(array) for array in (p.x, p.offset, p.mask) if array is not None]


def _forward(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    given, weights = _given(p), tensor(p.weights)

    def run() -> Tensor:
        columns = _columns(given[0], given[1], given[2] if len(given) > 2 else None, p)
        return _convolved(columns, weights, given[1])

    return run, tensors


def _backward_data(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    weights = tensor(p.weights)

    def forward(x: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return _convolved(_columns(x, offset, mask, p), weights, offset)

    return gradients(forward, _given(p), tensor(p.grad)), tensors


def _backward_weight(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    given, grad = _given(p), tensor(p.grad)

    def run() -> Tensor:
        columns = _columns(given[0], given[1], given[2] if len(given) > 2 else None, p)
        return (grad.view(-1, p.channels).T @ columns).view(p.channels, 3, 3, -1)

    return run, tensors


PEERS = {
    "deform_conv_forward": [Peer("embedding_bag, matrix product", _forward, 1e-3)],
    "deform_conv_backward_data": [Peer("autograd of embedding_bag", _backward_data, 1e-2)],
    "deform_conv_backward_weight": [Peer("embedding_bag, matrix product", _backward_weight, 1e-3)],
}


def ours() -> Iterator[Any]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    for c, h, w in ((64, 100, 152), (256, 50, 76)):
        weight, bias = torch.randn(c, c, 3, 3) / 50, torch.zeros(c)
        images = [torch.randn(1, c, h, w), torch.randn(1, 18, h, w), torch.rand(1, 9, h, w)]
        yield (
            f"modulated_deform_conv2d {c}",
            lambda x, o, m, f=weight, b=bias: ops.modulated_deform_conv2d(x, o, m, f, b, 1, 1),
            images,
        )

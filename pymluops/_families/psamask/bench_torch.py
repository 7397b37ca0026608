# SPDX-License-Identifier: Apache-2.0
"""PSAMask in stock operations of PyTorch, and calls of ours for benchmarks/layouts.py.

The masks are as large as any target needs, so that every target has its place in every mask.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from pymluops import torch as ops
from pymluops._families._torch_peers import tensor
from pymluops.bench._peers import Made, Peer, tensors


def _places(size: int) -> Tensor:
    """Return where in the mask of a pixel each target is."""
    at = torch.arange(size)
    apart = at[None, :] - at[:, None] + size - 1  # of a pixel and a target along one axis
    places = apart[:, None, :, None] * (2 * size - 1) + apart[None, :, None, :]
    return places.reshape(size * size, size * size)


def _view(masks: Tensor, size: int) -> Tensor:
    """Return masks as [N, H, W, H, W], pixel and target, in the memory where they are."""
    wide = 2 * size - 1
    whole = wide * wide
    strides = (size * size * whole, size * whole - wide, whole - 1, wide, 1)
    shape = (len(masks), size, size, size, size)
    return masks.as_strided(shape, strides, (size - 1) * wide + size - 1)


def _forward_gather(p: Any) -> Made:
    n, size = len(p.given), p.size
    given, places = tensor(p.given).view(n, size**2, -1), _places(size).expand(n, -1, -1)

    def run() -> Tensor:
        found = given.gather(2, places)
        return (found if p.collect else found.transpose(1, 2).contiguous()).view(n, size, size, -1)

    return run, tensors


def _forward_strides(p: Any) -> Made:
    n, size = len(p.given), p.size
    view = _view(tensor(p.given), size)
    if not p.collect:
        view = view.permute(0, 3, 4, 1, 2)
    return lambda: view.contiguous().view(n, size, size, -1), tensors


def _backward_scatter(p: Any) -> Made:
    n, size = len(p.given), p.size
    given, places = tensor(p.given).view(n, size**2, -1), _places(size).expand(n, -1, -1)

    def run() -> Tensor:
        grad = given if p.collect else given.transpose(1, 2)
        found = torch.zeros(n, size**2, (2 * size - 1) ** 2).scatter_(2, places, grad)
        return found.view(n, size, size, -1)

    return run, tensors


def _backward_strides(p: Any) -> Made:
    n, size = len(p.given), p.size
    given = tensor(p.given).view(n, size, size, size, size)
    grad = given if p.collect else given.permute(0, 3, 4, 1, 2)

    def run() -> Tensor:
        found = torch.zeros(n, size, size, (2 * size - 1) ** 2)
        _view(found, size).copy_(grad)
        return found

    return run, tensors


PEERS = {
    "psamask_forward": [
        Peer("gather", _forward_gather),
        Peer("a copy of a strided view", _forward_strides),
    ],
    "psamask_backward": [
        Peer("scatter", _backward_scatter),
        Peer("a copy into a strided view", _backward_strides),
    ],
}


def ours() -> Iterator[Any]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    for size in (30, 60):
        masks = torch.randn(1, (2 * size - 1) ** 2, size, size)
        yield f"psa_mask {size}", lambda x, s=size: ops.psa_mask(x, 0, 2 * s - 1), [masks]

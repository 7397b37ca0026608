# SPDX-License-Identifier: Apache-2.0
"""CARAFE in stock operations of PyTorch, and calls of ours for benchmarks/layouts.py."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pymluops import torch as ops
from pymluops._families._torch_peers import gradients, nchw, tensor
from pymluops.bench._peers import Made, Peer, tensors, tensors_nchw

_MOST_BYTES = 600 << 20  # of the windows that unfold makes, scale_factor**2 times


def _unfold(x: Tensor, mask: Tensor, kernel: int, scale: int) -> Tensor:
    """NCHW: all windows, upsampled as they are, times their weights."""
    n, c, h, w = x.shape
    windows = functional.unfold(x, kernel, padding=kernel // 2).view(n, c * kernel**2, h, w)
    windows = functional.interpolate(windows, scale_factor=scale, mode="nearest")
    windows = windows.view(n, c, kernel**2, h * scale, w * scale)
    return torch.einsum("nkhw,nckhw->nchw", mask, windows)


def _matrices(x: Tensor, mask: Tensor, kernel: int, scale: int) -> Tensor:
    """NHWC: for each pixel its window, times a matrix of the weights of its scale**2 outputs."""
    n, h, w, c = x.shape
    r = kernel // 2
    padded = functional.pad(x, (0, 0, r, r, r, r))
    windows = padded.unfold(1, kernel, 1).unfold(2, kernel, 1).permute(0, 1, 2, 4, 5, 3)
    weights = mask.view(n, h, scale, w, scale, kernel**2).transpose(2, 3)
    out = torch.bmm(
        weights.reshape(n * h * w, scale**2, kernel**2),
        windows.reshape(n * h * w, kernel**2, c),
    )
    return out.view(n, h, w, scale, scale, c).transpose(2, 3).reshape(n, h * scale, w * scale, c)


def _forward_unfold(p: Any) -> Made | None:
    if p.groups != 1 or p.x.nbytes * (p.kernel * p.scale) ** 2 > _MOST_BYTES:
        return None
    x, mask = nchw(p.x), nchw(p.mask)
    return lambda: _unfold(x, mask, p.kernel, p.scale), tensors_nchw


def _forward_matrices(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    x, mask = tensor(p.x), tensor(p.mask)
    return lambda: _matrices(x, mask, p.kernel, p.scale), tensors


def _backward_unfold(p: Any) -> Made | None:
    if p.groups != 1 or p.x.nbytes * (p.kernel * p.scale) ** 2 > _MOST_BYTES:
        return None
    inputs = [nchw(p.x), nchw(p.mask)]
    return gradients(
        lambda x, m: _unfold(x, m, p.kernel, p.scale), inputs, nchw(p.grad)
    ), tensors_nchw


def _backward_matrices(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    inputs = [tensor(p.x), tensor(p.mask)]
    return gradients(
        lambda x, m: _matrices(x, m, p.kernel, p.scale), inputs, tensor(p.grad)
    ), tensors


PEERS = {
    "carafe_forward": [
        Peer("unfold, interpolate, einsum", _forward_unfold),
        Peer("a small matrix product for each pixel", _forward_matrices),
    ],
    "carafe_backward": [
        Peer("autograd of unfold, interpolate, einsum", _backward_unfold),
        Peer("autograd of small matrix products", _backward_matrices),
    ],
}


def ours() -> Iterator[Any]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    for size in (32, 64, 128):
        features = torch.randn(1, 256, size, size)
        masks = torch.randn(1, 25, 2 * size, 2 * size).softmax(1)
        yield f"carafe {size}", lambda x, m: ops.carafe(x, m, 5, 1, 2), [features, masks]

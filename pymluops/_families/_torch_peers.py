# SPDX-License-Identifier: Apache-2.0
"""What several families' PyTorch peers share: gradients, bilinear samples, pooled regions."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pymluops._tensor import Array


def tensor(array: Array | None) -> Tensor:
    """Return a tensor that shares the memory of an array."""
    assert array is not None
    return torch.from_numpy(array)


def nchw(array: Array | None) -> Tensor:
    """Return an NHWC array as an NCHW tensor of its own."""
    return tensor(array).permute(0, 3, 1, 2).contiguous()


def gradients(
    forward: Callable[..., Tensor], inputs: Sequence[Tensor], grad: Tensor
) -> Callable[[], Any]:
    """Return a call that computes the gradients of inputs; the forward call is made before."""
    leaves = [given.detach().requires_grad_() for given in inputs]
    out = forward(*leaves)
    return lambda: torch.autograd.grad(out, leaves, grad, retain_graph=True)


def corners(y: Tensor, x: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Return the four pixels around each point, as y * width + x, and their weights."""
    top, left = y.detach().floor(), x.detach().floor()
    down, right = y - top, x - left
    rows, columns = (top, top + 1), (left, left + 1)
    places, weights = [], []
    for row, of_row in zip(rows, (1 - down, down), strict=True):
        for column, of_column in zip(columns, (1 - right, right), strict=True):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            places.append(torch.where(inside, row * width + column, 0).long())
            weights.append(of_row * of_column * inside)
    return torch.stack(places, -1), torch.stack(weights, -1)


def clamped_corners(y: Tensor, x: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Return the same where points up to a pixel outside belong to the edge, as for regions."""
    near = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    places, weights = corners(y.clamp(0, height - 1), x.clamp(0, width - 1), height, width)
    return places, weights * near[..., None]


def pooled_regions(x: Tensor, rois: Tensor, offset: Tensor | None, p: Any) -> Tensor:
    """Return the mean of bilinear samples in each bin of each region: every bin is a bag."""
    _, height, width, channels = x.shape
    bins = p.pooled
    left, top, right, bottom = (rois[:, 1:] * p.scale - 0.5).unbind(1)
    extent = torch.stack([bottom - top, right - left])  # of regions
    step = extent / bins
    grid = torch.full_like(step, p.ratio) if p.ratio > 0 else step.ceil()
    grid = grid.long().clamp(min=1)
    per_bin = grid[0] * grid[1]
    counts = per_bin.repeat_interleave(bins * bins)
    begins = counts.cumsum(0) - counts
    of_bin = torch.arange(len(counts)).repeat_interleave(counts)
    of_roi = of_bin // (bins * bins)
    number = torch.arange(len(of_bin)) - begins[of_bin]
    row, column = number // grid[1][of_roi], number % grid[1][of_roi]
    bin_y, bin_x = of_bin // bins % bins, of_bin % bins
    y = top[of_roi] + (bin_y + (row + 0.5) / grid[0][of_roi]) * step[0][of_roi]
    xs = left[of_roi] + (bin_x + (column + 0.5) / grid[1][of_roi]) * step[1][of_roi]
    if offset is not None:
        moved = offset.flatten(2)
        y = y + (p.gamma * extent[0][:, None] * moved[:, 1]).flatten()[of_bin]
        xs = xs + (p.gamma * extent[1][:, None] * moved[:, 0]).flatten()[of_bin]
    places, weights = clamped_corners(y, xs, height, width)
    places = places + (rois[:, 0].long()[of_roi] * height * width)[:, None]
    weights = weights / per_bin[of_roi][:, None]
    out = functional.embedding_bag(
        places.flatten(),
        x.reshape(-1, channels),
        begins * 4,
        mode="sum",
        per_sample_weights=weights.flatten(),
    )
    return out.view(len(rois), bins, bins, channels)

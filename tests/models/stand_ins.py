# SPDX-License-Identifier: Apache-2.0
"""mmcv's operators in plain torch: what a model is compared with. Nothing of pymluops is used here.

:func:`install` puts them in the place of mmcv's own functions, as long as nothing of mmdet or mmseg
has been imported. Autograd differentiates them.
"""

import importlib
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def _sample(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Sample a (C, H, W) image at points (P,): (C, P). Beyond -1 and H or W there is nothing."""
    _, height, width = image.shape
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    return _corners(image, y.clamp(0, height - 1), x.clamp(0, width - 1)) * inside


def _with_slopes(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """As :func:`_sample`, with the derivatives by y and x that deformable RoI pooling defines.

    They are not those of the value where a sample lies on the border of the map.
    """
    _, height, width = image.shape
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y0 = y.detach().clamp(0, height - 1).floor().long()
    x0 = x.detach().clamp(0, width - 1).floor().long()
    y1, x1 = (y0 + 1).clamp(max=height - 1), (x0 + 1).clamp(max=width - 1)
    up, down, right, left = (at.detach() for at in (y - y0, y1 - y, x - x0, x1 - x))
    v00, v01, v10, v11 = (
        image.detach()[:, rows, columns]
        for rows, columns in ((y0, x0), (y0, x1), (y1, x0), (y1, x1))
    )
    by_x = v11 * up + v01 * down - v10 * up - v00 * down
    by_y = v11 * right + v10 * left - v01 * right - v00 * left
    moved = by_x * (x - x.detach()) + by_y * (y - y.detach())
    return _sample(image, y.detach(), x.detach()) + moved * inside


def _corners(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    channels, height, width = image.shape
    y0, x0 = y.detach().floor(), x.detach().floor()
    total = 0
    pixels = image.reshape(channels, -1)
    for rows, of_y in ((y0, 1 - (y - y0)), (y0 + 1, y - y0)):
        for columns, of_x in ((x0, 1 - (x - x0)), (x0 + 1, x - x0)):
            exists = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
            index = rows.clamp(0, height - 1).long() * width + columns.clamp(0, width - 1).long()
            total = total + pixels[:, index] * (of_y * of_x * exists)
    return total


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _points(low: Tensor, size: Tensor, bins: int, count: int) -> Tensor:
    """The samples of bins along an axis: (bins, count)."""
    bin_size = size / bins
    samples = (torch.arange(count) + 0.5) * bin_size / count
    return low + torch.arange(bins)[:, None] * bin_size + samples


def carafe(features: Tensor, masks: Tensor, kernel: int, group: int, scale: int) -> Tensor:
    n, c, h, w = features.shape
    windows = functional.unfold(features, kernel, padding=kernel // 2)
    windows = windows.view(n, c * kernel**2, h, w)
    windows = functional.interpolate(windows, scale_factor=scale, mode="nearest")
    windows = windows.view(n, group, c // group, kernel**2, h * scale, w * scale)
    kernels = masks.view(n, group, 1, kernel**2, h * scale, w * scale)
    return (windows * kernels).sum(3).view(n, c, h * scale, w * scale)


def psa_mask(x: Tensor, psa_type: int, mask_size: Any) -> Tensor:
    n, _, height, width = x.shape
    h_mask, w_mask = _pair(mask_size)
    h, w, th, tw = (
        part.flatten()
        for part in torch.meshgrid(
            *map(torch.arange, (height, width, height, width)), indexing="ij"
        )
    )
    u, v = th - h + (h_mask - 1) // 2, tw - w + (w_mask - 1) // 2
    hit = (u >= 0) & (u < h_mask) & (v >= 0) & (v < w_mask)
    h, w, th, tw, u, v = (part[hit] for part in (h, w, th, tw, u, v))
    y = x.new_zeros(n, height * width, height * width)
    images = torch.arange(n)[:, None]
    values = x[images, u * w_mask + v, h, w]
    here, there = h * width + w, th * width + tw
    y = y.index_put((images, there, here) if psa_type == 0 else (images, here, there), values)
    return y.view(n, height * width, height, width)


def roi_align(
    input: Tensor,
    rois: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    pool_mode: str = "avg",
    aligned: bool = True,
) -> Tensor:
    assert pool_mode == "avg"
    bins_h, bins_w = _pair(output_size)
    pooled = []
    for image, *corners in map(list, rois.unbind(0)):
        x1, y1, x2, y2 = (corner * spatial_scale - (0.5 if aligned else 0) for corner in corners)
        h, w = y2 - y1, x2 - x1
        if not aligned:
            h, w = h.clamp(min=1), w.clamp(min=1)
        grid_h = sampling_ratio or max(math.ceil(h / bins_h), 0)
        grid_w = sampling_ratio or max(math.ceil(w / bins_w), 0)
        y, x = _points(y1, h, bins_h, grid_h), _points(x1, w, bins_w, grid_w)
        shape = (bins_h, grid_h, bins_w, grid_w)
        ys, xs = y[:, :, None, None].expand(shape), x[None, None].expand(shape)
        values = _sample(input[int(image)], ys.flatten(), xs.flatten())
        pooled.append(values.view(-1, *shape).sum((2, 4)) / max(grid_h * grid_w, 1))
    return torch.stack(pooled) if pooled else input.new_zeros(0, input.shape[1], bins_h, bins_w)


def deform_roi_pool(
    input: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
) -> Tensor:
    bins_h, bins_w = _pair(output_size)
    pooled = []
    for r, (image, *corners) in enumerate(map(list, rois.unbind(0))):
        x1, y1, x2, y2 = (corner * spatial_scale - 0.5 for corner in corners)
        h, w = y2 - y1, x2 - x1
        grid_h = sampling_ratio or max(math.ceil(h / bins_h), 0)
        grid_w = sampling_ratio or max(math.ceil(w / bins_w), 0)
        shape = (bins_h, grid_h, bins_w, grid_w)
        y = _points(y1, h, bins_h, grid_h)[:, :, None, None].expand(shape)
        x = _points(x1, w, bins_w, grid_w)[None, None].expand(shape)
        if offset is not None:
            x = x + gamma * w * offset[r, 0][:, None, :, None]
            y = y + gamma * h * offset[r, 1][:, None, :, None]
        values = _with_slopes(input[int(image)], y.flatten(), x.flatten())
        pooled.append(values.view(-1, *shape).sum((2, 4)) / max(grid_h * grid_w, 1))
    return torch.stack(pooled) if pooled else input.new_zeros(0, input.shape[1], bins_h, bins_w)


def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    return functional.conv2d(features, weight, bias, stride, padding) * (mask > 0)


def modulated_deform_conv2d(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deform_groups: int = 1,
) -> Tensor:
    (sh, sw), (ph, pw), (dh, dw) = map(_pair, (stride, padding, dilation))
    n, _, height, width = input.shape
    out_channels, _, kh, kw = weight.shape
    out_h = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    out_w = (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    rows = (torch.arange(out_h) * sh - ph)[None, None, :, None]
    columns = (torch.arange(out_w) * sw - pw)[None, None, None]
    rows = rows + (torch.arange(kh) * dh)[:, None, None, None]
    columns = columns + (torch.arange(kw) * dw)[None, :, None, None]
    # Maps may be larger than the output: the operator reads them with the output's strides.
    moves = offset.reshape(n, -1)[:, : 2 * deform_groups * kh * kw * out_h * out_w]
    moves = moves.view(n, deform_groups, kh, kw, 2, out_h, out_w)
    factors = None
    if mask is not None:
        factors = mask.reshape(n, -1)[:, : deform_groups * kh * kw * out_h * out_w]
        factors = factors.view(n, deform_groups, 1, kh * kw, out_h * out_w)
    sampled = []
    for image, move in zip(input, moves, strict=True):
        for part, by in zip(image.chunk(deform_groups), move, strict=True):
            y, x = rows + by[:, :, 0], columns + by[:, :, 1]
            height, width = part.shape[1:]
            inside = (y > -1) & (y < height) & (x > -1) & (x < width)
            sampled.append(_corners(part, y.flatten(), x.flatten()) * inside.flatten())
    values = torch.stack(sampled).view(n, deform_groups, -1, kh * kw, out_h * out_w)
    if factors is not None:
        values = values * factors
    values = values.reshape(n, groups, -1, out_h * out_w)
    result = weight.reshape(groups, out_channels // groups, -1) @ values
    result = result.view(n, out_channels, out_h, out_w)
    return result if bias is None else result + bias[:, None, None]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deform_groups: int = 1,
    bias: bool = False,
    im2col_step: int = 32,
) -> Tensor:
    numbers = (stride, padding, dilation, groups, deform_groups)
    return modulated_deform_conv2d(input, offset, None, weight, None, *numbers)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """As the function of mmcv's compiled module."""
    order = scores.sort(descending=True, stable=True)[1]
    boxes = boxes[order]
    area = (boxes[:, 2:] - boxes[:, :2] + offset).prod(1)
    alive = torch.ones(len(boxes), dtype=torch.bool)
    for i in range(len(boxes)):
        if alive[i]:
            low = torch.maximum(boxes[i, :2], boxes[i + 1 :, :2])
            high = torch.minimum(boxes[i, 2:], boxes[i + 1 :, 2:])
            shared = (high - low + offset).clamp(min=0).prod(1)
            alive[i + 1 :] &= ~(shared / (area[i] + area[i + 1 :] - shared) > iou_threshold)
    return order[alive]


#: Where mmcv.ops has them.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "carafe.carafe": carafe,
    "psa_mask.psa_mask": psa_mask,
    "roi_align.roi_align": roi_align,
    "deform_roi_pool.deform_roi_pool": deform_roi_pool,
    "masked_conv.masked_conv2d": masked_conv2d,
    "deform_conv.deform_conv2d": deform_conv2d,
    "modulated_deform_conv.modulated_deform_conv2d": modulated_deform_conv2d,
}


class _Compiled(types.ModuleType):
    """mmcv's compiled module, of which a model may ask for nms alone."""

    nms = staticmethod(nms)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*args: Any, **named: Any) -> None:
            raise NotImplementedError(name)

        return missing


def install() -> None:
    sys.modules["mmcv._ext"] = _Compiled("mmcv._ext")
    package = importlib.import_module("mmcv.ops")
    for path, function in FUNCTIONS.items():
        file, name = path.split(".")
        module = sys.modules[f"mmcv.ops.{file}"]
        if getattr(package, name) is getattr(module, name):
            setattr(package, name, function)
        setattr(module, name, function)

# SPDX-License-Identifier: Apache-2.0
"""The operators in stock torch operations, for any dtype; autograd differentiates them.

Written for clarity: loops over regions, taps and samples, and no use of the library. Bilinear
sampling is differentiable only between pixels, so tests place their samples there.
"""

import torch
from torch import Tensor
from torch.nn import functional


def carafe(
    features: Tensor, masks: Tensor, kernel_size: int, group_size: int, scale_factor: int
) -> Tensor:
    n, c, h, w = features.shape
    k2, up = kernel_size**2, scale_factor
    windows = functional.unfold(features, kernel_size, padding=kernel_size // 2)
    windows = windows.view(n, c * k2, h, w)
    windows = windows.repeat_interleave(up, 2).repeat_interleave(up, 3)
    windows = windows.view(n, group_size, c // group_size, k2, h * up, w * up)
    kernels = masks.view(n, group_size, 1, k2, h * up, w * up)
    return (windows * kernels).sum(3).view(n, c, h * up, w * up)


def psa_mask(x: Tensor, psa_type: int, mask_size: tuple[int, int]) -> Tensor:
    n, _, height, width = x.shape
    h_mask, w_mask = mask_size
    source, target = [], []
    for h in range(height):
        for w in range(width):
            for u in range(h_mask):
                for v in range(w_mask):
                    th, tw = u + h - (h_mask - 1) // 2, v + w - (w_mask - 1) // 2
                    if 0 <= th < height and 0 <= tw < width:
                        here, there = (h, w), (th, tw)
                        pixel, other = (here, there) if psa_type == 0 else (there, here)
                        source.append((u * w_mask + v, h, w))
                        target.append((other[0] * width + other[1], *pixel))
    y = x.new_zeros(n, height * width, height, width)
    if source:
        sc, sh, sw = torch.tensor(source).t()
        tc, th_, tw_ = torch.tensor(target).t()
        image = torch.arange(n)[:, None]
        y = y.index_put((image, tc, th_, tw_), x[image, sc, sh, sw])
    return y


def bilinear(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Sample a (C, H, W) image at one point; (C,)."""
    _, height, width = image.shape
    if not (-1 <= y.item() <= height and -1 <= x.item() <= width):
        return image[:, 0, 0] * 0
    y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    ly, lx = y - y0, x - x0
    top = (1 - lx) * image[:, y0, x0] + lx * image[:, y0, x1]
    bottom = (1 - lx) * image[:, y1, x0] + lx * image[:, y1, x1]
    return (1 - ly) * top + ly * bottom


def border_align(features: Tensor, boxes: Tensor, pool_size: int) -> Tensor:
    n, c4, _, _ = features.shape
    channels = c4 // 4
    rows = []
    for image in range(n):
        for x1, y1, x2, y2 in boxes[image]:
            step_x, step_y = (x2 - x1) / pool_size, (y2 - y1) / pool_size
            borders = [
                (x1, y1, step_x, 0),
                (x1, y1, 0, step_y),
                (x2, y2, -step_x, 0),
                (x2, y2, 0, -step_y),
            ]
            for border, (x, y, dx, dy) in enumerate(borders):
                quarter = features[image, border * channels : (border + 1) * channels]
                points = [bilinear(quarter, y + i * dy, x + i * dx) for i in range(pool_size + 1)]
                rows.append(torch.stack(points).max(0).values)
    return torch.stack(rows).view(n, -1, 4, channels).permute(0, 3, 1, 2)


def deform_roi_pool(
    features: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    output_size: tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
) -> Tensor:
    channels, (pooled_h, pooled_w) = features.shape[1], output_size
    bins = []
    for r, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (corner * spatial_scale - 0.5 for corner in corners)
        roi_w, roi_h = x2 - x1, y2 - y1
        bin_w, bin_h = roi_w / pooled_w, roi_h / pooled_h
        grid_h = sampling_ratio if sampling_ratio > 0 else int(torch.ceil(bin_h))
        grid_w = sampling_ratio if sampling_ratio > 0 else int(torch.ceil(bin_w))
        for ph in range(pooled_h):
            for pw in range(pooled_w):
                left, top = x1, y1
                if offset is not None:
                    left = left + gamma * roi_w * offset[r, 0, ph, pw]
                    top = top + gamma * roi_h * offset[r, 1, ph, pw]
                total = features.new_zeros(channels)
                for iy in range(grid_h):
                    for ix in range(grid_w):
                        y = top + ph * bin_h + (iy + 0.5) * bin_h / grid_h
                        x = left + pw * bin_w + (ix + 0.5) * bin_w / grid_w
                        total = total + bilinear(features[int(image)], y, x)
                bins.append(total / max(grid_h * grid_w, 1))
    pooled = torch.stack(bins).view(len(rois), pooled_h, pooled_w, channels)
    return pooled.permute(0, 3, 1, 2)


def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: tuple[int, int] = (0, 0),
) -> Tensor:
    dense = functional.conv2d(features, weight, bias, padding=padding)
    chosen = torch.zeros(dense.shape[2:], dtype=torch.bool)
    for h, w in torch.nonzero(mask[0] > 0).tolist():
        chosen[h, w] = True
    return dense * chosen

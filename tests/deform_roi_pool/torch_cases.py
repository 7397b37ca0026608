# SPDX-License-Identifier: Apache-2.0
"""Small calls of deformable RoI pooling in PyTorch, and the same in stock operations.

Autograd differentiates these. Samples lie between pixels, where bilinear sampling can be
differentiated.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_case import Case, between, bilinear, normal

import pymluops.torch as ours


def reference(
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


def _make(sampling_ratio: int, *, with_offset: bool) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        features = normal(generator, 2, 3, 9, 10)
        rois = torch.tensor([[0, 2.3, 4.1, 13.8, 12.9], [1, 3.9, 2.2, 11.7, 14.3], [0, 5, 6, 9, 9]])
        offset = between(generator, 3, 2, 2, 3, low=-0.3, high=0.3) if with_offset else None
        return features, rois, offset, (2, 3), 0.5, sampling_ratio, 0.25

    return make


def _operator(x: Tensor, rois: Tensor, offset: Tensor, size: Any, *numbers: Any) -> Any:
    return "deform_roi_pool", (x, rois, offset, *size, *numbers)


CASES = [
    Case(name, ours.deform_roi_pool, reference, make, differentiable, _operator)
    for name, make, differentiable in (
        ("deform", _make(2, with_offset=True), (0, 2)),
        ("deform_adaptive", _make(0, with_offset=True), (0, 2)),
        ("deform_no_offset", _make(2, with_offset=False), (0,)),
    )
]

#: What mmcv.ops has too: the arguments of each class, those of its call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "DeformRoIPool": (
        {"output_size": (2, 3), "spatial_scale": 0.5, "sampling_ratio": 2, "gamma": 0.2},
        CASES[0].tensors(),
    ),
    "DeformRoIPoolPack": (
        {"output_size": (2, 2), "output_channels": 3, "deform_fc_channels": 8},
        CASES[0].tensors()[:2],
    ),
    "ModulatedDeformRoIPoolPack": (
        {"output_size": 2, "output_channels": 3, "deform_fc_channels": 8, "sampling_ratio": 1},
        CASES[0].tensors()[:2],
    ),
}

#: A module, inputs, and what its ONNX file says.
ONNX: dict[str, Any] = {
    "DeformRoIPool": (
        lambda: ours.DeformRoIPool((2, 3), 0.5, 4, 0.25),
        (torch.zeros(1, 4, 5, 6), torch.zeros(2, 5), torch.zeros(2, 2, 2, 3)),
        {
            "pooled_height": 2,
            "pooled_width": 3,
            "spatial_scale": 0.5,
            "sampling_ratio": 4,
            "gamma": 0.25,
        },
    ),
}

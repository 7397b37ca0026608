# SPDX-License-Identifier: Apache-2.0
"""Small calls of RoIAlign in PyTorch, and the same in stock operations.

Autograd differentiates these. Samples lie between pixels, where bilinear sampling can be
differentiated.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_case import Case, bilinear, normal

import pymluops.torch as ours


def reference(
    features: Tensor,
    rois: Tensor,
    output_size: tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    pool_mode: str = "avg",
    aligned: bool = True,
) -> Tensor:
    channels, (pooled_h, pooled_w) = features.shape[1], output_size
    bins = []
    for image, *corners in rois:
        shift = 0.5 if aligned else 0.0
        x1, y1, x2, y2 = (corner * spatial_scale - shift for corner in corners)
        roi_w, roi_h = x2 - x1, y2 - y1
        if not aligned:
            roi_w, roi_h = roi_w.clamp(min=1), roi_h.clamp(min=1)
        bin_w, bin_h = roi_w / pooled_w, roi_h / pooled_h
        grid_h = sampling_ratio if sampling_ratio > 0 else int(torch.ceil(bin_h))
        grid_w = sampling_ratio if sampling_ratio > 0 else int(torch.ceil(bin_w))
        for ph in range(pooled_h):
            for pw in range(pooled_w):
                samples = [
                    bilinear(
                        features[int(image)],
                        y1 + ph * bin_h + (iy + 0.5) * bin_h / grid_h,
                        x1 + pw * bin_w + (ix + 0.5) * bin_w / grid_w,
                    )
                    for iy in range(grid_h)
                    for ix in range(grid_w)
                ]
                of_bin = torch.stack(samples)
                bins.append(of_bin.mean(0) if pool_mode == "avg" else of_bin.max(0).values)
    pooled = torch.stack(bins).view(len(rois), pooled_h, pooled_w, channels)
    return pooled.permute(0, 3, 1, 2)


def _make(sampling_ratio: int, pool_mode: str, *, aligned: bool) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        features = normal(generator, 2, 3, 9, 10)
        rois = torch.tensor([[0, 2.3, 4.1, 13.8, 12.9], [1, 3.9, 2.2, 11.7, 14.3], [0, 5, 6, 9, 9]])
        return features, rois, (2, 3), 0.5, sampling_ratio, pool_mode, aligned

    return make


def _operator(x: Tensor, rois: Tensor, size: Any, *numbers: Any) -> Any:
    scale, ratio, mode, aligned = numbers
    return "roi_align", (x, rois, *size, scale, ratio, ("max", "avg").index(mode), aligned)


CASES = [
    Case(name, ours.roi_align, reference, make, (0,), _operator)
    for name, make in (
        ("roi_align", _make(2, "avg", aligned=True)),
        ("roi_align_adaptive", _make(0, "avg", aligned=False)),
        ("roi_align_max", _make(2, "max", aligned=True)),
        ("roi_align_max_adaptive", _make(0, "max", aligned=False)),
    )
]

#: What mmcv.ops has too: the arguments of each class, those of its call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "RoIAlign": (
        {"output_size": (2, 3), "spatial_scale": 0.5, "sampling_ratio": 2},
        CASES[0].tensors(),
    ),
}

#: A module, inputs, and what its ONNX file says.
ONNX: dict[str, Any] = {
    "RoIAlign": (
        lambda: ours.RoIAlign((2, 3), 0.5, 2, "max", False),
        (torch.zeros(1, 4, 5, 6), torch.zeros(2, 5)),
        {
            "output_height": 2,
            "output_width": 3,
            "spatial_scale": 0.5,
            "sampling_ratio": 2,
            "mode": b"max",
            "aligned": 0,
        },
    ),
}

# SPDX-License-Identifier: Apache-2.0
"""Small calls of BorderAlign in PyTorch, and the same in stock operations.

Autograd differentiates these. Samples lie between pixels, where bilinear sampling can be
differentiated.
"""

from typing import Any

import torch
from torch import Tensor
from torch_case import Case, between, bilinear, normal

import pymluops.torch as ours


def reference(features: Tensor, boxes: Tensor, pool_size: int) -> Tensor:
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


def _make(generator: torch.Generator) -> tuple[Any, ...]:
    n, c, h, w = 2, 8, 4, 5
    first = between(generator, n, h * w, 2, low=0.1, high=1.4)
    size = between(generator, n, h * w, 2, low=0.3, high=1.5)
    return normal(generator, n, c, h, w), torch.cat([first, first + size], 2), 3


CASES = [
    Case("border_align", ours.border_align, reference, _make, (0,), lambda *a: ("border_align", a))
]

#: What mmcv.ops has too: the arguments of each class, those of its call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "BorderAlign": ({"pool_size": 4}, CASES[0].tensors()),
}

#: A module, inputs, and what its ONNX file says.
ONNX: dict[str, Any] = {
    "BorderAlign": (
        lambda: ours.BorderAlign(7),
        (torch.zeros(1, 4, 5, 6), torch.zeros(1, 30, 4)),
        {"pool_size": 7},
    ),
}

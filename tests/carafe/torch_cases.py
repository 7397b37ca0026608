# SPDX-License-Identifier: Apache-2.0
"""Small calls of carafe in PyTorch, and the same in stock operations.

Autograd differentiates these. Samples lie between pixels, where bilinear sampling can be
differentiated.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_case import Case, normal, seeded

import pymluops.torch as ours


def reference(
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


def _make(n: int, c: int, h: int, w: int, k: int, g: int, s: int) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        features = normal(generator, n, c, h, w)
        return features, normal(generator, n, k * k * g, h * s, w * s), k, g, s

    return make


CASES = [
    Case(name, ours.carafe, reference, make, (0, 1), lambda *args: ("carafe", args))
    for name, make in {
        "carafe": _make(2, 6, 3, 4, 3, 2, 2),
        "carafe_k5": _make(1, 16, 5, 4, 5, 1, 2),
        "carafe_k1_s3": _make(1, 5, 2, 3, 1, 1, 3),
    }.items()
]


#: What mmcv.ops has too: the arguments of each class, those of its call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "CARAFE": ({"kernel_size": 3, "group_size": 2, "scale_factor": 2}, CASES[0].tensors()),
    "CARAFENaive": ({"kernel_size": 5, "group_size": 1, "scale_factor": 2}, CASES[1].tensors()),
    "CARAFEPack": ({"channels": 6, "scale_factor": 2, "up_group": 2}, (seeded(2, 6, 4, 5),)),
}

#: A module, inputs, and what its ONNX file says.
ONNX: dict[str, Any] = {
    "CARAFE": (
        lambda: ours.CARAFE(3, 2, 2),
        (torch.zeros(1, 4, 5, 6), torch.zeros(1, 18, 10, 12)),
        {"kernel_size": 3, "group_size": 2, "scale_factor": 2.0},
    ),
}

# SPDX-License-Identifier: Apache-2.0
"""Small calls of PSAMask in PyTorch, and the same in stock operations.

Autograd differentiates these. Samples lie between pixels, where bilinear sampling can be
differentiated.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_case import Case, normal

import pymluops.torch as ours


def reference(x: Tensor, psa_type: int, mask_size: tuple[int, int]) -> Tensor:
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


def _make(psa_type: int) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        return normal(generator, 2, 3 * 5, 4, 3), psa_type, (3, 5)

    return make


def _operator(x: Tensor, psa_type: int, mask_size: tuple[int, int]) -> Any:
    return "psa_mask", (x, psa_type, *mask_size)


CASES = [
    Case(name, ours.psa_mask, reference, _make(psa_type), (0,), _operator)
    for name, psa_type in (("psa_collect", 0), ("psa_distribute", 1))
]


#: What mmcv.ops has too: the arguments of each class, those of its call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "PSAMask": ({"psa_type": "distribute", "mask_size": (3, 5)}, CASES[1].tensors()),
}

#: A module, inputs, and what its ONNX file says.
ONNX: dict[str, Any] = {
    "PSAMask": (
        lambda: ours.PSAMask("distribute", (2, 2)),
        (torch.zeros(1, 4, 5, 6),),
        {"psa_type": 1, "mask_size": [2, 2]},
    ),
}

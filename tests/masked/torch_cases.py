# SPDX-License-Identifier: Apache-2.0
"""Small calls of masked convolution in PyTorch, and the same in stock operations.

Autograd differentiates these. Samples lie between pixels, where bilinear sampling can be
differentiated.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_case import Case, normal

import pymluops.torch as ours


def reference(
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


def _make(
    kernel: tuple[int, int], padding: tuple[int, int], *, with_bias: bool = True
) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        mask = (torch.rand((1, 7, 6), generator=generator) > 0.6).float()
        mask[:, 7 + 2 * padding[0] - kernel[0] + 1 :] = 0
        mask[:, :, 6 + 2 * padding[1] - kernel[1] + 1 :] = 0
        bias = normal(generator, 4) if with_bias else None
        return (
            normal(generator, 1, 3, 7, 6),
            mask,
            normal(generator, 4, 3, *kernel),
            bias,
            padding,
        )

    return make


def _operator(x: Tensor, mask: Tensor, weight: Tensor, bias: Tensor, padding: Any) -> Any:
    return "masked_conv2d", (x, mask, weight, bias, *padding)


CASES = [
    Case(name, ours.masked_conv2d, reference, make, differentiable, _operator)
    for name, make, differentiable in (
        ("masked_conv", _make((3, 3), (1, 1)), (0, 2, 3)),
        ("masked_conv_uneven", _make((3, 2), (2, 0)), (0, 2, 3)),
        ("masked_conv_no_bias", _make((1, 1), (0, 0), with_bias=False), (0, 2)),
    )
]


#: What mmcv.ops has too: the arguments of each class, those of its call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "MaskedConv2d": (
        {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "padding": 1},
        CASES[0].tensors()[:2],
    ),
}

#: A module, inputs, and what its ONNX file says.
ONNX: dict[str, Any] = {
    "MaskedConv2d": (
        lambda: ours.MaskedConv2d(4, 2, (3, 1), padding=(1, 0)),
        (torch.zeros(1, 4, 5, 6), torch.zeros(1, 5, 6)),
        {"padding": [1, 0], "stride": 1},
    ),
}

# SPDX-License-Identifier: Apache-2.0
"""Small calls of deformable convolution in PyTorch, and the same in stock operations.

Autograd differentiates these. Samples lie between pixels, where bilinear sampling can be
differentiated.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_case import Case, between, normal, seeded

import pymluops.torch as ours


def reference(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    deform_groups: int,
) -> Tensor:
    """A dense convolution of samples: those of all taps side by side, its stride the kernel."""
    n, _, out_h, out_w = offset.shape
    kh, kw = weight.shape[2:]
    moves = offset.view(n, deform_groups, kh, kw, 2, out_h, out_w)
    scales = None if mask is None else mask.view(n, deform_groups, kh, kw, out_h, out_w)
    rows = torch.arange(out_h)[:, None] * stride[0] - padding[0]
    columns = torch.arange(out_w) * stride[1] - padding[1]
    samples = input.new_zeros(n, input.shape[1], out_h, kh, out_w, kw)
    for d, part in enumerate(input.chunk(deform_groups, 1)):
        channels = slice(d * part.shape[1], (d + 1) * part.shape[1])
        for i in range(kh):
            for j in range(kw):
                y = rows + i * dilation[0] + moves[:, d, i, j, 0]
                x = columns + j * dilation[1] + moves[:, d, i, j, 1]
                value = _sample(part, y, x)
                if scales is not None:
                    value = value * scales[:, d, i, j, None]
                samples[:, channels, :, i, :, j] = value
    flat = samples.view(n, -1, out_h * kh, out_w * kw)
    return torch.nn.functional.conv2d(flat, weight, bias, stride=(kh, kw), groups=groups)


def _sample(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Sample (N, C, H, W) at (N, h, w) points; the maps go on as zeros."""
    n, channels, height, width = images.shape
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    y, x = torch.where(inside, y, 0), torch.where(inside, x, 0)
    row, column = y.detach().floor(), x.detach().floor()
    framed = torch.nn.functional.pad(images, (1, 1, 1, 1)).flatten(2)
    value = images.new_zeros(n, channels, *y.shape[1:])
    for a in (0, 1):
        for b in (0, 1):
            places = (row.long() + 1 + a) * (width + 2) + column.long() + 1 + b
            places = places.flatten(1)[:, None].expand(n, channels, -1)
            corner = framed.gather(2, places).view_as(value)
            weight = (1 - (y - row - a).abs()) * (1 - (x - column - b).abs())
            value = value + corner * weight[:, None]
    return torch.where(inside[:, None], value, 0)


def deform(input: Tensor, offset: Tensor, weight: Tensor, *numbers: Any) -> Tensor:
    return reference(input, offset, None, weight, None, *numbers)


def modulated(
    input: Tensor, offset: Tensor, mask: Tensor, weight: Tensor, bias: Tensor | None, *numbers: Any
) -> Tensor:
    return reference(input, offset, mask, weight, bias, *numbers)


def _between_pixels(generator: torch.Generator, *shape: int) -> Tensor:
    """Offsets of some pixels whose sixteenths are odd: far from pixels, exact in half."""
    whole = torch.randint(-2, 2, shape, generator=generator)
    return whole + torch.randint(1, 8, shape, generator=generator) / 8


def _make(
    channels: tuple[int, int],
    kernel: tuple[int, int],
    numbers: tuple[Any, ...],
    *,
    with_mask: bool = True,
    with_bias: bool = True,
) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        (into, out), (kh, kw) = channels, kernel
        stride, padding, dilation, groups, deform_groups = numbers
        sizes = [
            (size + 2 * p - d * (k - 1) - 1) // s + 1
            for size, k, s, p, d in zip((7, 6), kernel, stride, padding, dilation, strict=True)
        ]
        taps = deform_groups * kh * kw
        offset = _between_pixels(generator, 2, 2 * taps, *sizes)
        weight = normal(generator, out, into // groups, kh, kw)
        tensors = [normal(generator, 2, into, 7, 6), offset]
        if not with_mask:
            return (*tensors, weight, *numbers)
        mask = between(generator, 2, taps, *sizes, low=0, high=1)
        bias = normal(generator, out) if with_bias else None
        return (*tensors, mask, weight, bias, *numbers)

    return make


def _plain_operator(x: Tensor, offset: Tensor, weight: Tensor, *numbers: Any) -> Any:
    return "deform_conv2d", (x, offset, None, weight, None, *numbers)


def _operator(*args: Any) -> Any:
    return "deform_conv2d", args


_PLAIN = ((1, 1), (1, 1), (1, 1), 1, 1)
_UNEVEN = ((2, 1), (1, 0), (1, 2), 2, 3)

CASES = [
    Case(
        "deform_conv",
        ours.deform_conv2d,
        deform,
        _make((4, 5), (3, 3), _PLAIN, with_mask=False),
        (0, 1, 2),
        _plain_operator,
    ),
    Case(
        "deform_conv_uneven",
        ours.deform_conv2d,
        deform,
        _make((6, 4), (3, 2), _UNEVEN, with_mask=False),
        (0, 1, 2),
        _plain_operator,
    ),
    Case(
        "modulated_deform_conv",
        ours.modulated_deform_conv2d,
        modulated,
        _make((4, 5), (3, 3), _PLAIN),
        (0, 1, 2, 3, 4),
        _operator,
    ),
    Case(
        "modulated_deform_conv_uneven_no_bias",
        ours.modulated_deform_conv2d,
        modulated,
        _make((6, 4), (3, 2), _UNEVEN, with_bias=False),
        (0, 1, 2, 3),
        _operator,
    ),
]

#: What mmcv.ops has too: the arguments of each class, those of its call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "DeformConv2d": (
        {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "padding": 1, "groups": 2},
        CASES[0].tensors()[:2],
    ),
    "DeformConv2dPack": (
        {"in_channels": 4, "out_channels": 3, "kernel_size": 3, "stride": 2, "deform_groups": 2},
        (seeded(2, 4, 7, 6),),
    ),
    "ModulatedDeformConv2d": (
        {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "dilation": 2, "padding": 2},
        CASES[2].tensors()[:3],
    ),
    "ModulatedDeformConv2dPack": (
        {"in_channels": 4, "out_channels": 3, "kernel_size": (3, 1), "bias": False},
        (seeded(2, 4, 7, 6),),
    ),
}

#: A module, inputs, and what its ONNX file says.
ONNX: dict[str, Any] = {
    "ModulatedDeformConv2dPack": (
        lambda: ours.ModulatedDeformConv2dPack(4, 2, 3, (2, 1), 1, 1, 2, 2),
        (torch.zeros(1, 4, 5, 6),),
        {
            "stride": [2, 1],
            "padding": [1, 1],
            "dilation": [1, 1],
            "groups": 2,
            "deform_groups": 2,
        },
    ),
}

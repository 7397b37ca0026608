# SPDX-License-Identifier: Apache-2.0
"""A small call of every PyTorch function, beside the same call of the reference.

Boxes, regions and offsets are such that samples lie between pixels, where all is differentiable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch_reference as reference
from torch import Tensor

import pymluops.torch as ours


@dataclass(frozen=True)
class Case:
    name: str
    ours: Callable[..., Tensor]
    reference: Callable[..., Tensor]
    make: Callable[[torch.Generator], tuple[Any, ...]]
    """Arguments; the tensors among them are float32, the 4-D ones contiguous."""
    differentiable: tuple[int, ...]
    """Which arguments have gradients."""
    operator: Callable[..., tuple[str, tuple[Any, ...]]]
    """The name and the arguments of the registered operator that the call becomes."""

    def arguments(self, dtype: torch.dtype = torch.float32, seed: int = 0) -> list[Any]:
        made = self.make(torch.Generator().manual_seed(seed))
        return [cast(arg, dtype) for arg in made]

    def __str__(self) -> str:
        return self.name


def cast(arg: Any, dtype: torch.dtype) -> Any:
    return arg.to(dtype) if isinstance(arg, Tensor) and arg.is_floating_point() else arg


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator)


def _between(generator: torch.Generator, *shape: int, low: float, high: float) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=generator)


def _carafe(n: int, c: int, h: int, w: int, k: int, g: int, s: int) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        features = _normal(generator, n, c, h, w)
        return features, _normal(generator, n, k * k * g, h * s, w * s), k, g, s

    return make


def _psa_mask(psa_type: int) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        return _normal(generator, 2, 3 * 5, 4, 3), psa_type, (3, 5)

    return make


def _border_align(generator: torch.Generator) -> tuple[Any, ...]:
    n, c, h, w = 2, 8, 4, 5
    first = _between(generator, n, h * w, 2, low=0.1, high=1.4)
    size = _between(generator, n, h * w, 2, low=0.3, high=1.5)
    return _normal(generator, n, c, h, w), torch.cat([first, first + size], 2), 3


def _deform_roi_pool(sampling_ratio: int, *, with_offset: bool) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        features = _normal(generator, 2, 3, 9, 10)
        rois = torch.tensor([[0, 2.3, 4.1, 13.8, 12.9], [1, 3.9, 2.2, 11.7, 14.3], [0, 5, 6, 9, 9]])
        offset = _between(generator, 3, 2, 2, 3, low=-0.3, high=0.3) if with_offset else None
        return features, rois, offset, (2, 3), 0.5, sampling_ratio, 0.25

    return make


def _masked_conv(
    kernel: tuple[int, int], padding: tuple[int, int], *, with_bias: bool = True
) -> Callable[..., Any]:
    def make(generator: torch.Generator) -> tuple[Any, ...]:
        mask = (torch.rand((1, 7, 6), generator=generator) > 0.6).float()
        mask[:, 7 + 2 * padding[0] - kernel[0] + 1 :] = 0
        mask[:, :, 6 + 2 * padding[1] - kernel[1] + 1 :] = 0
        bias = _normal(generator, 4) if with_bias else None
        return (
            _normal(generator, 1, 3, 7, 6),
            mask,
            _normal(generator, 4, 3, *kernel),
            bias,
            padding,
        )

    return make


def _psa_operator(x: Tensor, psa_type: int, mask_size: tuple[int, int]) -> Any:
    return "psa_mask", (x, psa_type, *mask_size)


def _deform_operator(x: Tensor, rois: Tensor, offset: Tensor, size: Any, *numbers: Any) -> Any:
    return "deform_roi_pool", (x, rois, offset, *size, *numbers)


def _masked_operator(x: Tensor, mask: Tensor, weight: Tensor, bias: Tensor, padding: Any) -> Any:
    return "masked_conv2d", (x, mask, weight, bias, *padding)


def _make_cases() -> list[Case]:
    cases = []
    for name, make in {
        "carafe": _carafe(2, 6, 3, 4, 3, 2, 2),
        "carafe_k5": _carafe(1, 16, 5, 4, 5, 1, 2),
        "carafe_k1_s3": _carafe(1, 5, 2, 3, 1, 1, 3),
    }.items():
        cases.append(
            Case(name, ours.carafe, reference.carafe, make, (0, 1), lambda *args: ("carafe", args))
        )
    for name, psa_type in (("psa_collect", 0), ("psa_distribute", 1)):
        cases.append(
            Case(name, ours.psa_mask, reference.psa_mask, _psa_mask(psa_type), (0,), _psa_operator)
        )
    cases.append(
        Case(
            "border_align",
            ours.border_align,
            reference.border_align,
            _border_align,
            (0,),
            lambda *args: ("border_align", args),
        )
    )
    for name, make, differentiable in (
        ("deform", _deform_roi_pool(2, with_offset=True), (0, 2)),
        ("deform_adaptive", _deform_roi_pool(0, with_offset=True), (0, 2)),
        ("deform_no_offset", _deform_roi_pool(2, with_offset=False), (0,)),
    ):
        cases.append(
            Case(
                name,
                ours.deform_roi_pool,
                reference.deform_roi_pool,
                make,
                differentiable,
                _deform_operator,
            )
        )
    for name, make, differentiable in (
        ("masked_conv", _masked_conv((3, 3), (1, 1)), (0, 2, 3)),
        ("masked_conv_uneven", _masked_conv((3, 2), (2, 0)), (0, 2, 3)),
        ("masked_conv_no_bias", _masked_conv((1, 1), (0, 0), with_bias=False), (0, 2)),
    ):
        cases.append(
            Case(
                name,
                ours.masked_conv2d,
                reference.masked_conv2d,
                make,
                differentiable,
                _masked_operator,
            )
        )
    return cases


CASES = _make_cases()

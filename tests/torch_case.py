# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch tests of every family use: a case, random tensors, bilinear sampling."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn


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

    def tensors(self) -> tuple[Tensor, ...]:
        """Return what comes before its numbers: what the operator takes as a module."""
        return tuple(takewhile(torch.is_tensor, self.arguments(seed=1)))

    def __str__(self) -> str:
        return self.name


def cast(arg: Any, dtype: torch.dtype) -> Any:
    return arg.to(dtype) if isinstance(arg, Tensor) and arg.is_floating_point() else arg


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator)


def between(generator: torch.Generator, *shape: int, low: float, high: float) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=generator)


def seeded(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape)


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


def assert_empty_gives_zeros(
    call: Callable[..., Tensor], shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    tensors = [torch.zeros(shape, requires_grad=True) for shape in shapes]
    output = call(*tensors)
    assert tuple(output.shape) == result
    assert not output.any()
    output.sum().backward()
    assert tensors[0].grad is not None
    assert tensors[0].grad.shape == tensors[0].shape
    assert not tensors[0].grad.any()


def assert_signature(module: type[nn.Module], signature: str) -> None:
    parameters = inspect.signature(module).parameters.values()
    assert ", ".join(str(each).replace(" ", "") for each in parameters) == signature

# SPDX-License-Identifier: Apache-2.0
"""Toy for PyTorch."""

import torch
from torch import Tensor

from pymluops.torch._native_calls import array, call
from pymluops.torch._operators import define


def _forward(x: Tensor, factor: float) -> Tensor:
    result = torch.empty(x.shape)
    call("mluOpToy", *array(x.contiguous()), factor, *array(result))
    return result


def _forward_fake(x: Tensor, factor: float) -> Tensor:
    return torch.empty(x.shape)


_toy = define("toy(Tensor x, float factor) -> Tensor", kernel=_forward, fake=_forward_fake)


def toy(x: Tensor, factor: float) -> Tensor:
    """Return ``factor * x``."""
    result: Tensor = _toy(x, factor)
    return result

# SPDX-License-Identifier: Apache-2.0
"""float64, in which the library does not compute: the references in NumPy do, slowly and exactly.

It is for `torch.autograd.gradcheck` and for comparisons. Coordinates and choices are in float64,
too: nothing is rounded to float32 on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pymluops._families._stand_in import COORDINATES

if TYPE_CHECKING:
    from collections.abc import Callable


def is_double(tensor: Tensor) -> bool:
    """Tell whether a call with this tensor is for the references."""
    return tensor.dtype is torch.float64


def pixels(tensor: Tensor) -> Tensor:
    """Return the view (N, H, W, C) of a tensor (N, C, H, W), for references of NHWC arrays."""
    return tensor.permute(0, 2, 3, 1)


def in_double(reference: Callable[..., Any], *arguments: Any, **numbers: Any) -> Any:
    """Return what a reference makes of tensors and numbers, with coordinates in float64."""
    given = [arg.detach().numpy() if isinstance(arg, Tensor) else arg for arg in arguments]
    before = COORDINATES.set(np.float64)
    try:
        made = reference(*given, **numbers)
    finally:
        COORDINATES.reset(before)
    if isinstance(made, tuple):
        return tuple(map(_as_tensor, made))
    return _as_tensor(made)


def _as_tensor(array: Any) -> Tensor | None:
    return None if array is None else torch.tensor(array)

# SPDX-License-Identifier: Apache-2.0
"""What a case of the benchmark is: one call of one operator, at one size.

A family lists its cases in ``bench.py``. A case makes its arguments by name, in the order of the C
prototype, after the handle. A tensor stands for its two parameters in C, descriptor and pointer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from pymluops import _families
from pymluops._tensor import HALF_OR_FLOAT, Array, Dtypes
from pymluops.capi import Layout

__all__ = [
    "ARRAY",
    "NCHW",
    "NHWC",
    "Argument",
    "Arguments",
    "Case",
    "Descriptor",
    "Pointer",
    "Tensor",
    "Workspace",
    "all_cases",
    "outputs",
]

NCHW, NHWC, ARRAY = Layout.NCHW, Layout.NHWC, Layout.ARRAY


@dataclass
class Tensor:
    """A tensor; ``output`` marks those that the call writes. Without an array it is NULL."""

    array: Array | None
    layout: Layout = ARRAY
    output: bool = False


@dataclass
class Pointer:
    """An array without a descriptor, or NULL."""

    array: Array | None


@dataclass
class Descriptor:
    """A descriptor that is not of a tensor: its name in the API, and what it is set to."""

    name: str
    values: list[Any]
    version: str = ""
    """``_v2`` where the function that sets it ends so."""


@dataclass
class Workspace:
    """The workspace: pointer and size, or size and pointer."""

    size_first: bool = False


Argument: TypeAlias = Tensor | Pointer | Descriptor | Workspace | int | float
Arguments: TypeAlias = dict[str, Argument]


def outputs(arguments: Arguments) -> tuple[Array, ...]:
    """Return the arrays that a call writes."""
    tensors = [a for a in arguments.values() if isinstance(a, Tensor) and a.output]
    return tuple(tensor.array for tensor in tensors if tensor.array is not None)


@dataclass(frozen=True)
class Case:
    """One timed call."""

    name: str
    """The operator, a slash, and the size."""
    api: str
    """The function in C."""
    make: Callable[[np.dtype[Any]], Arguments]
    numbers: dict[str, Any] = field(default_factory=dict)
    """What the same operator in PyTorch or numba has to know beside the arrays."""
    read: int = 0
    """The fewest bytes that the operator must read and, below, write, of float32 tensors."""
    written: int = 0
    flops: int = 0
    """The fewest floating-point operations."""
    dtypes: Dtypes = HALF_OR_FLOAT
    group: str = "networks"
    """``networks``: sizes of networks, which ``pymluops bench`` measures in every way and beside
    the peers. ``sizes``: the same operator from small to large. Others are for developers."""
    results: Callable[[Arguments], tuple[Array, ...]] = outputs
    """What a call has found."""

    @property
    def operator(self) -> str:
        """The name of the operator."""
        return self.name.partition("/")[0]

    @property
    def size(self) -> str:
        """The name of the size."""
        return self.name.partition("/")[2]


def all_cases() -> list[Case]:
    """Return the cases of every family."""
    return [case for _, module in _families.parts("bench") for case in module.CASES]

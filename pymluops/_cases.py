# SPDX-License-Identifier: Apache-2.0
"""What a family says about its operators in cases.py.

A small valid call of each, whose arguments tests bend one by one, and calls that are large enough
to compare results: ``python -m pymluops selftest`` makes them on the machine at hand.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import pymluops
from pymluops import _families, accuracy
from pymluops._tensor import HALF_OR_FLOAT, Array, Dtypes


@dataclass(frozen=True)
class SmallCall:
    """A small valid call of an operator, in float32."""

    name: str
    """That of the NumPy function."""
    c_function: str
    """The operator. One NumPy function may call several: for each there is a call."""
    kind: accuracy.Kind
    """What its results are: sums that may be rounded, or values moved bit by bit."""
    arrays: dict[str, Array]
    numbers: dict[str, Any]
    dtypes: Dtypes = HALF_OR_FLOAT
    """What its floating-point arrays may be."""

    @property
    def operator(self) -> str:
        """The name of the operator: that of the function, and the version that C has behind it."""
        return self.name + "".join(re.findall(r"_v\d+$", self.c_function))

    @property
    def function(self) -> Callable[..., Any]:
        """The NumPy function."""
        found: Callable[..., Any] = getattr(pymluops, self.name)
        return found

    @property
    def reference(self) -> Callable[..., Any]:
        """The same in float64 NumPy."""
        modules = (module for _, module in _families.parts("reference"))
        found: Callable[..., Any] = next(
            getattr(module, self.name) for module in modules if hasattr(module, self.name)
        )
        return found


@dataclass(frozen=True)
class Trial:
    """A call whose results are worth a comparison."""

    name: str
    arrays: tuple[Array, ...]
    numbers: dict[str, Any]
    variant: str = ""


def small_calls() -> dict[str, SmallCall]:
    """Return the small call of every operator, by the operator's name."""
    calls = (call for _, module in _families.parts("cases") for call in module.SMALL)
    return {call.operator: call for call in calls}


def trials(rng: np.random.Generator) -> Iterator[Trial]:
    """Yield the calls of every family to compare, in float32 and in half where it has that."""
    for dtype in HALF_OR_FLOAT:
        for _, module in _families.parts("cases"):
            if dtype in module.SMALL[0].dtypes:
                yield from module.trials(rng, dtype)


def values(*shape: int) -> Array:
    """Return different numbers that float16 holds exactly."""
    return (np.arange(np.prod(shape)) % 97 / 8).reshape(shape).astype(np.float32)


def normal(rng: np.random.Generator, dtype: np.dtype[Any], *shape: int) -> Array:
    """Return random numbers around 0."""
    return rng.standard_normal(shape).astype(dtype)

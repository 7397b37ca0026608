# SPDX-License-Identifier: Apache-2.0
"""Calls that hypothesis draws, and what their family declares of them.

A family says in tests/<family>/property_cases.py how calls of its NumPy functions are drawn, and
what each is linear in, how gradients are computed, which axes belong together. What follows from
that is tested for all of them in properties/test_properties.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pymluops

Array = np.ndarray
EXTENTS = st.sampled_from([1, 2, 3, 4, 5, 6, 9, 17, 23])
CHANNELS = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 33])
GROUPS = st.integers(1, 3)
#: Examples of each test: every day, and in .ci/run.
COUNTS = pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])


@dataclass(frozen=True)
class Along:
    """Where an axis is in an array: as `tiles` copies behind each other, in blocks of `width`."""

    axis: int
    tiles: int = 1
    width: int = 1

    def take(self, array: Array, places: Array) -> Array:
        tiles = np.arange(self.tiles)[:, None] * self.extent(array)
        blocks = (tiles + places).reshape(-1, 1)
        elements = (blocks * self.width + np.arange(self.width)).reshape(-1)
        return np.take(array, elements, self.axis)

    def extent(self, array: Array) -> int:
        return array.shape[self.axis] // self.tiles // self.width


@dataclass(frozen=True)
class Axis:
    """What may be put in another order: images, regions, channels."""

    arguments: dict[str, Along]
    results: tuple[Along | None, ...]  # None: this result has no such axis, and stays as it is
    exact: bool = True  # the same bits; otherwise sums may be made in another order
    parts: bool = False  # a call for each part gives the same bits
    groups: int = 1  # order changes within each of so many blocks
    numbers: str = ""  # the argument whose first column is a place on this axis

    def reorder(self, arrays: dict[str, Array], places: Array) -> dict[str, Array]:
        changed = {name: along.take(arrays[name], places) for name, along in self.arguments.items()}
        if self.numbers:
            moved = changed.setdefault(self.numbers, arrays[self.numbers].copy())
            moved[:, 0] = np.argsort(places)[moved[:, 0].astype(int)]
        return changed

    def extent(self, arrays: dict[str, Array]) -> int:
        name, along = next(iter(self.arguments.items()))
        return along.extent(arrays[name])


@dataclass(frozen=True, repr=False)
class Example:
    """One call of a NumPy function."""

    function: str
    arrays: dict[str, Array]
    numbers: dict[str, Any]
    #: Arguments in each of which the results are linear while the others stay.
    linear: tuple[str, ...] = ()
    #: For an argument: the gradient of the first result, as gradient(example, dy, handle).
    gradients: dict[str, Callable[[Example, Array, pymluops.Handle], Array]] = field(
        default_factory=dict
    )
    axes: tuple[Axis, ...] = ()
    exact: bool = False  # the same bits on every instruction set: moves, choices
    signed: tuple[int, ...] = ()  # results that have factors of both signs besides the arrays
    plain: tuple[str, ...] = ()  # arguments that are no factors: coordinates, positions

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {x.dtype}{list(x.shape)}" for name, x in self.arrays.items())
        return f"{self.function}({shapes}, {self.numbers})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # what hypothesis prints

    def __call__(self, handle: pymluops.Handle, **changes: Array) -> tuple[Array, ...]:
        function = getattr(pymluops, self.function)
        results = function(**{**self.arrays, **changes}, **self.numbers, handle=handle)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(result for result in results if result is not None)

    def magnitudes(self, handle: pymluops.Handle, **changes: Array) -> list[Array]:
        """For each result, the sum of the absolute values of its terms: what rounding goes by."""
        arrays = {**self.arrays, **changes}
        positive = {k: v if k in self.plain else np.abs(v) for k, v in arrays.items()}
        sizes = [result.astype(np.float64) for result in self(handle, **positive)]
        for i in self.signed:
            largest = np.abs([sizes[i], self(handle, **changes)[i]]).max(initial=0)
            sizes[i] = np.full_like(sizes[i], 4 * largest)  # differences of four corners
        return sizes

    def having(self, **changes: Any) -> Example:
        return replace(self, **changes)


def normal(draw: Callable[..., Any], dtype: Any, *shape: int) -> Array:
    """Normal numbers of a seed that is drawn: they do not shrink, shapes do."""
    seed = draw(st.integers(0, 2**32 - 1))
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@cache
def handle_of(isa: str, cache_bytes: int, threads: int) -> pymluops.Handle:
    """A handle for an instruction set, for which every call fits the caches, or none does."""
    before = dict(os.environ)
    os.environ.update(MLUOP_CPU_ISA=isa, MLUOP_CPU_CACHE_BYTES=str(cache_bytes))
    try:
        return pymluops.Handle(num_threads=threads)
    finally:
        os.environ.clear()
        os.environ.update(before)


def handles() -> st.SearchStrategy[pymluops.Handle]:
    return st.builds(
        handle_of,
        st.sampled_from(pymluops.supported_isas()),
        st.sampled_from([2**63 - 1, 0]),
        st.sampled_from([1, 2, 3]),
    )


def check(count: int, test: Callable[..., None], *strategies: Any) -> None:
    """Run test(*drawn) for so many examples, the same ones each time."""
    chosen = settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    chosen(given(*strategies)(test))()

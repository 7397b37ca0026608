# SPDX-License-Identifier: Apache-2.0
"""How calls are timed: in turn, so that noise hits all of them alike.

Before each sample other memory is read and the call made once, as if it came after other work:
tensors larger than the caches would otherwise be found there in part, more so after each call.
"""

import statistics
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pymluops._tensor import Array

_OTHER_BYTES = 128 << 20
_LEAST_ROUNDS, _LONG = 3, 0.3
_SPIN_SECONDS = 0.03


@dataclass(frozen=True)
class Effort:
    """How much time a measurement may take."""

    rounds: int = 9
    batch: float = 0.01
    """Seconds that a sample takes at least: short calls are repeated."""
    column: float = float("inf")
    """Seconds of one column, after which it takes part in no more rounds than it must: three, one
    if a call takes long."""


@dataclass(frozen=True)
class Times:
    """Seconds of one call: the median of all samples, and the quartiles."""

    median: float
    low: float
    high: float
    samples: int


@cache
def _other_memory() -> Array:
    return np.ones(_OTHER_BYTES, np.uint8)


def _seconds_per_call(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def measure(
    columns: Mapping[str, Callable[[], Any]],
    effort: Effort = Effort(),
    spinning: Container[str] = (),
) -> dict[str, Times]:
    """Time every column, all of them in each round.

    Threads of the columns in `spinning` go on for a while after a call, and would take the
    processors of the next column: they are waited for.
    """
    repeats, long = {}, {}
    for name, call in columns.items():
        took = _seconds_per_call(call, 1)
        long[name] = took > _LONG
        if not long[name]:
            took = _seconds_per_call(call, 1)
        repeats[name] = max(1, int(effort.batch / took))
    samples: dict[str, list[float]] = {name: [] for name in columns}
    spent = dict.fromkeys(columns, 0.0)
    names = list(columns)
    for number in range(effort.rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            least = 1 if long[name] else _LEAST_ROUNDS
            if spent[name] > effort.column and len(samples[name]) >= least:
                continue
            start = time.perf_counter()
            if not long[name]:
                _other_memory().max()
                columns[name]()
            samples[name].append(_seconds_per_call(columns[name], repeats[name]))
            spent[name] += time.perf_counter() - start
            if name in spinning:
                time.sleep(_SPIN_SECONDS)
    return {name: _times(values) for name, values in samples.items()}


def _times(values: list[float]) -> Times:
    if len(values) < 2:
        return Times(values[0], values[0], values[0], len(values))
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Times(median, low, high, len(values))

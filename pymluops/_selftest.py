# SPDX-License-Identifier: Apache-2.0
"""Compare every operator with its NumPy reference, on the machine at hand.

Each operator runs with every instruction set of the CPU, and with one and with several threads,
which must give the same bits.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import pymluops
from pymluops import _cases, accuracy
from pymluops._tensor import Array

_THREADS = (1, 3)
_WIDTH = 10
_LEGEND = """\
Every operator beside its float64 NumPy reference. A number is the larger one of
  diff1 = sum |error| / sum |reference|   and   diff2 = sqrt(sum error^2 / sum reference^2),
"exact" means that all bits agree. What has no float16 rows is for float32 alone.
"""


@dataclass
class _Case:
    call: _cases.SmallCall
    trial: _cases.Trial

    @property
    def name(self) -> str:
        return f"{self.call.name} {self.trial.variant}".rstrip()

    @property
    def dtype(self) -> str:
        return self.trial.arrays[0].dtype.name

    def run(self, function: Callable[..., Any], **more: Any) -> tuple[Array, ...]:
        return _tuple(function(*self.trial.arrays, **self.trial.numbers, **more))


def run(seed: int = 0) -> int:
    """Print a table of the largest error of each operator; return 1 if one is too large."""
    isas = pymluops.supported_isas()
    print(_LEGEND)
    calls = {call.name: call for call in _cases.small_calls().values()}
    trials = _cases.trials(np.random.default_rng(seed))
    cases = [_Case(calls[trial.name], trial) for trial in trials]
    widest = 1 + max(len(case.name) for case in cases)
    print(f"{'operator':<{widest}}{'dtype':<10}" + "".join(f"{isa:<{_WIDTH}}" for isa in isas))
    failures: list[str] = []
    count = 0
    for case in cases:
        expected = case.run(case.call.reference)
        cells = []
        for isa in isas:
            cell, problem = _judge(case, isa, expected)
            cells.append(cell)
            count += 1
            if problem:
                failures.append(f"{case.name} {case.dtype} {isa}: {problem}")
        print(f"{case.name:<{widest}}{case.dtype:<10}" + "".join(f"{c:<{_WIDTH}}" for c in cells))
    for failure in failures:
        print(failure)
    print(
        f"{len(failures)} of {count} checks FAILED"
        if failures
        else f"all {count} checks passed: errors small enough, "
        f"the same bits with {' and '.join(map(str, _THREADS))} threads"
    )
    return 1 if failures else 0


def _judge(case: _Case, isa: str, expected: tuple[Array, ...]) -> tuple[str, str]:
    """Return the cell of the table, and what is wrong, if anything."""
    try:
        results = _results(case, isa)
    except pymluops.MluOpError as error:
        return "FAILED", str(error)
    if any(a.tobytes() != b.tobytes() for a, b in zip(*results, strict=True)):
        return "FAILED", "results depend on the number of threads"
    verdicts = [
        # Indices are exact whatever the operator does with values.
        accuracy.check(
            result,
            baseline,
            kind="movement" if result.dtype.kind == "i" else case.call.kind,
            bar="tight",
        )
        for result, baseline in zip(results[0], expected, strict=True)
    ]
    for verdict in verdicts:
        if not verdict:
            return "FAILED", str(verdict)
    largest = max(max(verdict.diff1, verdict.diff2) for verdict in verdicts)
    return ("exact" if largest == 0 else f"{largest:.1e}"), ""


def _results(case: _Case, isa: str) -> list[tuple[Array, ...]]:
    """Return what the operator gives with each number of threads."""
    results = []
    with _handle(isa) as handle:
        for threads in _THREADS:
            handle.num_threads = threads
            results.append(case.run(case.call.function, handle=handle))
    return results


@contextmanager
def _handle(isa: str) -> Iterator[pymluops.Handle]:
    """Make a handle for an instruction set: the library reads the variable at that moment."""
    before = os.environ.get("MLUOP_CPU_ISA")
    os.environ["MLUOP_CPU_ISA"] = isa
    try:
        with pymluops.Handle() as handle:
            yield handle
    finally:
        if before is None:
            del os.environ["MLUOP_CPU_ISA"]
        else:
            os.environ["MLUOP_CPU_ISA"] = before


def _tuple(results: Any) -> tuple[Array, ...]:
    """Return the results that there are: None stands for the gradient of what was not given."""
    several = results if isinstance(results, tuple) else (results,)
    return tuple(result for result in several if result is not None)

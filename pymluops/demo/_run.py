# SPDX-License-Identifier: Apache-2.0
"""What a scene of the demonstration is, and how its operators are run, checked and timed.

Each family has its own in scene.py.
"""

import inspect
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pymluops import accuracy
from pymluops._tensor import Array
from pymluops.demo._canvas import Color, Pixels

Values: TypeAlias = npt.NDArray[np.float32]

_LEAST_ROUNDS, _MOST_ROUNDS, _ENOUGH = 20, 2000, 1.5  # the last in seconds
_USUAL = 1.5  # as many times as the best run a usual one takes where nothing disturbs


@dataclass
class Mark:
    """Something drawn over a picture, in pixels of that picture: a box or, without size, a dot."""

    y: float
    x: float
    height: float = 0
    width: float = 0
    color: Color = (1, 0.25, 0.25)
    radius: float = 4


@dataclass
class Picture:
    """An image with a caption; the sign before it says how it follows from the one before."""

    pixels: Pixels
    caption: str
    sign: str = ""
    marks: list[Mark] = field(default_factory=list)


@dataclass
class Outcome:
    """How one operator did."""

    name: str
    verdict: accuracy.Verdict
    again: Callable[[], Any]
    """The call once more."""
    milliseconds: float = 0

    @property
    def error(self) -> str:
        """The largest of diff1 and diff2."""
        largest = max(self.verdict.diff1, self.verdict.diff2)
        return "exact" if largest == 0 else f"error {largest:.0e}"


@dataclass
class Scene:
    """A family of operators at work."""

    title: str
    text: list[str]
    pictures: list[Picture] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def run(
        self,
        operator: Callable[..., Any],
        reference: Callable[..., Any],
        *arrays: Array,
        kind: accuracy.Kind = "arithmetic",
        note: str = "",
        numbers: dict[str, Any],
    ) -> Any:
        """Run an operator, compare it with its reference, and return its results.

        The note tells apart two runs of one operator.
        """
        results = operator(*arrays, **numbers)
        outputs = results if isinstance(results, tuple) else (results,)
        expected = reference(*arrays, **numbers)
        baselines = expected if isinstance(expected, tuple) else (expected,)
        verdicts = [
            accuracy.check(
                output,
                baseline,
                kind="movement" if output.dtype.kind == "i" else kind,
                bar="tight",
            )
            for output, baseline in zip(outputs, baselines, strict=True)
        ]
        worst = max(verdicts, key=lambda verdict: (not verdict, verdict.diff1, verdict.diff2))
        name = f"{operator.__name__} {note}".rstrip()
        again = _again(operator, arrays, numbers, results)
        self.outcomes.append(Outcome(name, worst, again))
        return results


def nhwc(image: Values) -> Values:
    """Return a batch of one image."""
    return np.ascontiguousarray(image[None])


def strength(image: Values) -> Values:
    """Return how much a gradient touches each pixel."""
    touched: Values = np.abs(image).sum(-1)
    return touched


def time_all(outcomes: Sequence[Outcome]) -> bool:
    """Time every operator, in turn, and return whether nothing else took the processors.

    The times are the best of runs that are spread over more than a second: another program that
    takes the processors for a while does not hit all runs of one operator.
    """
    samples: list[list[float]] = [[] for _ in outcomes]
    begin = time.perf_counter()
    rounds = 0
    while rounds < _MOST_ROUNDS and (
        rounds < _LEAST_ROUNDS or time.perf_counter() - begin < _ENOUGH
    ):
        for outcome, times in zip(outcomes, samples, strict=True):
            outcome.again()
            start = time.perf_counter()
            outcome.again()
            times.append(time.perf_counter() - start)
        rounds += 1
    for outcome, times in zip(outcomes, samples, strict=True):
        outcome.milliseconds = min(times) * 1e3
    quiet = sum(statistics.median(times) < _USUAL * min(times) for times in samples)
    return quiet * 4 >= len(outcomes) * 3


def _again(
    operator: Callable[..., Any], arrays: tuple[Array, ...], numbers: dict[str, Any], out: Any
) -> Callable[[], Any]:
    """Return the same call, into results that are there."""
    takes_out = "out" in inspect.signature(operator).parameters
    return partial(operator, *arrays, **numbers, **({"out": out} if takes_out else {}))

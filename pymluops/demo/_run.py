# SPDX-License-Identifier: Apache-2.0
"""What a scene of the demonstration is, and how its operators are run, checked and timed.

Each family has its own in scene.py.
"""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pymluops import accuracy
from pymluops._tensor import Array
from pymluops.demo._canvas import Color, Pixels

Values: TypeAlias = npt.NDArray[np.float32]

_ROUNDS, _ENOUGH = 100, 0.1  # runs, seconds


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
    milliseconds: float

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
        """Run an operator, compare it with its reference, time it, and return its results.

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
        milliseconds = _time(operator, arrays, numbers, results)
        name = f"{operator.__name__} {note}".rstrip()
        self.outcomes.append(Outcome(name, worst, milliseconds))
        return results


def nhwc(image: Values) -> Values:
    """Return a batch of one image."""
    return np.ascontiguousarray(image[None])


def strength(image: Values) -> Values:
    """Return how much a gradient touches each pixel."""
    touched: Values = np.abs(image).sum(-1)
    return touched


def _time(
    operator: Callable[..., Any], arrays: tuple[Array, ...], numbers: dict[str, Any], out: Any
) -> float:
    takes_out = "out" in inspect.signature(operator).parameters
    more = {"out": out} if takes_out else {}
    best, spent, rounds = np.inf, 0.0, 0
    while rounds < _ROUNDS and spent < _ENOUGH:
        start = time.perf_counter()
        operator(*arrays, **numbers, **more)
        took = time.perf_counter() - start
        best, spent, rounds = min(best, took), spent + took, rounds + 1
    return best * 1e3

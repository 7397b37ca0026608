# SPDX-License-Identifier: Apache-2.0
"""The differences of `pymluops.accuracy`, part by part.

Results may be as large as memory allows, and no copy of them in float64 is made.
"""

import math
from dataclasses import dataclass

import numpy as np

from pymluops import accuracy
from pymluops._tensor import Array

_PART = 1 << 18


@dataclass(frozen=True)
class Figures:
    """How far a result is from a baseline."""

    diff1: float
    diff2: float
    diff3: float
    diff3_2: float
    diff4: accuracy.Diff4
    same_bits: bool

    def __str__(self) -> str:
        if self.same_bits:
            return "same bits"
        sides = f"{self.diff4.above:.2f} above, {self.diff4.below:.2f} below"
        return (
            f"diff1 {self.diff1:.3g}, diff2 {self.diff2:.3g}, diff3 {self.diff3:.3g}, "
            f"diff3_2 {self.diff3_2:.3g}, diff4 {self.diff4.unequal} unequal, {sides}"
        )


_EQUAL = Figures(0.0, 0.0, 0.0, 0.0, accuracy.Diff4(0.0, 0.0, 0), True)


def measure(result: Array, baseline: Array) -> Figures:
    """Compare arrays of one shape."""
    if result.dtype == baseline.dtype and _same_bits(result, baseline):
        return _EQUAL
    sizes = _Sums()
    flat, other = result.reshape(-1), baseline.reshape(-1)
    for i in range(0, flat.size, _PART):
        sizes.add(flat[i : i + _PART], other[i : i + _PART])
    return sizes.figures()


def _same_bits(a: Array, b: Array) -> bool:
    a, b = np.ascontiguousarray(a).reshape(-1), np.ascontiguousarray(b).reshape(-1)
    return bool(np.array_equal(a.view(np.uint8), b.view(np.uint8)))


class _Sums:
    def __init__(self) -> None:
        self.error = self.size = self.error2 = self.size2 = 0.0
        self.diff3 = self.diff3_2 = 0.0
        self.above = self.below = self.unequal = 0

    def add(self, result: Array, baseline: Array) -> None:
        e, b = result.astype(np.float64), baseline.astype(np.float64)
        precision = result.dtype if result.dtype == np.float16 else np.dtype(np.float32)
        self.diff3 = max(self.diff3, accuracy.diff3(e, b, precision))
        self.diff3_2 = max(self.diff3_2, accuracy.diff3_2(e, b))
        sides = accuracy.diff4(e, b)
        self.unequal += sides.unequal
        self.above += round(sides.above * sides.unequal)
        self.below += round(sides.below * sides.unequal)
        if math.isinf(self.diff3_2):
            self.error = self.error2 = math.inf
            return
        finite = np.isfinite(e) & np.isfinite(b)
        e, b = e[finite], b[finite]
        error, size = np.abs(e - b), np.abs(b)
        self.error += float(error.sum())
        self.size += float(size.sum())
        self.error2 += float(np.square(error).sum())
        self.size2 += float(np.square(size).sum())

    def figures(self) -> Figures:
        sides = accuracy.Diff4(
            _ratio(self.above, self.unequal), _ratio(self.below, self.unequal), self.unequal
        )
        diff2 = math.sqrt(_ratio(self.error2, self.size2))
        return Figures(_ratio(self.error, self.size), diff2, self.diff3, self.diff3_2, sides, False)


def _ratio(error: float, size: float) -> float:
    if error == 0:
        return 0.0
    return error / size if size > 0 else math.inf

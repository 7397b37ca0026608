# SPDX-License-Identifier: Apache-2.0
"""How far a result is from its baseline, and whether that is close enough.

All functions take a result and a baseline of the same shape, usually in float64, and compute in
float64. These rules hold for all of them:

- Two values that are the same infinity, or both NaN, are equal, and not part of any sum.
- If one of two unequal values is not finite, the error is infinite.
- 0/0 is 0, and any other error over a baseline of 0 is infinite.
- Empty arrays have no error: 0.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pymluops._signature import hide_types

__all__ = ["Diff4", "Verdict", "check", "diff1", "diff2", "diff3", "diff3_1", "diff3_2", "diff4"]

Kind: TypeAlias = Literal["arithmetic", "movement"]
Bar: TypeAlias = Literal["contract", "tight"]

# The largest diff1 and diff2 of operators that calculate.
_LIMITS = {
    "contract": {"float32": 1e-5, "float16": 3e-3},
    "tight": {"float32": 1e-6, "float16": 5e-4},
}
# Where a baseline is no larger than this, diff3 takes the absolute error.
_SMALL = {"float32": 1e-6, "float16": 1e-4}

_Values: TypeAlias = npt.NDArray[np.float64]


class Diff4(NamedTuple):
    """The bias of a result: how many of the unequal values are above and below the baseline."""

    above: float  # share of the unequal values that are above the baseline
    below: float  # share of the unequal values that are below the baseline
    unequal: int  # number of unequal values


def diff1(result: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """Return ``sum |result - baseline| / sum |baseline|``.

    >>> diff1([1.0, 3.0], [1.0, 2.0])
    0.3333333333333333
    """
    pairs = _finite_pairs(result, baseline)
    if pairs is None:
        return np.inf
    e, b = pairs
    return _ratio(np.abs(e - b).sum(), np.abs(b).sum())


def diff2(result: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """Return ``sqrt(sum (result - baseline)**2 / sum baseline**2)``.

    >>> diff2([3.0, 8.0], [3.0, 4.0])
    0.8
    """
    pairs = _finite_pairs(result, baseline)
    if pairs is None:
        return np.inf
    e, b = pairs
    # Norms are scaled by the largest value: squares of it could overflow, or vanish.
    return _ratio(_norm(e - b), _norm(b))


def diff3(
    result: npt.ArrayLike, baseline: npt.ArrayLike, dtype: npt.DTypeLike | None = None
) -> float:
    """Return the largest single error: absolute where the baseline is small, else relative.

    Small means at most 1e-6 for float32 and 1e-4 for float16. `dtype` is by default that of the
    result.

    >>> diff3([2.0, 1e-7], [1.0, 0.0], "float32")
    1.0
    """
    small = _SMALL[_precision(result, dtype)]
    pairs = _finite_pairs(result, baseline)
    if pairs is None:
        return np.inf
    e, b = pairs
    error, size = np.abs(e - b), np.abs(b)
    return _largest(np.where(size > small, error / np.where(size > small, size, 1), error))


def diff3_1(result: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """Return the largest relative error, ``max |result - baseline| / |baseline|``.

    >>> diff3_1([1.0, 3.0], [1.0, 2.0]), diff3_1([1.0], [0.0]), diff3_1([0.0], [0.0])
    (0.5, inf, 0.0)
    """
    pairs = _finite_pairs(result, baseline)
    if pairs is None:
        return np.inf
    e, b = pairs
    error, size = np.abs(e - b), np.abs(b)
    if np.any((size == 0) & (error > 0)):
        return np.inf
    with np.errstate(over="ignore"):
        return _largest(error / np.where(size > 0, size, 1))


def diff3_2(result: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """Return the largest absolute error, ``max |result - baseline|``.

    >>> diff3_2([1.0, 3.0], [1.0, 2.5])
    0.5
    """
    pairs = _finite_pairs(result, baseline)
    if pairs is None:
        return np.inf
    e, b = pairs
    return _largest(np.abs(e - b))


def diff4(result: npt.ArrayLike, baseline: npt.ArrayLike) -> Diff4:
    """Return the shares of unequal values above and below the baseline, and how many there are.

    Both shares are 0 if all values are equal. A NaN and a number are unequal, but count for neither
    share.

    >>> diff4([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 5.0])
    Diff4(above=0.6666666666666666, below=0.3333333333333333, unequal=3)
    """
    e, b = _both(result, baseline)
    unequal = int(np.count_nonzero((e != b) & ~(np.isnan(e) & np.isnan(b))))
    above, below = int(np.count_nonzero(e > b)), int(np.count_nonzero(e < b))
    return Diff4(_ratio(above, unequal), _ratio(below, unequal), unequal)


@dataclass(frozen=True)
class Verdict:
    """The result of `check`; true if the result is accurate enough."""

    passed: bool
    kind: Kind
    diff1: float
    diff2: float
    diff3_2: float
    limit: float

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        word = "passed" if self.passed else "failed"
        if self.kind == "movement":
            return f"{word}: diff3_2 {self.diff3_2:.3g}, expected 0"
        return (
            f"{word}: diff1 {self.diff1:.3g}, diff2 {self.diff2:.3g}, "
            f"expected at most {self.limit:g}"
        )


def check(
    result: npt.ArrayLike,
    baseline: npt.ArrayLike,
    *,
    kind: Kind = "arithmetic",
    dtype: npt.DTypeLike | None = None,
    bar: Bar = "contract",
) -> Verdict:
    """Judge a result by the thresholds of the operators.

    Parameters
    ----------
    result, baseline : array_like
        The computed values and the expected ones, usually in float64. For float16, compute the
        baseline from the rounded inputs.
    kind : {"arithmetic", "movement"}
        "arithmetic" limits diff1 and diff2. "movement" is for operators that only move data:
        diff3_2 must be 0.
    dtype : dtype, optional
        float32 or float16, which determines the limit; by default that of the result.
    bar : {"contract", "tight"}
        "contract" allows 1e-5 for float32 and 3e-3 for float16. "tight" allows 1e-6 and 5e-4; the
        tests of this library use it.

    Returns
    -------
    Verdict
        It can be used as a condition, and has the figures as attributes and as text.

    Raises
    ------
    ValueError
        The shapes differ, or `kind` or `bar` is unknown.
    TypeError
        The dtype is neither float32 nor float16.

    Examples
    --------
    >>> import numpy as np
    >>> print(check(np.float32([1, 2]), [1, 2.00001]))
    passed: diff1 3.33e-06, diff2 4.47e-06, expected at most 1e-05
    >>> bool(check([1.0], [1.1], kind="movement", dtype="float32"))
    False
    """
    if kind not in ("arithmetic", "movement"):
        raise ValueError(f"kind: {kind!r} given, expected 'arithmetic' or 'movement'")
    if bar not in _LIMITS:
        raise ValueError(f"bar: {bar!r} given, expected 'contract' or 'tight'")
    limit = 0.0 if kind == "movement" else _LIMITS[bar][_precision(result, dtype)]
    d1, d2 = diff1(result, baseline), diff2(result, baseline)
    d3_2 = diff3_2(result, baseline)
    passed = d3_2 == 0 if kind == "movement" else d1 <= limit and d2 <= limit
    return Verdict(passed, kind, d1, d2, d3_2, limit)


def _precision(result: npt.ArrayLike, dtype: npt.DTypeLike | None) -> str:
    name = np.dtype(dtype).name if dtype is not None else np.asarray(result).dtype.name
    if name not in _SMALL:
        raise TypeError(f"dtype: {name} given, expected float32 or float16")
    return name


def _both(result: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[_Values, _Values]:
    e, b = np.asarray(result, np.float64), np.asarray(baseline, np.float64)
    if e.shape != b.shape:
        raise ValueError(f"baseline: shape {b.shape} given, expected {e.shape}")
    return e.ravel(), b.ravel()


def _finite_pairs(result: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[_Values, _Values] | None:
    """Return the pairs of finite values, or None if values that are not finite differ."""
    e, b = _both(result, baseline)
    finite = np.isfinite(e) & np.isfinite(b)
    if finite.all():
        return e, b
    e_rest, b_rest = e[~finite], b[~finite]
    if not np.all((e_rest == b_rest) | (np.isnan(e_rest) & np.isnan(b_rest))):
        return None
    return e[finite], b[finite]


def _ratio(error: float, size: float) -> float:
    if error == 0:
        return 0.0
    return float(error / size) if size > 0 else np.inf


def _norm(values: _Values) -> float:
    largest = _largest(np.abs(values))
    return largest * float(np.sqrt(np.square(values / largest).sum())) if largest > 0 else 0.0


def _largest(errors: _Values) -> float:
    return float(errors.max(initial=0.0))


hide_types(*map(globals().get, __all__))

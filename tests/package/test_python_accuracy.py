# SPDX-License-Identifier: Apache-2.0
"""pymluops.accuracy, against values worked out by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

from pymluops import accuracy
from pymluops.accuracy import Diff4, check, diff1, diff2, diff3, diff3_1, diff3_2, diff4

NAN, INF = math.nan, math.inf
ALL = [diff1, diff2, diff3, diff3_1, diff3_2]


def test_the_page_explains_each_measure():
    page = (Path(__file__).resolve().parents[2] / "docs/accuracy.md").read_text()
    for name in (name for name in accuracy.__all__ if name.startswith("diff")):
        assert f"\n| {name.upper()} | " in page, name


def test_by_hand():
    result, baseline = np.float32([1, 3, -4, 0]), [1.0, 2.0, -8.0, 1.0]
    assert diff1(result, baseline) == (1 + 4 + 1) / 12
    assert diff2(result, baseline) == pytest.approx(math.sqrt(18 / 70), rel=1e-15)
    assert diff3(result, baseline) == 1  # relative: 1/2, 4/8, 1/1
    assert diff3_1(result, baseline) == 1
    assert diff3_2(result, baseline) == 4
    assert diff4(result, baseline) == Diff4(above=2 / 3, below=1 / 3, unequal=3)


def test_diff3_is_absolute_where_the_baseline_is_small():
    assert diff3([3e-7], [1e-7], "float32") == pytest.approx(2e-7)
    assert diff3([3e-5], [1e-5], "float32") == pytest.approx(2)
    assert diff3([3e-5], [1e-5], "float16") == pytest.approx(2e-5)
    assert diff3([3e-6], [1e-6], "float32") == pytest.approx(2e-6)  # not more than the threshold
    assert diff3(np.float16([0.5]), [0.25]) == 1
    with pytest.raises(TypeError, match="float64 given, expected float32 or float16"):
        diff3([1.0], [1.0])


@pytest.mark.parametrize("diff", ALL)
def test_equal_is_zero(diff):
    for values in ([], [0.0], [1.0, -2.0], [NAN, 1.0], [INF, -INF], [-0.0]):
        assert diff(np.float32(values), np.array(values)) == 0
    assert diff(np.float32([0.0]), [-0.0]) == 0


@pytest.mark.parametrize("diff", ALL)
def test_unequal_without_a_number_is_infinite(diff):
    for e, b in ((NAN, 1), (1, NAN), (INF, 1), (1, INF), (INF, -INF), (NAN, INF)):
        assert diff(np.float32([e, 2]), [b, 2]) == INF


def test_zero_baselines():
    zero, one = np.float32([0, 0]), np.float32([0, 1])
    assert diff1(one, zero) == diff2(one, zero) == diff3_1(one, zero) == INF
    assert diff3(one, zero) == diff3_2(one, zero) == 1
    assert diff1(zero, one) == diff2(zero, one) == diff3_1(zero, one) == 1


def test_equal_infinities_are_left_out():
    assert diff1([INF, 3.0], [INF, 2.0]) == 0.5
    assert diff2([NAN, 3.0], [NAN, 2.0]) == 0.5


def test_diff4():
    assert diff4([], []) == Diff4(0, 0, 0)
    assert diff4([NAN, 1.0], [NAN, 1.0]) == Diff4(0, 0, 0)
    assert diff4([NAN, 2.0], [1.0, 1.0]) == Diff4(0.5, 0, 2)
    assert diff4([INF, -INF], [1.0, 1.0]) == Diff4(0.5, 0.5, 2)


def test_tiny_and_huge_numbers():
    assert diff2([2e-200], [1e-200]) == 1
    assert diff2([2e200], [1e200]) == 1
    assert diff2([5e-324], [5e-324]) == 0
    assert diff3_1([1e300], [1e-300]) == INF


def test_shapes_must_agree():
    for diff in (*ALL, diff4, check):
        with pytest.raises(ValueError, match=r"baseline: shape \(2,\) given, expected \(1, 2\)"):
            diff(np.float32([[1, 2]]), [1.0, 2.0])


def test_limits():
    """At the limits themselves: 1e-5, 3e-3; 1e-6, 5e-4."""
    for bar, dtype, limit in (
        ("contract", "float32", 1e-5),
        ("contract", "float16", 3e-3),
        ("tight", "float32", 1e-6),
        ("tight", "float16", 5e-4),
    ):
        assert check([1 + limit * 0.999], [1.0], dtype=dtype, bar=bar)
        assert not check([1 + limit * 1.001], [1.0], dtype=dtype, bar=bar)
        assert check([1.0], [1.0], dtype=dtype, bar=bar).limit == limit
    assert not check([1 + 1e-4] + [1.0] * 20, [1.0] * 21, dtype="float32")  # diff2 alone
    assert diff1([1 + 1e-4] + [1.0] * 20, [1.0] * 21) < 1e-5


def test_movement_is_exact():
    assert check(np.float32([1, NAN, INF]), [1, NAN, INF], kind="movement")
    assert not check(np.float32([1.0000001]), [1.0], kind="movement")
    assert check(np.int32([3]), [3], kind="movement")
    assert not check(np.float32([NAN]), [0.0], kind="movement")


def test_verdict():
    verdict = check(np.float32([1, 3]), [1.0, 2.0])
    assert not verdict
    assert (verdict.passed, verdict.diff1, verdict.diff3_2) == (False, 1 / 3, 1)
    assert str(verdict) == "failed: diff1 0.333, diff2 0.447, expected at most 1e-05"
    assert str(check([1.0], [1.5], kind="movement")) == "failed: diff3_2 0.5, expected 0"


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"kind": "other"}, ValueError, "kind: 'other' given"),
        ({"bar": "low"}, ValueError, "bar: 'low' given"),
        ({"dtype": "int32"}, TypeError, "dtype: int32 given"),
        ({}, TypeError, "dtype: float64 given"),
    ],
)
def test_wrong_options(options, error, match):
    with pytest.raises(error, match=match):
        check([1.0], [1.0], **options)

# SPDX-License-Identifier: Apache-2.0
"""What holds of an operator by what its family declares of it in tests/<family>/property_cases.py.

Rounding is measured by the sum of the absolute values of what is added up. Each example has an
instruction set, a number of threads, and caches in which every call fits or none does.
"""

import numpy as np
import pytest
from declared import COUNTS, check, handle_of, handles
from families import family_files
from hypothesis import strategies as st
from python_calls import CALLS

import pymluops

EXAMPLES = {}
for _, file in family_files("property_cases"):
    EXAMPLES |= file.EXAMPLES
OPERATORS = pytest.mark.parametrize("name", EXAMPLES)
EPSILON = float(np.finfo(np.float32).eps)
#: How far two ways to add the same terms are apart, in units in the last place of the sum of their
#: absolute values.
ULPS = 4


def examples(name):
    return st.sampled_from([np.float32, np.float16]).flatmap(lambda dtype: EXAMPLES[name](dtype))


def same_bits(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert a.tobytes() == np.ascontiguousarray(b).tobytes()


def near(found, expected, sizes, ulps=ULPS):
    """Equal but for sums in another order, and the rounding of a half that follows."""
    for a, b, size in zip(found, expected, sizes, strict=True):
        assert a.shape == b.shape
        bound = ulps * EPSILON * size
        if a.dtype == np.float16:
            bound = bound + np.spacing(np.abs(b)).astype(np.float64)
        far = np.abs(a.astype(np.float64) - b) - bound
        at = np.unravel_index(far.argmax(), far.shape)
        assert far[at] <= 0, f"{a[at]} and {b[at]} at {at}, of terms that are {size[at]}"


@COUNTS
@OPERATORS
def test_linear(name, count):
    def test(example, handle, one, other):
        for argument in example.linear:
            x = example.arrays[argument]
            y = np.roll(x, 1)
            sum_of_both = np.float32(one) * x + np.float32(other) * y
            found = example(handle, **{argument: sum_of_both})
            first, second = example(handle), example(handle, **{argument: y})
            expected = [
                one * a.astype(float) + other * b for a, b in zip(first, second, strict=True)
            ]
            sizes = zip(
                example.magnitudes(handle), example.magnitudes(handle, **{argument: y}), strict=True
            )
            near(found, expected, [abs(one) * a + abs(other) * b for a, b in sizes], 2 * ULPS)

    factors = st.sampled_from([-2.0, -0.5, 1.0, 3.0])
    check(count, test, EXAMPLES[name](), handles(), factors, factors)


@COUNTS
@OPERATORS
def test_gradients_are_the_adjoint(name, count):
    """<dy, F(x)> = <gradient(dy), x>; for maxima with the places that F has chosen."""

    def test(example, handle, seed):
        y = example(handle)[0]
        dy = np.random.default_rng(seed).standard_normal(y.shape).astype(y.dtype)
        product = (y.astype(float) * dy).sum()
        size = (example.magnitudes(handle)[0] * np.abs(dy)).sum()
        for argument, gradient in example.gradients.items():
            dx = gradient(example, dy, handle).astype(float)
            assert abs((dx * example.arrays[argument]).sum() - product) <= ULPS * EPSILON * size

    check(count, test, EXAMPLES[name](), handles(), st.integers(0, 2**32 - 1))


def in_groups(extent, groups, rng):
    size = extent // groups
    return np.concatenate([first * size + rng.permutation(size) for first in range(groups)])


@COUNTS
@OPERATORS
def test_order_of_images_channels_and_regions(name, count):
    def test(example, handle, seed):
        rng = np.random.default_rng(seed)
        before = example(handle)
        for axis in example.axes:
            places = in_groups(axis.extent(example.arrays), axis.groups, rng)
            found = example(handle, **axis.reorder(example.arrays, places))
            expected = [
                result if along is None else along.take(result, places)
                for result, along in zip(before, axis.results, strict=True)
            ]
            if axis.exact:
                same_bits(found, expected)
            else:
                sizes = zip(example.magnitudes(handle), axis.results, strict=True)
                near(found, expected, [s if a is None else a.take(s, places) for s, a in sizes])

    check(count, test, examples(name), handles(), st.integers(0, 2**32 - 1))


@COUNTS
@OPERATORS
def test_parts_have_the_same_bits(name, count):
    def test(example, handle, cut):
        whole = example(handle)
        for axis in example.axes:
            extent = axis.extent(example.arrays)
            if not axis.parts or extent < 2:
                continue
            halves = np.split(np.arange(extent), [1 + cut % (extent - 1)])
            parts = [example(handle, **axis.reorder(example.arrays, part)) for part in halves]
            found = [
                np.concatenate(pieces, along.axis)
                for pieces, along in zip(zip(*parts, strict=True), axis.results, strict=True)
            ]
            same_bits(found, whole)

    check(count, test, examples(name), handles(), st.integers(0, 99))


@COUNTS
@OPERATORS
def test_instruction_sets_agree(name, count):
    def test(example):
        plainest, *others = (handle_of(isa, 2**63 - 1, 1) for isa in pymluops.supported_isas())
        expected = example(plainest)
        for handle in others:
            if example.exact:
                same_bits(example(handle), expected)
            else:
                near(example(handle), expected, example.magnitudes(plainest))

    check(count, test, examples(name))


def test_every_function_has_examples():
    named = {name.partition(",")[0] for name in EXAMPLES}
    assert {call.name for call in CALLS.values() if call.takes_out} <= named

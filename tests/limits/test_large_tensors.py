# SPDX-License-Identifier: Apache-2.0
"""Tensors of just under 2^31 elements (contract.toml has the calls beyond, which are refused).

tests/<family>/limit_cases.py has a call and the axis that grows until the largest tensor has that
size: all zeros, and the call's own data at the end. The end of the results is what the small call
gives. `pytest -m huge` runs them all, in minutes; `pytest -m slow` the first of each family.
"""

from contextlib import ExitStack, closing
from dataclasses import replace

import large_arrays
import numpy as np
import pytest
from families import family_files

import pymluops

MOST = 2**31 - 1
CASES = [
    pytest.param(
        example,
        axis,
        id=f"{name}-{example.function}-{position}",
        marks=[pytest.mark.slow] if position == 0 else [],
    )
    for name, file in family_files("limit_cases")
    for position, (example, axis) in enumerate(file.large(np.random.default_rng(1)))
]


def grown(shape, along, count):
    """The shape with so many parts."""
    shape = list(shape)
    shape[along.axis] = count * along.width
    return tuple(shape)


def parts_of(example, axis, results):
    """How many parts the small call has, by what grows first."""
    if axis.arguments:
        return axis.extent(example.arrays)
    return axis.results[0].extent(results[0])


def most_parts(example, axis, results):
    """How many parts there may be before a tensor has 2^31 elements."""
    parts = parts_of(example, axis, results)
    sizes = [example.arrays[name].size for name in axis.arguments]
    sizes += [r.size for r, along in zip(results, axis.results, strict=True) if along is not None]
    return MOST // (max(sizes) // parts)


def arguments(example, axis, parts, count, stack):
    """The arrays with so many parts, of which the last are those of the example."""
    arrays = dict(example.arrays)
    if axis.numbers:
        arrays[axis.numbers] = arrays[axis.numbers].copy()
        arrays[axis.numbers][:, 0] += count - parts
    for name, along in axis.arguments.items():
        shape = grown(arrays[name].shape, along, count)
        arrays[name] = stack.enter_context(
            closing(large_arrays.zeros_but(arrays[name], shape))
        ).array
    numbers = example.numbers | ({"batch": count} if "batch" in example.numbers else {})
    return replace(example, arrays=arrays, numbers=numbers)


@pytest.mark.huge
@pytest.mark.parametrize(("example", "axis"), CASES)
def test_almost_2_31_elements(example, axis):
    handle = pymluops.Handle()
    results = example(handle)
    count = most_parts(example, axis, results)
    with ExitStack() as stack:
        outputs = []
        for result, along in zip(results, axis.results, strict=True):
            if along is None:
                outputs.append(np.full_like(result, 7))
            else:
                made = large_arrays.forgotten_but(result, grown(result.shape, along, count))
                outputs.append(stack.enter_context(closing(made)).array)
        out = tuple(outputs) if len(outputs) > 1 else outputs[0]
        large = arguments(example, axis, parts_of(example, axis, results), count, stack)
        large(handle, out=out)
        for output, result, along in zip(outputs, results, axis.results, strict=True):
            kept = int(np.prod(result.shape[along.axis if along else 0 :]))
            end, expected = output.reshape(-1)[-kept:], result.reshape(-1)[-kept:]
            if axis.exact or along is not None:
                assert np.array_equal(end, expected)
            else:
                assert abs(end - expected).max() <= 1e-6 * abs(expected).max()
        del large, output, outputs, out

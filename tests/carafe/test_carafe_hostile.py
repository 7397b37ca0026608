# SPDX-License-Identifier: Apache-2.0
"""CARAFE with values that are not finite, forbidden memory nearby, empty and wrong arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import guard
import numpy as np
import pytest
from carafe_calls import BAR, DTYPES, Rng, Shape, assert_close, backward, forward

import pymluops
from pymluops.reference import carafe as reference


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize(("channels", "groups"), [(3, 1), (64, 1), (4, 19)])
def test_taps_outside_are_never_looked_at(
    poison: float, scale: int, channels: int, groups: int, rng: Rng, handle: pymluops.Handle
) -> None:
    shape = Shape(1, 5, 18, channels, 5, groups, scale)
    x, m, go = shape.tensors(rng, np.float32)
    ones = np.ones_like(x), m, np.ones_like(go)
    inside = reference.carafe_backward(*ones, 5, groups, scale)[1] != 0
    poisoned = np.where(inside, m, np.float32(poison))
    assert not np.array_equal(poisoned, m)
    assert np.array_equal(
        forward(shape, x, poisoned, handle=handle), forward(shape, x, m, handle=handle)
    )
    grads, clean = (backward(shape, x, mask, go, handle=handle) for mask in (poisoned, m))
    assert np.array_equal(grads[0], clean[0])
    assert np.array_equal(grads[1], clean[1])
    assert not grads[1][~inside].any()


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize(("channels", "groups"), [(3, 1), (40, 1), (3, 18)])
def test_taps_outside_have_no_gradient_whatever_comes_from_the_output(
    poison: float, scale: int, channels: int, groups: int, rng: Rng, handle: pymluops.Handle
) -> None:
    shape = Shape(1, 5, 18, channels, 5, groups, scale)
    x, m, go = shape.tensors(rng, np.float32)
    ones = np.ones_like(x), m, np.ones_like(go)
    inside = reference.carafe_backward(*ones, 5, groups, scale)[1] != 0
    go[...] = poison
    grad_mask = backward(shape, x, m, go, handle=handle)[1]
    assert not grad_mask[~inside].any()
    assert not np.isfinite(grad_mask[inside]).any()


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("which", ["input", "mask", "grad_output", "corner"])
@pytest.mark.parametrize(("channels", "groups"), [(1, 2), (40, 2), (3, 18)])
def test_non_finite_values_reach_what_they_should_and_nothing_else(
    poison: float, which: str, channels: int, groups: int, rng: Rng, handle: pymluops.Handle
) -> None:
    shape = Shape(1, 6, 18, channels, 3, groups, 2)
    x, m, go = shape.tensors(rng, np.float32)
    places = {"input": (x, 3, 4, 0), "mask": (m, 6, 9, 4), "grad_output": (go, 6, 9, 0)}
    tensor, *place = (places | {"corner": (go, 0, 35, 0)})[which]
    tensor[0, *place] = poison
    results = [forward(shape, x, m, handle=handle), *backward(shape, x, m, go, handle=handle)]
    expected = [
        reference.carafe_forward(x, m, 3, groups, 2),
        *reference.carafe_backward(x, m, go, 3, groups, 2),
    ]
    assert any(not np.isfinite(e).all() for e in expected)
    for result, exact in zip(results, expected, strict=True):
        assert np.array_equal(np.isnan(result), np.isnan(exact))
        assert np.array_equal(np.isposinf(result), np.isposinf(exact))
        assert np.array_equal(np.isneginf(result), np.isneginf(exact))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [
        Shape(2, 49, 18, 4, 3, 1, 4),
        Shape(2, 49, 14, 4, 3, 1, 4),
        Shape(1, 49, 18, 33, 3, 1, 2),
        Shape(1, 49, 8, 3, 5, 17, 2),
    ],
    ids=repr,
)
def test_nans_have_the_same_bits_for_any_thread_count(
    shape: Shape, dtype: Any, rng: Rng, handle: pymluops.Handle, for_each_thread_count: Any
) -> None:
    """Sums meet NaNs of both signs, and make their own of infinities."""
    x, m, go = shape.tensors(rng, dtype)
    for tensor in (x, m, go):
        where = rng.integers(0, tensor.size, tensor.size // 50)
        tensor.reshape(-1)[where] = rng.choice([np.nan, -np.nan, np.inf, -np.inf], where.size)

    def run() -> list[bytes]:
        y = forward(shape, x, m, handle=handle)
        return [t.tobytes() for t in (y, *backward(shape, x, m, go, handle=handle))]

    first, *others = for_each_thread_count(run)
    assert all(other == first for other in others)


@pytest.mark.parametrize("place", guard.BOTH)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [
        Shape(1, 3, 5, 19, 5, 1, 2),
        Shape(1, 4, 6, 64, 3, 1, 1),
        Shape(1, 2, 3, 1, 5, 5, 2),
        Shape(1, 2, 2, 130, 7, 1, 3),
        Shape(1, 3, 5, 4, 5, 17, 2),
        Shape(1, 2, 3, 3, 3, 9, 1),
        Shape(1, 3, 17, 3, 5, 2, 2),
        Shape(1, 2, 16, 5, 3, 1, 1),
    ],
    ids=repr,
)
def test_touches_nothing_outside_its_arrays(
    shape: Shape, dtype: Any, place: Callable[[Any], Any], rng: Rng, handle: pymluops.Handle
) -> None:
    x, m, go = (place(t) for t in shape.tensors(rng, dtype))
    y, grad_input, grad_mask = (place(np.full_like(t, np.nan)) for t in (go, x, m))
    forward(shape, x, m, out=y, handle=handle)
    backward(shape, x, m, go, out=(grad_input, grad_mask), handle=handle)
    parameters = (shape.k, shape.g, shape.s)
    assert_close(y, reference.carafe_forward(x, m, *parameters), BAR[dtype])
    expected = reference.carafe_backward(x, m, go, *parameters)
    assert_close(grad_input, expected[0], BAR[dtype])
    assert_close(grad_mask, expected[1], BAR[dtype])


@pytest.mark.parametrize("empty", ["n", "h", "w", "c"])
def test_empty_tensors_are_fine(empty: str, handle: pymluops.Handle) -> None:
    sizes = {"n": 2, "h": 3, "w": 4, "c": 5, empty: 0}
    shape = Shape(**sizes, k=3, g=2, s=2)
    x, m, go = (np.zeros(size, np.float32) for size in (shape.map, shape.masks, shape.upscaled))
    assert forward(shape, x, m, handle=handle).shape == shape.upscaled
    grad_input, grad_mask = backward(shape, x, m, go, handle=handle)
    assert grad_input.shape == shape.map
    assert grad_mask.shape == shape.masks


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kernel_size": 4}, "kernel_size is 4, expected an odd number"),
        ({"kernel_size": 2**31 - 1}, "mask|kernel_size"),
        ({"group_size": 3}, "input: dim 3 is 4, expected a multiple of 3"),
        ({"group_size": 2**31 - 1}, "input: dim 3 is 4, expected a multiple of 2147483647"),
        ({"scale_factor": 0}, "scale_factor is 0, expected at least 1"),
    ],
)
def test_wrong_numbers_are_blamed(change: dict[str, int], text: str) -> None:
    x, m = np.zeros((1, 2, 2, 4), np.float32), np.zeros((1, 4, 4, 9), np.float32)
    numbers = {"kernel_size": 3, "group_size": 1, "scale_factor": 2}
    pymluops.carafe_forward(x, m, **numbers)
    go = np.zeros((1, 4, 4, 4), np.float32)
    pymluops.carafe_backward(x, m, grad_output=go, **numbers)
    with pytest.raises(pymluops.MluOpError, match=text):
        pymluops.carafe_forward(x, m, **(numbers | change))
    with pytest.raises(pymluops.MluOpError, match=text):
        pymluops.carafe_backward(x, m, grad_output=go, **(numbers | change))

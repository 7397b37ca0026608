# SPDX-License-Identifier: Apache-2.0
"""CARAFE against its float64 reference, by hand, and by identities."""

from __future__ import annotations

from typing import Any

import guard
import numpy as np
import pytest
from carafe_calls import BAR, DTYPES, Rng, Shape, assert_close, backward, forward

import pymluops
from pymluops.reference import carafe as reference

# Sizes below, at and above vectors and tiles; windows larger than the map; edges that are all rim.
SHAPES = [
    Shape(1, 6, 7, 64, 5, 1, 2),
    Shape(2, 5, 6, 17, 3, 2, 2),
    Shape(1, 4, 19, 33, 5, 1, 1),
    Shape(1, 3, 37, 16, 3, 1, 1),
    Shape(1, 5, 6, 40, 1, 1, 1),
    Shape(1, 5, 6, 40, 1, 2, 3),
    Shape(1, 7, 5, 100, 7, 1, 3),
    Shape(1, 4, 4, 24, 3, 3, 4),
    Shape(1, 4, 5, 48, 3, 1, 5),
    Shape(1, 6, 6, 1, 5, 8, 2),
    Shape(1, 5, 4, 4, 3, 64, 2),
    Shape(1, 8, 9, 1, 5, 1, 2),
    Shape(1, 8, 9, 3, 5, 1, 1),
    Shape(1, 1, 1, 300, 5, 1, 2),
    Shape(3, 2, 1, 65, 9, 1, 2),
    Shape(1, 1, 40, 31, 5, 1, 2),
    Shape(1, 40, 1, 31, 5, 1, 2),
    Shape(1, 2, 3, 512, 5, 1, 2),
    Shape(1, 2, 2, 1040, 3, 1, 2),
    Shape(1, 14, 15, 16, 13, 1, 1),
    Shape(1, 3, 4, 20, 45, 2, 2),
    Shape(1, 30, 31, 2, 45, 1, 1),
    # Groups of few channels, up to 4 and above, and windows up to 11 and above.
    Shape(1, 12, 13, 3, 11, 1, 1),
    Shape(1, 5, 14, 2, 13, 1, 1),
    Shape(1, 5, 6, 2, 7, 3, 3),
    Shape(2, 4, 5, 4, 1, 2, 5),
    Shape(1, 9, 21, 4, 5, 17, 2),
    Shape(1, 9, 7, 5, 5, 3, 2),
    # Weights of 16 columns that are converted at once, of all groups or some, or row by row.
    Shape(1, 3, 35, 16, 3, 17, 1),
    Shape(1, 4, 18, 20, 9, 1, 2),
    Shape(1, 4, 18, 20, 11, 1, 2),
    Shape(1, 20, 21, 18, 19, 1, 1),
    Shape(1, 20, 21, 110, 21, 1, 1),
    Shape(1, 16, 17, 64, 15, 2, 2),
    # Many groups of few channels: whole vectors of groups, parts of them, and several blocks.
    Shape(1, 7, 9, 4, 5, 16, 2),
    Shape(2, 6, 5, 3, 3, 8, 3),
    Shape(1, 5, 6, 7, 5, 40, 1),
    Shape(1, 4, 5, 1, 1, 100, 2),
    Shape(1, 3, 4, 2, 3, 24, 5),
    Shape(1, 3, 4, 4, 3, 70, 2),
    Shape(1, 2, 270, 16, 3, 16, 2),
    # And what is at both sides of their limits.
    Shape(1, 5, 6, 4, 5, 7, 2),
    Shape(1, 4, 19, 16, 7, 16, 2),
    Shape(1, 4, 19, 16, 9, 16, 2),
    Shape(1, 5, 6, 9, 5, 17, 1),
    Shape(1, 5, 6, 8, 5, 17, 1),
    Shape(1, 13, 12, 8, 11, 17, 2),
    Shape(1, 3, 4, 4, 13, 16, 2),
    # Few groups of few channels: whole vectors of columns, parts of them, and several strips.
    Shape(1, 9, 16, 5, 5, 1, 2),
    Shape(2, 6, 17, 3, 5, 2, 2),
    Shape(1, 40, 17, 7, 5, 2, 2),
    Shape(1, 1, 35, 4, 5, 1, 4),
    Shape(1, 4, 18, 1, 1, 7, 5),
    Shape(1, 4, 290, 2, 3, 1, 2),
    # And what is at both sides of their limits.
    Shape(1, 9, 15, 5, 5, 1, 2),
    Shape(1, 5, 37, 15, 5, 1, 3),
    Shape(1, 5, 18, 16, 3, 1, 2),
    Shape(1, 8, 18, 10, 7, 1, 2),
    Shape(1, 8, 18, 11, 7, 1, 2),
    Shape(1, 8, 18, 4, 7, 1, 2),
    Shape(1, 5, 20, 8, 3, 3, 1),
    Shape(1, 5, 20, 9, 3, 3, 1),
    # More columns than a thread takes of many channels at once; segments of 8 windows and of 16.
    Shape(1, 2, 70, 1024, 5, 1, 2),
    Shape(1, 3, 37, 512, 3, 1, 2),
    Shape(1, 2, 21, 272, 3, 1, 4),
    # Windows whose taps are one list in the middle of a map, and the first that are not.
    Shape(1, 10, 11, 300, 7, 1, 2),
    Shape(1, 12, 13, 36, 9, 1, 2),
    Shape(1, 13, 14, 20, 11, 1, 2),
    Shape(1, 14, 15, 20, 13, 1, 2),
    Shape(1, 2, 450, 2, 3, 16, 1),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_matches_the_reference_for_any_thread_count(
    shape: Shape, dtype: Any, rng: Rng, handle: pymluops.Handle, for_each_thread_count: Any
) -> None:
    x, m, go = shape.tensors(rng, dtype)

    def run() -> list[np.ndarray]:
        y = forward(shape, x, m, handle=handle)
        return [y, *backward(shape, x, m, go, handle=handle)]

    first, *others = for_each_thread_count(run)
    for other in others:
        assert [a.tobytes() for a in other] == [a.tobytes() for a in first]
    parameters = (shape.k, shape.g, shape.s)
    y, grad_input, grad_mask = first
    assert_close(y, reference.carafe_forward(x, m, *parameters), BAR[dtype])
    expected = reference.carafe_backward(x, m, go, *parameters)
    assert_close(grad_input, expected[0], BAR[dtype])
    assert_close(grad_mask, expected[1], BAR[dtype])


def test_random_shapes(rng: Rng, handle: pymluops.Handle) -> None:
    for _ in range(25):
        n, h, w = (int(rng.integers(1, most)) for most in (3, 9, 12))
        k, s, g = (int(rng.choice(v)) for v in ((1, 3, 5, 7, 9), (1, 2, 3, 4, 5), (1, 2, 3, 8)))
        shape = Shape(n, h, w, int(rng.integers(1, 90)), k, g, s)
        dtype = DTYPES[int(rng.integers(2))]
        x, m, go = shape.tensors(rng, dtype)
        y = forward(shape, x, m, handle=handle)
        grads = backward(shape, x, m, go, handle=handle)
        assert_close(y, reference.carafe_forward(x, m, k, g, s), BAR[dtype])
        for grad, expected in zip(grads, reference.carafe_backward(x, m, go, k, g, s), strict=True):
            assert_close(grad, expected, BAR[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 3, 5, 7])
def test_neighbours_at_both_sides_of_a_map(
    k: int, dtype: Any, rng: Rng, handle: pymluops.Handle
) -> None:
    for w in range(1, 14):
        shape = Shape(1, 3, w, 24, k, 1, 1)
        x, m, go = shape.tensors(rng, dtype)
        y = forward(shape, x, m, handle=handle)
        assert_close(y, reference.carafe_forward(x, m, k, 1, 1), BAR[dtype])
        grads = backward(shape, x, m, go, handle=handle)
        for grad, expected in zip(grads, reference.carafe_backward(x, m, go, k, 1, 1), strict=True):
            assert_close(grad, expected, BAR[dtype])


# Groups that share vectors: of 1, 2, 4 or 8 lanes, filled or not, whole vectors of them and parts.
SHARED = [
    (
        Shape(1, 3, 5, c, (1, 3, 5, 7)[c % 4], g, (1, 2, 3, 4, 5)[(c + g) % 5]),
        DTYPES[(row + column) % 2],
    )
    for row, c in enumerate((1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16))
    for column, g in enumerate((2, 3, 5, 9, 17, 64))
]
# More of them than a thread takes at once; long sums; windows that are cut by every side.
GROUPED = [
    *(Shape(1, 9, 20, c, 5, 19, s) for c in (1, 2, 3, 4, 6, 8, 12, 16) for s in (1, 2)),
    *(Shape(2, 4, 6, c, 3, 300 // c, 2) for c in (1, 3, 4, 7, 8, 11, 16)),
    *(Shape(1, 14, 17, c, 13, 7, s) for c in (1, 2, 3, 7, 9, 16) for s in (1, 3)),
    *(Shape(1, 45, 46, c, 45, 2, 1) for c in (1, 4)),
    Shape(1, 3, 4, 2, 45, 9, 2),
    Shape(1, 2, 900, 4, 3, 64, 1),
]


@pytest.mark.parametrize(
    ("shape", "dtype"), [*SHARED, *((shape, dtype) for shape in GROUPED for dtype in DTYPES)]
)
def test_groups_of_few_channels_match_the_reference(
    shape: Shape, dtype: Any, rng: Rng, handle: pymluops.Handle, for_each_thread_count: Any
) -> None:
    """All tensors are next to memory that nobody may touch, and the result begins anywhere."""
    x, m, _ = shape.tensors(rng, dtype)
    expected = reference.carafe_forward(x, m, shape.k, shape.g, shape.s)
    fenced = []
    for place in guard.BOTH:
        x, m = place(x), place(m)

        def run(place: Any = place, x: Any = x, m: Any = m) -> np.ndarray:
            y = place(np.full(shape.upscaled, np.nan, dtype))
            return forward(shape, x, m, out=y, handle=handle)

        fenced.append(run)
    first, *others = [*for_each_thread_count(fenced[0]), fenced[1]()]
    assert all(other.tobytes() == first.tobytes() for other in others)
    assert_close(first, expected, BAR[dtype])


@pytest.mark.parametrize("way", ["small_channels", "general"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [
        *(Shape(1, 4, 6, c, 5, g, s) for c in (1, 3, 4) for g in (1, 2, 7) for s in (1, 2, 3)),
        *(Shape(2, 5, 7, 4, k, 9, 2) for k in (1, 3, 7, 13)),
    ],
    ids=repr,
)
def test_either_way_matches_the_reference(
    shape: Shape, dtype: Any, way: str, isa: str, rng: Rng, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the plan would take the other one, too; past the caches, with masks packed."""
    monkeypatch.setenv("MLUOP_CPU_KERNEL", f"carafe_forward={way}")
    monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", "0")
    x, m, _ = shape.tensors(rng, dtype)
    expected = reference.carafe_forward(x, m, shape.k, shape.g, shape.s)
    with pymluops.Handle() as handle:
        for place in guard.BOTH:
            y = place(np.full(shape.upscaled, np.nan, dtype))
            forward(shape, place(x), place(m), out=y, handle=handle)
            assert_close(y, expected, BAR[dtype])


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [
        Shape(1, 4, 6, c, 3, g, s)
        for c in (1, 2, 3, 4, 5, 8, 9, 16)
        for g in (5, 17)
        for s in (1, 2)
    ],
    ids=repr,
)
def test_a_poisoned_group_leaves_its_neighbours_alone(
    shape: Shape, dtype: Any, poison: float, rng: Rng, handle: pymluops.Handle
) -> None:
    x, m, _ = shape.tensors(rng, dtype)
    c, taps, last = shape.c, shape.k**2, shape.g - 1
    clean = forward(shape, x, m, handle=handle)
    for group in (0, 2, last):
        # A channel, seen by the windows around it; a weight of a pixel; and a tap of it outside.
        for place, reach in (
            ("input", np.s_[0, : 3 * shape.s, : 3 * shape.s, group * c + c - 1]),
            ("mask", np.s_[0, -1, -1, group * c : (group + 1) * c]),
            ("outside", np.s_[0, :0]),
        ):
            poisoned_x, poisoned_m = x.copy(), m.copy()
            if place == "input":
                poisoned_x[0, 1, 1, group * c + c - 1] = poison
            elif place == "mask":
                poisoned_m[0, -1, -1, group * taps] = poison
            else:
                poisoned_m[0, -1, -1, group * taps + taps - 1] = poison
            y = forward(shape, poisoned_x, poisoned_m, handle=handle)
            reached = np.zeros(y.shape, bool)
            reached[reach] = True
            assert not np.isfinite(y[reached]).any()
            assert np.array_equal(y[~reached], clean[~reached])


def test_by_hand(handle: pymluops.Handle) -> None:
    """A 1 x 2 map of 2 channels, each a group; s = 1, k = 3: the middle row of taps is inside."""
    shape = Shape(1, 1, 2, 1, 3, 2, 1)
    x = np.array([[[[2, 3], [5, 7]]]], np.float32)
    m = np.arange(36, dtype=np.float32).reshape(1, 1, 2, 18)
    y = forward(shape, x, m, handle=handle)
    # Pixel 0 sees itself at tap 4 and pixel 1 at tap 5; pixel 1 sees pixel 0 at tap 3.
    assert y.tolist() == [[[[4 * 2 + 5 * 5, 13 * 3 + 14 * 7], [21 * 2 + 22 * 5, 30 * 3 + 31 * 7]]]]
    go = np.array([[[[1, 10], [100, 1000]]]], np.float32)
    grad_input, grad_mask = backward(shape, x, m, go, handle=handle)
    assert grad_input.tolist() == [
        [[[4 * 1 + 21 * 100, 13 * 10 + 30 * 1000], [5 * 1 + 22 * 100, 14 * 10 + 31 * 1000]]]
    ]
    expected = np.zeros((2, 18))
    expected[0, [4, 5, 13, 14]] = 2 * 1, 5 * 1, 3 * 10, 7 * 10
    expected[1, [3, 4, 12, 13]] = 2 * 100, 5 * 100, 3 * 1000, 7 * 1000
    assert np.array_equal(grad_mask[0, 0], expected)


def test_pixels_of_a_scaled_window(handle: pymluops.Handle) -> None:
    """With k = 1 each of the s x s pixels is its own weight times the input pixel below."""
    shape = Shape(1, 2, 2, 1, 1, 1, 3)
    x = np.array([1, 10, 100, 1000], np.float32).reshape(shape.map)
    m = np.arange(36, dtype=np.float32).reshape(shape.masks)
    y = forward(shape, x, m, handle=handle)
    below = np.repeat(np.repeat(x[0, :, :, 0], 3, axis=0), 3, axis=1)
    assert np.array_equal(y[0, :, :, 0], below * m[0, :, :, 0])

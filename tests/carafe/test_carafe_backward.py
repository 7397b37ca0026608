# SPDX-License-Identifier: Apache-2.0
"""Both ways of CARAFE's backward, beside memory that nobody may touch."""

from __future__ import annotations

from typing import Any

import guard
import numpy as np
import pytest
from carafe_calls import BAR, DTYPES, Rng, Shape, assert_close, backward

import pymluops
from pymluops.reference import carafe as reference

# Channels, groups: fewer and more than a vector has, whole vectors of groups and parts.
FEW = [(1, 1), (3, 5), (4, 16), (5, 20), (17, 2)]
SHAPES = [
    *(Shape(1, 4, 6, c, k, g, s) for c, g in FEW for k, s in ((1, 2), (3, 1), (5, 2), (3, 3))),
    # Several strips and blocks; two-level sums, with chunks of a window and without.
    Shape(1, 3, 450, 2, 3, 3, 1),
    Shape(2, 3, 5, 1, 3, 300, 2),
    Shape(1, 12, 13, 3, 11, 2, 3),
    Shape(1, 3, 4, 2, 5, 8, 16),
]


@pytest.mark.parametrize("way", ["small_channels", "general"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_every_way_gives_both_gradients(
    shape: Shape, dtype: Any, way: str, isa: str, rng: Rng, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLUOP_CPU_KERNEL", f"carafe_backward={way}")
    tensors = shape.tensors(rng, dtype)
    expected = reference.carafe_backward(*tensors, shape.k, shape.g, shape.s)
    everywhere = set()
    with pymluops.Handle() as handle:
        assert handle.isa_name == isa
        for place in guard.BOTH:
            x, m, go = (place(t) for t in tensors)
            for threads in (1, 2, 3, 5):
                handle.num_threads = threads
                out = tuple(place(np.full(t.shape, np.nan, dtype)) for t in (x, m))
                backward(shape, x, m, go, out=out, handle=handle)
                everywhere.add(tuple(grad.tobytes() for grad in out))
    assert len(everywhere) == 1
    for bits, exact in zip(everywhere.pop(), expected, strict=True):
        assert_close(np.frombuffer(bits, dtype).reshape(exact.shape), exact, BAR[dtype])

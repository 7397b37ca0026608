# SPDX-License-Identifier: Apache-2.0
"""PSAMask near in the caches and past them: the same bits, wherever tensors begin in memory."""

import guard
import numpy as np
import pytest
from everywhere import results_everywhere

import pymluops
from pymluops.reference import psamask as reference

# Rows of whole lines and others, masks that reach all of the map and others, maps narrower than a
# vector and wider than a block, maps of less than a line, masks wider than a writer's buffer and
# than what distribute backward streams.
SHAPES = [
    ((1, 23, 25), (3, 2)),
    ((1, 24, 20), (25, 21)),
    ((1, 16, 16), (31, 31)),
    ((2, 15, 17), (29, 33)),
    ((1, 100, 7), (3, 13)),
    ((60, 3, 5), (5, 9)),
    ((1, 1, 1), (3, 3)),
    ((1, 2, 200), (5, 301)),
    ((1, 30, 20), (59, 10)),
    ((2, 3, 100), (9, 199)),
    ((1, 5, 6), (9, 1030)),
    ((2, 17, 20), (33, 39)),
    ((1, 2, 300), (3, 599)),
    ((1, 1, 16), (1, 4200)),
]


@pytest.mark.parametrize("psa_type", [0, 1])
@pytest.mark.parametrize(("shape", "mask"), SHAPES)
def test_results_anywhere(near_and_past, rng, psa_type, shape, mask):
    _, height, width = shape
    masks, spread = (*shape, mask[0] * mask[1]), (*shape, height * width)
    arguments = {"psa_type": psa_type, "h_mask": mask[0], "w_mask": mask[1]}
    for name, source, target in (
        ("psamask_forward", masks, spread),
        ("psamask_backward", spread, masks),
    ):
        data = rng.integers(0, 2**32, source, np.uint32).view(np.float32)
        expected = getattr(reference, name)(data, psa_type, *mask)
        for x in (guard.ending(data), guard.beginning(data)):

            def call(handle, y, name=name, x=x):
                getattr(pymluops, name)(x, **arguments, out=y, handle=handle)

            (y,) = results_everywhere(call, [np.empty(target, np.float32)], near_and_past)
            assert y.tobytes() == expected.tobytes(), name

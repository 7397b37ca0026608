# SPDX-License-Identifier: Apache-2.0
"""PSAMask on images in NCHW: the bits of the reference on converted images, anywhere in memory."""

import guard
import numpy as np
import pytest
from everywhere import results_everywhere

from pymluops._descriptor import packed_descriptor
from pymluops.capi import Layout, ffi
from pymluops.reference import psamask as reference

TYPES = (0, 1)
# Narrower than a vector and one more than some, masks that end on the map and far beyond it, that
# reach no other row or column, wider than the buffer has room for; more rows than fill it once.
SHAPES = [
    ((1, 1, 1), (3, 3)),
    ((2, 5, 3), (9, 5)),
    ((1, 7, 16), (13, 31)),
    ((1, 23, 25), (3, 2)),
    ((1, 24, 20), (25, 21)),
    ((2, 15, 17), (29, 33)),
    ((1, 4, 33), (8, 64)),
    ((1, 100, 7), (3, 13)),
    ((3, 2, 5), (1, 9)),
    ((3, 2, 5), (9, 1)),
    ((1, 2, 200), (5, 399)),
    ((1, 30, 20), (59, 10)),
    ((1, 3, 6), (9, 2000)),
]


def random_bits(rng, shape):
    """Floats of every kind, NaNs with payloads among them."""
    return rng.integers(0, 2**32, shape, np.uint32).view(np.float32)


def to_nchw(array):
    """Move channels to the front, as bits."""
    return np.ascontiguousarray(array.view(np.uint32).transpose(0, 3, 1, 2)).view(np.float32)


def tensor(array):
    return packed_descriptor(array.shape, array.dtype, int(Layout.NCHW)), ffi.from_buffer(array)


def run(handle, direction, source, target, psa_type, mask):
    function = f"mluOpCpuPsamaskNchw{direction}"
    handle.invoke(function, (psa_type, *tensor(source), *mask, *tensor(target)))


def directions(rng, shape, mask, psa_type):
    """Both directions: the name, an input, and what the reference gives for it."""
    n, height, width = shape
    masks, spread = (n, height, width, mask[0] * mask[1]), (n, height, width, height * width)
    x, dy = random_bits(rng, masks), random_bits(rng, spread)
    yield "Forward", to_nchw(x), to_nchw(reference.psamask_forward(x, psa_type, *mask))
    yield "Backward", to_nchw(dy), to_nchw(reference.psamask_backward(dy, psa_type, *mask))


@pytest.mark.parametrize("psa_type", TYPES)
@pytest.mark.parametrize(("shape", "mask"), SHAPES)
def test_bits_anywhere(near_and_past, rng, psa_type, shape, mask):
    for direction, source, expected in directions(rng, shape, mask, psa_type):
        for x in (guard.ending(source), guard.beginning(source)):

            def call(handle, y, direction=direction, x=x):
                run(handle, direction, x, y, psa_type, mask)

            (y,) = results_everywhere(call, [np.empty_like(expected)], near_and_past)
            assert y.tobytes() == expected.tobytes(), direction


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_random_shapes(near_and_past, rng, threads):
    for number in range(90):
        height, width = (int(extent) for extent in rng.integers(1, (12, 40)))
        mask = tuple(int(extent) for extent in rng.integers(1, (30, 90)))
        if number % 3 == 0:
            mask = (2 * height - 1, 2 * width - 1)
        shape, psa_type = (int(rng.integers(1, 3)), height, width), int(rng.integers(2))
        handle, fence = near_and_past[number % 2], guard.BOTH[number // 2 % 2]
        handle.num_threads = threads
        for direction, source, expected in directions(rng, shape, mask, psa_type):
            y = fence(random_bits(rng, expected.shape))
            run(handle, direction, fence(source), y, psa_type, mask)
            assert y.tobytes() == expected.tobytes(), (direction, shape, mask, psa_type)


def test_masks_without_positions(handle):
    spread, none = np.ones((1, 4, 2, 2), np.float32), np.empty((1, 0, 2, 2), np.float32)
    for mask in ((0, 5), (5, 0)):
        run(handle, "Backward", spread, none, 1, mask)
        run(handle, "Forward", none, spread, 1, mask)
    assert (spread == 1).all()

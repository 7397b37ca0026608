# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im near in the caches and past them: the same bits, wherever they begin."""

import guard
import numpy as np
import pytest
from everywhere import results_everywhere

import pymluops
from pymluops.reference import masked as reference

DTYPES = (np.float16, np.float32)


def random_bits(rng, shape, dtype):
    bits = {2: np.uint16, 4: np.uint32}[np.dtype(dtype).itemsize]
    return rng.integers(0, np.iinfo(bits).max, shape, bits, endpoint=True).view(dtype)


def positions_of(rng, kind, height, width, count):
    at = rng.integers(0, height * width, count)
    if kind == "sorted":
        at = np.sort(rng.choice(height * width, count, replace=False))
    elif kind == "dense":
        at = np.arange(count)
    return (at // width).astype(np.int32), (at % width).astype(np.int32)


# Rows of less than a line, of some lines, and of more than a chunk; one channel and some. The last
# is read plane by plane where positions are in disorder.
SIZES = [(1, 5, 6, 3), (40, 6, 7, 9), (3, 30, 41, 700), (20, 31, 33, 1000), (5, 140, 150, 17000)]
SIZES += [(3, 30, 41, 1230)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["sorted", "dense", "any"])
@pytest.mark.parametrize(("channels", "height", "width", "count"), SIZES)
def test_results_anywhere(near_and_past, rng, dtype, kind, channels, height, width, count):
    positions = positions_of(rng, kind, height, width, count)
    feature = random_bits(rng, (1, channels, height, width), dtype)
    col = random_bits(rng, (channels, count), dtype)
    for kernel in (1, 2) if count < 10000 else (1,):
        expected = (
            reference.masked_im2col_forward(feature, *positions, kernel, kernel, 0, 0),
            reference.masked_col2im_forward(col, *positions, height, width),
        )
        for fence in guard.BOTH:
            features, cols, *at = (fence(array) for array in (feature, col, *positions))

            def im2col(handle, out, features=features, at=at, kernel=kernel):
                pymluops.masked_im2col_forward(
                    *(features, *at), kernel_h=kernel, kernel_w=kernel, out=out, handle=handle
                )

            def col2im(handle, out, cols=cols, at=at):
                pymluops.masked_col2im_forward(
                    *(cols, *at), height=height, width=width, out=out, handle=handle
                )

            for call, exact in zip((im2col, col2im), expected, strict=True):
                (got,) = results_everywhere(call, [np.empty(exact.shape, dtype)], near_and_past)
                assert got.tobytes() == exact.tobytes()

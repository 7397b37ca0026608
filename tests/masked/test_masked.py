# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im: bits against the reference, and hostile positions."""

import guard
import numpy as np
import pytest
from pymluops.reference.masked import masked_col2im_forward as reference_col2im
from pymluops.reference.masked import masked_im2col_forward as reference_im2col

import pymluops

DTYPES = (np.float16, np.float32)
FAR = 2**31


def random_bits(rng, shape, dtype):
    """Elements of every kind, NaNs with payloads among them."""
    bits = {2: np.uint16, 4: np.uint32}[np.dtype(dtype).itemsize]
    return rng.integers(0, np.iinfo(bits).max, shape, bits, endpoint=True).view(dtype)


def split(positions, width):
    return (positions // width).astype(np.int32), (positions % width).astype(np.int32)


def sorted_positions(rng, height, width, count):
    return split(np.sort(rng.choice(height * width, count, replace=False)), width)


def any_positions(rng, height, width, count):
    return split(rng.integers(0, height * width, count), width)


def runs(rng, height, width, count):
    """Stretches of neighbours, as masks of objects have them."""
    mask = np.repeat(rng.random(height * width // 7 + 1) < 0.5, 7)[: height * width]
    return split(np.flatnonzero(mask) if mask.any() else np.arange(height * width), width)


def around(rng, height, width, count):
    return tuple(rng.integers(-4, max(height, width) + 4, (2, count), np.int32))


def anywhere(rng, height, width, count):
    return tuple(rng.integers(-FAR, FAR - 1, (2, count), np.int32, endpoint=True))


ON_MAP = (sorted_positions, any_positions, runs)


def check_im2col(handle, feature, positions, kernel, pad, rng, fence=np.array):
    h_idx, w_idx = positions
    rows = feature.shape[1] * kernel[0] * kernel[1]
    out = fence(random_bits(rng, (rows, len(h_idx)), feature.dtype))
    pymluops.masked_im2col_forward(
        fence(feature),
        fence(h_idx),
        fence(w_idx),
        kernel_h=kernel[0],
        kernel_w=kernel[1],
        pad_h=pad[0],
        pad_w=pad[1],
        out=out,
        handle=handle,
    )
    expected = reference_im2col(feature, h_idx, w_idx, *kernel, *pad)
    assert out.tobytes() == expected.tobytes(), (feature.shape, len(h_idx), kernel, pad)


def check_col2im(handle, col, positions, size, rng, fence=np.array):
    h_idx, w_idx = positions
    out = fence(random_bits(rng, (1, len(col), *size), col.dtype))
    pymluops.masked_col2im_forward(
        fence(col),
        fence(h_idx),
        fence(w_idx),
        height=size[0],
        width=size[1],
        out=out,
        handle=handle,
    )
    expected = reference_col2im(col, h_idx, w_idx, *size)
    assert out.tobytes() == expected.tobytes(), (col.shape, size)


def random_size(rng):
    height, width = (int(n) for n in rng.integers(1, 24, 2))
    return height, width, int(rng.integers(1, height * width + 1)), int(rng.integers(1, 6))


def test_im2col_by_hand():
    feature = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 2, 3)  # 1 2 3 / 4 5 6
    h_idx, w_idx = np.array([0, 1], np.int32), np.array([0, 2], np.int32)
    col = pymluops.masked_im2col_forward(feature, h_idx, w_idx, kernel_h=2, kernel_w=2, pad_w=1)
    assert col.tolist() == [[0, 5], [1, 6], [0, 0], [4, 0]]


def test_col2im_by_hand():
    h_idx, w_idx = np.array([1, 0, 1], np.int32), np.array([2, 1, 2], np.int32)
    im = pymluops.masked_col2im_forward(
        np.array([[7, 8, 9]], np.float32), h_idx, w_idx, height=2, width=3
    )
    assert im[0, 0].tolist() == [[0, 8, 0], [0, 0, 9]]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_im2col_of_random_shapes(handle, rng, dtype, threads):
    handle.num_threads = threads
    for number in range(60):
        height, width, count, channels = random_size(rng)
        kernel = tuple(int(n) for n in rng.integers(1, 6, 2))
        pad = tuple(int(n) for n in rng.integers(-2, 5, 2))
        kind = (*ON_MAP, around, anywhere)[number % 5]
        positions = kind(rng, height, width, count)
        feature = random_bits(rng, (1, channels, height, width), dtype)
        check_im2col(handle, feature, positions, kernel, pad, rng, guard.BOTH[number // 5 % 2])


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_col2im_of_random_shapes(handle, rng, dtype, threads):
    handle.num_threads = threads
    for number in range(60):
        height, width, count, channels = random_size(rng)
        positions = ON_MAP[number % 3](rng, height, width, count)
        col = random_bits(rng, (channels, len(positions[0])), dtype)
        check_col2im(handle, col, positions, (height, width), rng, guard.BOTH[number // 3 % 2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [sorted_positions, any_positions])
def test_many_positions_and_channels(handle, rng, dtype, kind):
    """Rows longer than a block of work, and more channels than positions."""
    for channels, height, width, count in ((3, 90, 101, 5000), (300, 5, 5, 7), (2, 70, 97, 150)):
        positions = kind(rng, height, width, count)
        feature = random_bits(rng, (1, channels, height, width), dtype)
        check_im2col(handle, feature, positions, (3, 3), (1, 1), rng, guard.ending)
        col = random_bits(rng, (channels, count), dtype)
        check_col2im(handle, col, positions, (height, width), rng, guard.ending)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2, 4, 5, 15, 16, 31, 33, 48, 49])
def test_im2col_of_few_positions_and_many_channels(handle, rng, dtype, count, threads):
    """Short rows, which become one row for all taps of a channel."""
    handle.num_threads = threads
    for channels, kernel, pad in (
        (40, (1, 1), (0, 0)),
        (33, (3, 2), (1, 1)),
        (8, (20, 17), (9, -2)),
    ):
        for kind in (sorted_positions, around, anywhere):
            feature = random_bits(rng, (1, channels, 9, 11), dtype)
            positions = kind(rng, 9, 11, count)
            check_im2col(handle, feature, positions, kernel, pad, rng, guard.ending)


@pytest.mark.parametrize("kind", [sorted_positions, runs])
@pytest.mark.parametrize("dtype", DTYPES)
def test_im2col_of_many_channels_and_chunks(handle, rng, dtype, kind):
    handle.num_threads = 2
    feature = random_bits(rng, (1, 17, 80, 83), dtype)
    for pad in ((0, 0), (1, 1)):
        check_im2col(handle, feature, kind(rng, 80, 83, 3000), (3, 3), pad, rng, guard.ending)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 5, 16, 70])
def test_col2im_from_empty_to_full_maps(handle, rng, dtype, channels, threads):
    """A part of the map is cleared, filled, copied or put together: by density and channels."""
    handle.num_threads = threads
    height, width = 61, 67
    plane = height * width
    full = np.arange(plane)
    half_full = full[plane // 3 : -plane // 5]
    chosen = [np.sort(rng.choice(plane, n, replace=False)) for n in (1, 40, 300, 1100, 3000, 4080)]
    for positions in (*chosen, full, half_full, full[:-1], full[1:], full[-1:], full[::2]):
        col = random_bits(rng, (channels, len(positions)), dtype)
        check_col2im(handle, col, split(positions, width), (height, width), rng, guard.ending)


def test_all_halves_arrive(handle):
    feature = np.arange(65536, dtype=np.uint16).view(np.float16).reshape(1, 1, 256, 256)
    rows, columns = split(np.arange(65536), 256)
    col = pymluops.masked_im2col_forward(
        feature, rows, columns, kernel_h=1, kernel_w=1, handle=handle
    )
    assert col.tobytes() == feature.tobytes()
    im = pymluops.masked_col2im_forward(col, rows, columns, height=256, width=256, handle=handle)
    assert im.tobytes() == feature.tobytes()


def test_signalling_nans_arrive(handle):
    patterns = [0x7F800001, 0xFF800001, 0x7FBFFFFF, 0x7FC12345, 0xFFFFFFFF, 0x80000000, 0x00000001]
    feature = np.array(patterns, np.uint32).view(np.float32).reshape(1, 1, 1, 7)
    at = split(np.arange(7), 7)
    col = pymluops.masked_im2col_forward(feature, *at, kernel_h=1, kernel_w=1, handle=handle)
    assert col.view(np.uint32)[0].tolist() == patterns
    im = pymluops.masked_col2im_forward(col, *at, height=1, width=7, handle=handle)
    assert im.tobytes() == feature.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_larger_than_the_map(handle, rng, dtype):
    feature = random_bits(rng, (1, 2, 5, 4), dtype)
    for kernel, pad in (((40, 1), (20, 0)), ((1, 40), (0, 20)), ((17, 18), (8, 9))):
        check_im2col(handle, feature, any_positions(rng, 5, 4, 20), kernel, pad, rng, guard.ending)


@pytest.mark.parametrize("dtype", DTYPES)
def test_paddings_and_indices_of_any_size(handle, rng, dtype):
    """Sums that do not fit into 32 bits, some of which lie on the map all the same."""
    feature = random_bits(rng, (1, 2, 6, 7), dtype)
    for pad in ((FAR - 1, 0), (-FAR, 3), (0, -FAR), (FAR - 1, FAR - 1)):
        near = rng.integers(-3, 9, (2, 33)) + np.array(pad)[:, None]
        h_idx, w_idx = np.clip(near, -FAR, FAR - 1).astype(np.int32)
        check_im2col(handle, feature, (h_idx, w_idx), (3, 2), pad, rng, guard.ending)
        check_im2col(handle, feature, anywhere(rng, 6, 7, 33), (2, 3), pad, rng, guard.beginning)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("bad", [-1, 4, FAR - 1, -FAR])
@pytest.mark.parametrize("row", [0, 17, 39])
def test_col2im_refuses_positions_outside(handle, axis, bad, row):
    indices = np.zeros((2, 40), np.int32)
    indices[axis, row] = bad
    im = np.full((1, 2, 4, 4), 7, np.float32)
    name = ("mask_h_idx", "mask_w_idx")[axis]
    with pytest.raises(pymluops.BadParamError, match=rf"{name}\[{row}\] is {bad}, expected 0 to 3"):
        pymluops.masked_col2im_forward(
            np.ones((2, 40), np.float32), *indices, height=4, width=4, out=im, handle=handle
        )
    assert (im == 7).all()


def test_without_positions(handle):
    none = np.empty(0, np.int32)
    feature = np.ones((1, 2, 3, 4), np.float32)
    col = pymluops.masked_im2col_forward(feature, none, none, kernel_h=2, kernel_w=2, handle=handle)
    assert col.shape == (8, 0)
    im = np.full((1, 2, 3, 4), 7, np.float32)
    pymluops.masked_col2im_forward(
        np.empty((2, 0), np.float32), none, none, height=3, width=4, out=im, handle=handle
    )
    assert im.tobytes() == bytes(4 * 24)


@pytest.mark.parametrize("dtype", DTYPES)
def test_col2im_puts_back_what_im2col_took(handle, rng, dtype):
    feature = random_bits(rng, (1, 5, 13, 14), dtype)
    positions = sorted_positions(rng, 13, 14, 60)
    col = pymluops.masked_im2col_forward(feature, *positions, kernel_h=1, kernel_w=1, handle=handle)
    im = pymluops.masked_col2im_forward(col, *positions, height=13, width=14, handle=handle)
    taken = np.zeros((13, 14), bool)
    taken[positions] = True
    bits = {2: np.uint16, 4: np.uint32}[feature.itemsize]
    assert np.array_equal(im.view(bits), np.where(taken, feature.view(bits), 0))

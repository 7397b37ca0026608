# SPDX-License-Identifier: Apache-2.0
"""PSAMask: bits against the reference, over shapes, instruction sets and thread counts."""

import guard
import numpy as np
import pytest

import pymluops
from pymluops.reference import psamask as reference

FORWARD = (pymluops.psamask_forward, reference.psamask_forward)
BACKWARD = (pymluops.psamask_backward, reference.psamask_backward)
TYPES = (0, 1)


def random_bits(rng, shape):
    """Floats of every kind, NaNs with payloads among them."""
    return rng.integers(0, 2**32, shape, np.uint32).view(np.float32)


def check(handle, shape, mask, psa_type, rng, fence=np.array):
    """Both directions write exactly the bits of the reference, over what was there before."""
    n, height, width = shape
    h_mask, w_mask = mask
    masks = (n, height, width, h_mask * w_mask)
    spread = (n, height, width, height * width)
    for (ours, theirs), source, target in ((FORWARD, masks, spread), (BACKWARD, spread, masks)):
        data = random_bits(rng, source)
        out = fence(random_bits(rng, target))
        arguments = {"psa_type": psa_type, "h_mask": h_mask, "w_mask": w_mask}
        ours(fence(data), **arguments, out=out, handle=handle)
        expected = theirs(data, psa_type, h_mask, w_mask)
        assert out.tobytes() == expected.tobytes(), (ours.__name__, shape, mask, psa_type)


def test_forward_by_hand():
    # A row of three pixels with masks of 2: a = b = 0, so that position v is at w + v.
    x = np.array([[[[1, 2], [3, 4], [5, 6]]]], np.float32)
    collected = pymluops.psamask_forward(x, psa_type=0, h_mask=1, w_mask=2)
    assert collected[0, 0].tolist() == [[1, 2, 0], [0, 3, 4], [0, 0, 5]]
    distributed = pymluops.psamask_forward(x, psa_type=1, h_mask=1, w_mask=2)
    assert distributed[0, 0].tolist() == [[1, 0, 0], [2, 3, 0], [0, 4, 5]]


def test_backward_by_hand():
    # A column of two pixels with masks of 3: position u is at h + u - 1.
    dy = np.array([[[[1, 2]], [[3, 4]]]], np.float32)
    collected = pymluops.psamask_backward(dy, psa_type=0, h_mask=3, w_mask=1)
    assert collected[0, :, 0].tolist() == [[0, 1, 2], [3, 4, 0]]
    distributed = pymluops.psamask_backward(dy, psa_type=1, h_mask=3, w_mask=1)
    assert distributed[0, :, 0].tolist() == [[0, 1, 3], [2, 4, 0]]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_random_shapes(handle, rng, threads):
    handle.num_threads = threads
    for number in range(90):
        height, width = rng.integers(1, 10, 2)
        mask = rng.integers(1, 20, 2)
        if number % 3 == 0:
            mask = (2 * height - 1, 2 * width - 1)
        shape = (int(rng.integers(1, 3)), int(height), int(width))
        fence = guard.BOTH[number % 2]
        check(handle, shape, (int(mask[0]), int(mask[1])), int(rng.integers(2)), rng, fence)


@pytest.mark.parametrize("psa_type", TYPES)
@pytest.mark.parametrize(
    ("shape", "mask"),
    [
        ((1, 1, 1), (1, 1)),
        ((1, 1, 1), (301, 301)),
        ((2, 1, 67), (1, 133)),
        ((2, 67, 1), (133, 1)),
        ((1, 1, 200), (2, 5)),
        ((1, 17, 16), (33, 31)),
        ((1, 16, 17), (32, 34)),
        ((1, 33, 31), (65, 61)),
        ((1, 33, 31), (3, 2)),
        ((3, 20, 20), (39, 39)),
        ((1, 5, 6), (1500, 3)),
        ((1, 6, 5), (3, 1500)),
        ((1, 8, 8), (130, 140)),
    ],
)
def test_shapes_around_blocks(handle, rng, psa_type, shape, mask):
    check(handle, shape, mask, psa_type, rng)
    handle.num_threads = 3
    check(handle, shape, mask, psa_type, rng, guard.ending)


@pytest.mark.parametrize("psa_type", TYPES)
def test_signalling_nans_arrive(handle, psa_type):
    patterns = [0x7F800001, 0xFF800001, 0x7FBFFFFF, 0x7FC12345, 0xFFFFFFFF, 0x80000000, 0x00000001]
    x = np.array(patterns, np.uint32).view(np.float32).reshape(1, 1, 7, 1)
    arguments = {"psa_type": psa_type, "h_mask": 1, "w_mask": 1, "handle": handle}
    y = pymluops.psamask_forward(x, **arguments)
    assert y[0, 0].view(np.uint32).tolist() == np.diag(patterns).tolist()
    dx = pymluops.psamask_backward(y, **arguments)
    assert dx.view(np.uint32).reshape(-1).tolist() == patterns


def test_distribute_is_the_transpose_of_collect(rng):
    x = random_bits(rng, (2, 7, 5, 9 * 4))
    collected, distributed = (
        pymluops.psamask_forward(x, psa_type=kind, h_mask=9, w_mask=4).view(np.uint32)
        for kind in TYPES
    )
    transposed = collected.reshape(2, 35, 35).transpose(0, 2, 1)
    assert np.array_equal(distributed.reshape(2, 35, 35), transposed)


@pytest.mark.parametrize("psa_type", TYPES)
def test_backward_inverts_forward_on_the_map(rng, psa_type):
    x = random_bits(rng, (1, 6, 8, 5 * 7))
    arguments = {"psa_type": psa_type, "h_mask": 5, "w_mask": 7}
    ones = np.ones((1, 6, 8, 48), np.float32)
    on_map = pymluops.psamask_backward(ones, **arguments) == 1
    back = pymluops.psamask_backward(pymluops.psamask_forward(x, **arguments), **arguments)
    expected = np.where(on_map, x.view(np.uint32), 0)
    assert np.array_equal(back.view(np.uint32), expected)


@pytest.mark.parametrize("psa_type", TYPES)
def test_empty_tensors(psa_type):
    arguments = {"psa_type": psa_type, "h_mask": 3, "w_mask": 3}
    for shape in ((0, 2, 2), (2, 0, 2), (2, 2, 0)):
        n, height, width = shape
        y = pymluops.psamask_forward(np.ones((*shape, 9), np.float32), **arguments)
        assert y.shape == (n, height, width, height * width)
        dx = pymluops.psamask_backward(np.ones_like(y), **arguments)
        assert dx.shape == (*shape, 9)


def test_masks_without_positions():
    y = np.ones((1, 2, 2, 4), np.float32)
    for h_mask, w_mask in ((0, 5), (5, 0)):
        dx = pymluops.psamask_backward(y, psa_type=1, h_mask=h_mask, w_mask=w_mask)
        assert dx.shape == (1, 2, 2, 0)
        assert (
            pymluops.psamask_forward(dx, psa_type=1, h_mask=h_mask, w_mask=w_mask).shape == y.shape
        )


def test_strided_nan_payloads_survive():
    bits = np.array([0x7F800001, 0xFFC12345, 0x80000000, 0x7FFFFFFF], np.uint32)
    x = np.repeat(bits.view(np.float32), 2).reshape(1, 2, 2, 2)[..., :1]
    for given in (x, x.astype(">f4")):
        y = pymluops.psamask_forward(given, psa_type=0, h_mask=1, w_mask=1)
        assert np.array_equal(y.view(np.uint32).reshape(4, 4).diagonal(), bits)

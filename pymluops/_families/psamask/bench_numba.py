# SPDX-License-Identifier: Apache-2.0
"""PSAMask in loops that numba compiles, for masks that hold every target."""

from typing import Any

import numpy as np
from numba import prange

from pymluops._families._numba_peers import parallel
from pymluops._tensor import Array
from pymluops.bench._peers import Made, Peer, as_they_are


@parallel
def _gather(masks, out, collect):
    n, size = masks.shape[0], masks.shape[1]
    wide = 2 * size - 1
    for row in prange(n * size):
        image, a = row // size, row % size
        for b in range(size):
            to = out[image, a, b]
            for c in range(size):
                if collect:  # a, b is the pixel, and c a row of targets
                    begin = (c - a + size - 1) * wide + size - 1 - b
                    to[c * size : (c + 1) * size] = masks[image, a, b, begin : begin + size]
                else:  # a, b is the target, and c a row of pixels
                    begin = (a - c + size - 1) * wide + b + size - 1
                    for d in range(size):
                        to[c * size + d] = masks[image, c, d, begin - d]


@parallel
def _scatter(grad, out, collect):
    n, size = out.shape[0], out.shape[1]
    wide = 2 * size - 1
    for row in prange(n * size):
        image, a = row // size, row % size
        for b in range(size):
            to = out[image, a, b]
            to[:] = 0
            for c in range(size):
                begin = (c - a + size - 1) * wide + size - 1 - b
                if collect:
                    to[begin : begin + size] = grad[image, a, b, c * size : (c + 1) * size]
                else:
                    for d in range(size):
                        to[begin + d] = grad[image, c, d, a * size + b]


def _forward(p: Any) -> Made:
    out = np.zeros((len(p.given), p.size, p.size, p.size**2), np.float32)

    def run() -> tuple[Array, ...]:
        _gather(p.given, out, p.collect)
        return (out,)

    return run, as_they_are


def _backward(p: Any) -> Made:
    out = np.zeros((len(p.given), p.size, p.size, (2 * p.size - 1) ** 2), np.float32)

    def run() -> tuple[Array, ...]:
        _scatter(p.given, out, p.collect)
        return (out,)

    return run, as_they_are


PEERS = {
    "psamask_forward": [Peer("loops over rows", _forward, 0)],
    "psamask_backward": [Peer("loops over rows", _backward, 0)],
}

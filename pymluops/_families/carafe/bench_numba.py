# SPDX-License-Identifier: Apache-2.0
"""CARAFE in loops that numba compiles."""

from typing import Any

import numpy as np
from numba import prange

from pymluops._families._numba_peers import parallel
from pymluops._tensor import Array
from pymluops.bench._peers import Made, Peer, as_they_are


@parallel
def _up(x, mask, out, kernel, groups, scale):
    n, height, width, channels = x.shape
    r, wide = kernel // 2, channels // groups
    for row in prange(n * height * scale):
        image, oy = row // (height * scale), row % (height * scale)
        for ox in range(width * scale):
            to, weights = out[image, oy, ox], mask[image, oy, ox]
            to[:] = 0
            top, left = oy // scale - r, ox // scale - r
            for i in range(max(0, -top), min(kernel, height - top)):
                for j in range(max(0, -left), min(kernel, width - left)):
                    pixel = x[image, top + i, left + j]
                    for g in range(groups):
                        weight = weights[(g * kernel + i) * kernel + j]
                        add = to[g * wide : (g + 1) * wide]
                        given = pixel[g * wide : (g + 1) * wide]
                        for c in range(wide):
                            add[c] += weight * given[c]


@parallel
def _down(x, mask, grad, found, of_mask, kernel, groups, scale):
    """Each thread has rows of the map: it looks for all windows that its pixels are in."""
    n, height, width, channels = x.shape
    r, wide = kernel // 2, channels // groups
    for row in prange(n * height):
        image, y = row // height, row % height
        for at in range(width):
            to = found[image, y, at]
            to[:] = 0
            for i in range(max(0, y + r - height + 1), min(kernel, y + r + 1)):
                for j in range(max(0, at + r - width + 1), min(kernel, at + r + 1)):
                    for oy in range((y + r - i) * scale, (y + r - i + 1) * scale):
                        for ox in range((at + r - j) * scale, (at + r - j + 1) * scale):
                            g_out = grad[image, oy, ox]
                            for g in range(groups):
                                weight = mask[image, oy, ox, (g * kernel + i) * kernel + j]
                                add = to[g * wide : (g + 1) * wide]
                                given = g_out[g * wide : (g + 1) * wide]
                                for c in range(wide):
                                    add[c] += weight * given[c]
    for row in prange(n * height * scale):
        image, oy = row // (height * scale), row % (height * scale)
        for ox in range(width * scale):
            g_out, weights = grad[image, oy, ox], of_mask[image, oy, ox]
            weights[:] = 0
            top, left = oy // scale - r, ox // scale - r
            for i in range(max(0, -top), min(kernel, height - top)):
                for j in range(max(0, -left), min(kernel, width - left)):
                    pixel = x[image, top + i, left + j]
                    for g in range(groups):
                        total = np.float32(0)
                        above = g_out[g * wide : (g + 1) * wide]
                        below = pixel[g * wide : (g + 1) * wide]
                        for c in range(wide):
                            total += above[c] * below[c]
                        weights[(g * kernel + i) * kernel + j] = total


def _forward(p: Any) -> Made:
    n, height, width, _ = p.mask.shape
    out = np.zeros((n, height, width, p.x.shape[3]), np.float32)

    def run() -> tuple[Array, ...]:
        _up(p.x, p.mask, out, p.kernel, p.groups, p.scale)
        return (out,)

    return run, as_they_are


def _backward(p: Any) -> Made:
    found, of_mask = np.zeros_like(p.x), np.zeros_like(p.mask)

    def run() -> tuple[Array, ...]:
        _down(p.x, p.mask, p.grad, found, of_mask, p.kernel, p.groups, p.scale)
        return found, of_mask

    return run, as_they_are


PEERS = {
    "carafe_forward": [Peer("loops over rows of the result", _forward)],
    "carafe_backward": [Peer("loops over rows of the map, then of the result", _backward)],
}

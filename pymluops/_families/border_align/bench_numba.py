# SPDX-License-Identifier: Apache-2.0
"""BorderAlign in loops that numba compiles."""

from typing import Any

import numpy as np
from numba import prange

from pymluops._families._numba_peers import corners, inline, parallel
from pymluops._tensor import Array
from pymluops.bench._peers import Made, Peer, as_they_are


@inline
def _walk(box, side, pool_size):
    """Return where a border begins, and its step: y and x."""
    step_y, step_x = (box[3] - box[1]) / pool_size, (box[2] - box[0]) / pool_size
    if side == 0:
        return box[1], box[0], np.float32(0), step_x
    if side == 1:
        return box[1], box[0], step_y, np.float32(0)
    if side == 2:
        return box[3], box[2], np.float32(0), -step_x
    return box[3], box[2], -step_y, np.float32(0)


@parallel
def _greatest(x, boxes, out, argmax, pool_size):
    n, height, width, channels = x.shape
    count, wide, one = boxes.shape[1], channels // 4, np.float32(1)
    for item in prange(n * count):
        image, box = item // count, item % count
        for side in range(4):
            y, at, step_y, step_x = _walk(boxes[image, box], side, np.float32(pool_size))
            to, which, c0 = out[image, box, side], argmax[image, box, side], side * wide
            for step in range(pool_size + 1):
                inside, h, w, h1, w1, dy, dx = corners(y, at, height, width)
                y, at = y + step_y, at + step_x
                scale = one if inside else np.float32(0)
                p00, p01 = x[image, h, w, c0:], x[image, h, w1, c0:]
                p10, p11 = x[image, h1, w, c0:], x[image, h1, w1, c0:]
                k00, k01 = scale * (one - dy) * (one - dx), scale * (one - dy) * dx
                k10, k11 = scale * dy * (one - dx), scale * dy * dx
                for c in range(wide):
                    value = k00 * p00[c] + k01 * p01[c] + k10 * p10[c] + k11 * p11[c]
                    better = step == 0 or value > to[c]
                    to[c] = value if better else to[c]
                    which[c] = step if better else which[c]


@parallel
def _spread(grad, boxes, argmax, found, pool_size):
    """The borders of an image have their own channels: each of them is an item."""
    n, height, width, channels = found.shape
    count, wide, one = boxes.shape[1], channels // 4, np.float32(1)
    for item in prange(4 * n):
        image, side = item // 4, item % 4
        c0 = side * wide
        found[image, :, :, c0 : c0 + wide] = 0
        pixels = found[image].reshape(height * width, channels)
        places = np.zeros((pool_size + 1, 4), np.int64)
        weights = np.zeros((pool_size + 1, 4), np.float32)
        for box in range(count):
            y, at, step_y, step_x = _walk(boxes[image, box], side, np.float32(pool_size))
            for step in range(pool_size + 1):
                inside, h, w, h1, w1, dy, dx = corners(y, at, height, width)
                y, at = y + step_y, at + step_x
                scale = one if inside else np.float32(0)
                places[step, 0], places[step, 1] = h * width + w, h * width + w1
                places[step, 2], places[step, 3] = h1 * width + w, h1 * width + w1
                weights[step, 0] = scale * (one - dy) * (one - dx)
                weights[step, 1] = scale * (one - dy) * dx
                weights[step, 2] = scale * dy * (one - dx)
                weights[step, 3] = scale * dy * dx
            g, which = grad[image, box, side], argmax[image, box, side]
            for c in range(wide):
                for corner in range(4):
                    weight = weights[which[c], corner]
                    pixels[places[which[c], corner], c0 + c] += g[c] * weight


def _forward(p: Any) -> Made:
    shape = (*p.boxes.shape[:2], 4, p.x.shape[3] // 4)
    out, argmax = np.zeros(shape, np.float32), np.zeros(shape, np.int32)

    def run() -> tuple[Array, ...]:
        _greatest(p.x, p.boxes, out, argmax, p.pool_size)
        return out, argmax

    return run, as_they_are


def _backward(p: Any) -> Made:
    n, _, _, channels = p.grad.shape
    found = np.zeros((n, p.height, p.width, 4 * channels), np.float32)

    def run() -> tuple[Array, ...]:
        _spread(p.grad, p.boxes, p.argmax, found, p.pool_size)
        return (found,)

    return run, as_they_are


PEERS = {
    "border_align_forward": [Peer("loops over boxes", _forward, 1e-3)],
    "border_align_backward": [Peer("loops over the borders of images", _backward, 1e-3)],
}

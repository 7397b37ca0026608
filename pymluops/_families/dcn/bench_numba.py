# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution in loops that numba compiles, and NumPy's matrix product."""

from typing import Any

import numba
import numpy as np
from numba import prange

from pymluops._families._numba_peers import inline, parallel
from pymluops._tensor import Array
from pymluops.bench._peers import Made, Peer, as_they_are


@inline
def _place(offset, pixel, tap, groups, g, y, x, stride):
    """Return where a tap of a pixel is."""
    at = (g * 9 + tap) * 2
    move_y, move_x = offset[pixel, at], offset[pixel, at + 1]
    return np.float32(y * stride + tap // 3 - 1) + move_y, np.float32(
        x * stride + tap % 3 - 1
    ) + move_x


@parallel
def _columns(x, offset, mask, modulated, out, wide, stride, groups):
    """Rows of the result are shared by threads."""
    height, width, channels = x.shape
    part, one = channels // groups, np.float32(1)
    for row in prange(len(offset) // wide):
        for column in range(wide):
            pixel = row * wide + column
            for tap in range(9):
                for g in range(groups):
                    y, at = _place(offset, pixel, tap, groups, g, row, column, stride)
                    to = out[pixel, tap, g * part : (g + 1) * part]
                    to[:] = 0
                    if y <= -1 or y >= height or at <= -1 or at >= width:
                        continue
                    top, left = int(np.floor(y)), int(np.floor(at))
                    dy, dx = np.float32(y - top), np.float32(at - left)
                    scale = mask[pixel, g * 9 + tap] if modulated else one
                    for corner in range(4):
                        h, w = top + corner // 2, left + corner % 2
                        if h < 0 or h >= height or w < 0 or w >= width:
                            continue
                        weight = scale * (dy if corner // 2 else one - dy)
                        weight *= dx if corner % 2 else one - dx
                        source = x[h, w, g * part : (g + 1) * part]
                        for c in range(part):
                            to[c] += weight * source[c]


@parallel
def _back(x, offset, mask, modulated, of_columns, found, parts, wide, stride, groups):
    """Places overlap, channels do not: each thread has a block of channels of each group."""
    height, width, channels = x.shape
    part, one, blocks = channels // groups, np.float32(1), len(parts)
    for block in prange(blocks):
        begin, end = part * block // blocks, part * (block + 1) // blocks
        for g in range(groups):
            c0, c1 = g * part + begin, g * part + end
            found[:, :, c0:c1] = 0
            for pixel in range(len(offset)):
                for tap in range(9):
                    row, column = pixel // wide, pixel % wide
                    y, at = _place(offset, pixel, tap, groups, g, row, column, stride)
                    sums = parts[block, pixel, g * 9 + tap]
                    sums[:] = 0
                    if y <= -1 or y >= height or at <= -1 or at >= width:
                        continue
                    top, left = int(np.floor(y)), int(np.floor(at))
                    dy, dx = np.float32(y - top), np.float32(at - left)
                    scale = mask[pixel, g * 9 + tap] if modulated else one
                    grad = of_columns[pixel, tap, c0:c1]
                    for corner in range(4):
                        h, w = top + corner // 2, left + corner % 2
                        if h < 0 or h >= height or w < 0 or w >= width:
                            continue
                        of_y = dy if corner // 2 else one - dy
                        of_x = dx if corner % 2 else one - dx
                        source, to, total = x[h, w, c0:c1], found[h, w, c0:c1], np.float32(0)
                        weight = scale * of_y * of_x
                        for c in range(c1 - c0):
                            to[c] += weight * grad[c]
                            total += source[c] * grad[c]
                        sums[0] += total * scale * of_x * (one if corner // 2 else -one)
                        sums[1] += total * scale * of_y * (one if corner % 2 else -one)
                        sums[2] += total * of_y * of_x


class _Parts:
    """What all directions need."""

    def __init__(self, p: Any) -> None:
        self.images = range(len(p.x))
        n, self.high, self.wide, moves = p.offset.shape
        self.pixels, self.groups = self.high * self.wide, p.deformable_groups
        self.p = p
        self.offset = p.offset.reshape(n, self.pixels, moves)
        self.modulated = p.mask is not None
        none = np.zeros((n, 1, 1), np.float32)
        self.mask = p.mask.reshape(n, self.pixels, moves // 2) if self.modulated else none
        self.columns = np.zeros((self.pixels, 9, p.channels), np.float32)

    def of_image(self, image: int) -> Array:
        p = self.p
        given = p.x[image], self.offset[image], self.mask[image], self.modulated
        _columns(*given, self.columns, self.wide, p.stride, self.groups)
        return self.columns.reshape(self.pixels, -1)


def _forward(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    parts, weights = _Parts(p), p.weights.reshape(p.channels, -1)
    out = np.zeros((len(p.x), parts.pixels, p.channels), np.float32)

    def run() -> tuple[Array, ...]:
        for image in parts.images:
            np.matmul(parts.of_image(image), weights.T, out=out[image])
        return (out.reshape(len(p.x), parts.high, parts.wide, -1),)

    return run, as_they_are


def _backward_weight(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    parts = _Parts(p)
    grad = p.grad.reshape(len(p.x), parts.pixels, p.channels)

    def run() -> tuple[Array, ...]:
        found = sum(grad[image].T @ parts.of_image(image) for image in parts.images)
        return (np.asarray(found).reshape(p.channels, 3, 3, -1),)

    return run, as_they_are


def _backward_data(p: Any) -> Made | None:
    if p.groups != 1:
        return None
    parts, weights = _Parts(p), p.weights.reshape(p.channels, -1)
    grad = p.grad.reshape(len(p.x), parts.pixels, p.channels)
    found, taps = np.zeros_like(p.x), 9 * parts.groups
    blocks = min(numba.get_num_threads(), p.channels // parts.groups)
    sums = np.zeros((blocks, parts.pixels, taps, 3), np.float32)
    all_sums = np.zeros((len(p.x), parts.pixels, taps, 3), np.float32)

    def run() -> tuple[Array, ...]:
        for image in parts.images:
            np.matmul(grad[image], weights, out=parts.columns.reshape(parts.pixels, -1))
            given = p.x[image], parts.offset[image], parts.mask[image], parts.modulated
            sizes = parts.wide, p.stride, parts.groups
            _back(*given, parts.columns, found[image], sums, *sizes)
            sums.sum(0, out=all_sums[image])
        of_offset = np.ascontiguousarray(all_sums[..., :2]).reshape(p.offset.shape)
        if not parts.modulated:
            return found, of_offset
        return found, of_offset, np.ascontiguousarray(all_sums[..., 2]).reshape(p.mask.shape)

    return run, as_they_are


PEERS = {
    "deform_conv_forward": [Peer("columns by loops, matrix product", _forward, 1e-3)],
    "deform_conv_backward_data": [Peer("matrix product, then loops", _backward_data, 1e-2)],
    "deform_conv_backward_weight": [
        Peer("columns by loops, matrix product", _backward_weight, 1e-3)
    ],
}

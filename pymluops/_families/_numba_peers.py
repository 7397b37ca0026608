# SPDX-License-Identifier: Apache-2.0
"""What several families' numba peers share: bilinear samples, pooled regions."""

from typing import Any

import numba
import numpy as np
from numba import prange

from pymluops._tensor import Array
from pymluops.bench._peers import Made, as_they_are

_FAST = {"reassoc", "contract", "nsz", "arcp"}

#: Compiles a function whose outer loop is shared by threads; kept between runs.
parallel = numba.njit(parallel=True, fastmath=_FAST, error_model="numpy", cache=True)
#: Compiles a function that those call.
inline = numba.njit(fastmath=_FAST, error_model="numpy", inline="always")


@inline
def corners(y, x, height, width):
    """Return the pixels around a point, and how far it is from the first; outside: no weight."""
    inside = y >= -1 and y <= height and x >= -1 and x <= width
    y = min(max(y, np.float32(0)), np.float32(height - 1))
    x = min(max(x, np.float32(0)), np.float32(width - 1))
    top, left = int(y), int(x)
    below, right = min(top + 1, height - 1), min(left + 1, width - 1)
    return inside, top, left, below, right, np.float32(y - top), np.float32(x - left)


@inline
def frame(roi, scale, bins, ratio):
    """Return where a region begins, its extent, and its grid of samples in a bin."""
    half = np.float32(0.5)
    x, y = roi[1] * scale - half, roi[2] * scale - half
    wide, high = roi[3] * scale - half - x, roi[4] * scale - half - y
    rows = ratio if ratio > 0 else int(np.ceil(high / bins))
    columns = ratio if ratio > 0 else int(np.ceil(wide / bins))
    return x, y, wide, high, rows, columns


@parallel
def pool(x, rois, offset, moved, out, scale, ratio, gamma):
    _, height, width, channels = x.shape
    bins = out.shape[1]
    one, half = np.float32(1), np.float32(0.5)
    for r in prange(len(rois)):
        image = x[int(rois[r, 0])]
        left, top, wide, high, rows, columns = frame(rois[r], scale, np.float32(bins), ratio)
        step_y, step_x = high / np.float32(bins), wide / np.float32(bins)
        part = one / np.float32(max(rows * columns, 1))
        for i in range(bins):
            for j in range(bins):
                to = out[r, i, j]
                to[:] = 0
                y0, x0 = top + i * step_y, left + j * step_x
                if moved:
                    x0 += gamma * wide * offset[r, 0, i, j]
                    y0 += gamma * high * offset[r, 1, i, j]
                for a in range(rows):
                    y = y0 + (np.float32(a) + half) * step_y / np.float32(rows)
                    for b in range(columns):
                        at = x0 + (np.float32(b) + half) * step_x / np.float32(columns)
                        inside, h, w, h1, w1, dy, dx = corners(y, at, height, width)
                        if not inside:
                            continue
                        p00, p01, p10, p11 = image[h, w], image[h, w1], image[h1, w], image[h1, w1]
                        k00, k01 = part * (one - dy) * (one - dx), part * (one - dy) * dx
                        k10, k11 = part * dy * (one - dx), part * dy * dx
                        for c in range(channels):
                            to[c] += k00 * p00[c] + k01 * p01[c] + k10 * p10[c] + k11 * p11[c]


@parallel
def unpool(grad, x, rois, offset, moved, found, parts, scale, ratio, gamma):
    """Regions overlap, channels do not: each thread has a block of channels."""
    _, height, width, channels = found.shape
    bins = grad.shape[1]
    blocks = len(parts)
    one, half = np.float32(1), np.float32(0.5)
    for block in prange(blocks):
        c0, c1 = channels * block // blocks, channels * (block + 1) // blocks
        found[:, :, :, c0:c1] = 0
        for r in range(len(rois)):
            image = int(rois[r, 0])
            left, top, wide, high, rows, columns = frame(rois[r], scale, np.float32(bins), ratio)
            step_y, step_x = high / np.float32(bins), wide / np.float32(bins)
            part = one / np.float32(max(rows * columns, 1))
            for i in range(bins):
                for j in range(bins):
                    g = grad[r, i, j, c0:c1]
                    y0, x0 = top + i * step_y, left + j * step_x
                    if moved:
                        x0 += gamma * wide * offset[r, 0, i, j]
                        y0 += gamma * high * offset[r, 1, i, j]
                    sum_y = sum_x = np.float32(0)
                    for a in range(rows):
                        y = y0 + (np.float32(a) + half) * step_y / np.float32(rows)
                        for b in range(columns):
                            at = x0 + (np.float32(b) + half) * step_x / np.float32(columns)
                            inside, h, w, h1, w1, dy, dx = corners(y, at, height, width)
                            if not inside:
                                continue
                            k00, k01 = part * (one - dy) * (one - dx), part * (one - dy) * dx
                            k10, k11 = part * dy * (one - dx), part * dy * dx
                            to = found[image]
                            t00, t01 = to[h, w, c0:c1], to[h, w1, c0:c1]
                            t10, t11 = to[h1, w, c0:c1], to[h1, w1, c0:c1]
                            for c in range(c1 - c0):
                                t00[c] += k00 * g[c]
                                t01[c] += k01 * g[c]
                                t10[c] += k10 * g[c]
                                t11[c] += k11 * g[c]
                            if moved:
                                of = x[image]
                                p00, p01 = of[h, w, c0:c1], of[h, w1, c0:c1]
                                p10, p11 = of[h1, w, c0:c1], of[h1, w1, c0:c1]
                                down = across = np.float32(0)
                                for c in range(c1 - c0):
                                    low, high_ = p01[c] - p00[c], p11[c] - p10[c]
                                    across += g[c] * (low + dy * (high_ - low))
                                    low, high_ = p10[c] - p00[c], p11[c] - p01[c]
                                    down += g[c] * (low + dx * (high_ - low))
                                sum_x += across
                                sum_y += down
                    parts[block, r, 0, i, j] = sum_x * part * gamma * wide
                    parts[block, r, 1, i, j] = sum_y * part * gamma * high


def pooled_regions(p: Any, offset: Array | None) -> Made:
    """Return the call of `pool`."""
    out = np.zeros((len(p.rois), p.pooled, p.pooled, p.x.shape[3]), np.float32)
    given = np.zeros((1, 2, 1, 1), np.float32) if offset is None else offset
    moved, scale = offset is not None, np.float32(p.scale)
    gamma = np.float32(getattr(p, "gamma", 0))

    def run() -> tuple[Array, ...]:
        pool(p.x, p.rois, given, moved, out, scale, p.ratio, gamma)
        return (out,)

    return run, as_they_are


def gradient_of_regions(p: Any, x: Array, offset: Array | None) -> Made:
    """Return the call of `unpool`; `x` has the shape of the map."""
    found = np.zeros(x.shape, np.float32)
    given = np.zeros((1, 2, 1, 1), np.float32) if offset is None else offset
    moved, scale = offset is not None, np.float32(p.scale)
    gamma = np.float32(getattr(p, "gamma", 0))
    blocks = min(numba.get_num_threads(), x.shape[3])
    parts = np.zeros((blocks, len(p.rois), 2, p.pooled, p.pooled), np.float32)

    def run() -> tuple[Array, ...]:
        unpool(p.grad, x, p.rois, given, moved, found, parts, scale, p.ratio, gamma)
        return (found, parts.sum(0)) if moved else (found,)

    return run, as_they_are

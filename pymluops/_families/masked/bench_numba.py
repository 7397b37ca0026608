# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im in loops that numba compiles."""

from typing import Any

import numpy as np
from numba import prange

from pymluops._families._numba_peers import parallel
from pymluops._tensor import Array
from pymluops.bench._peers import Made, Peer, as_they_are


@parallel
def _take(image, rows, columns, out, kernel):
    channels, height, width = image.shape
    pad = kernel // 2
    for c in prange(channels):
        plane = image[c]
        for i in range(kernel):
            for j in range(kernel):
                to = out[(c * kernel + i) * kernel + j]
                for at in range(len(rows)):
                    y, x = rows[at] + i - pad, columns[at] + j - pad
                    inside = y >= 0 and y < height and x >= 0 and x < width
                    to[at] = plane[y, x] if inside else np.float32(0)


@parallel
def _put(col, rows, columns, out):
    for c in prange(len(col)):
        plane, values = out[c], col[c]
        plane[:, :] = 0
        for at in range(len(rows)):
            plane[rows[at], columns[at]] = values[at]


def _im2col(p: Any) -> Made:
    out = np.zeros((p.feature.shape[1] * p.kernel**2, len(p.rows)), np.float32)

    def run() -> tuple[Array, ...]:
        _take(p.feature[0], p.rows, p.columns, out, p.kernel)
        return (out,)

    return run, as_they_are


def _col2im(p: Any) -> Made:
    out = np.zeros((1, len(p.col), p.height, p.width), np.float32)

    def run() -> tuple[Array, ...]:
        _put(p.col, p.rows, p.columns, out[0])
        return (out,)

    return run, as_they_are


PEERS = {
    "masked_im2col_forward": [Peer("loops over channels", _im2col, 0)],
    "masked_col2im_forward": [Peer("loops over channels", _col2im, 0)],
}

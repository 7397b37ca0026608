# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im, from their definitions. Moves bits: NaN payloads stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]


def masked_im2col_forward(
    feature: npt.ArrayLike,
    mask_h_idx: npt.ArrayLike,
    mask_w_idx: npt.ArrayLike,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
) -> _Array:
    """The kernel_h x kernel_w windows of a [1, C, H, W] feature at M positions.

    Returns [C * kernel_h * kernel_w, M]; what lies outside the feature is 0.
    """
    feature = np.ascontiguousarray(feature)
    _, channels, height, width = feature.shape
    plane = feature[0].view(f"u{feature.itemsize}")
    h_idx, w_idx = np.asarray(mask_h_idx, np.int64), np.asarray(mask_w_idx, np.int64)
    col = np.zeros((channels, kernel_h, kernel_w, len(h_idx)), plane.dtype)
    for i in range(kernel_h):
        h = h_idx - pad_h + i
        for j in range(kernel_w):
            w = w_idx - pad_w + j
            inside = (h >= 0) & (h < height) & (w >= 0) & (w < width)
            col[:, i, j, inside] = plane[:, h[inside], w[inside]]
    return col.reshape(channels * kernel_h * kernel_w, len(h_idx)).view(feature.dtype)


def masked_col2im_forward(
    col: npt.ArrayLike,
    mask_h_idx: npt.ArrayLike,
    mask_w_idx: npt.ArrayLike,
    height: int,
    width: int,
) -> _Array:
    """Put the columns of a [C, M] col at M positions of a [1, C, height, width] map.

    Everywhere else the map is 0. A position named twice takes the later column.
    """
    col = np.ascontiguousarray(col)
    bits = col.view(f"u{col.itemsize}")
    im = np.zeros((1, len(col), height, width), bits.dtype)
    for m, (h, w) in enumerate(zip(np.asarray(mask_h_idx), np.asarray(mask_w_idx), strict=True)):
        if not (0 <= h < height and 0 <= w < width):
            raise ValueError(f"position {m} is ({h}, {w}), outside a {height} x {width} map")
        im[0, :, h, w] = bits[:, m]
    return im.view(col.dtype)

# SPDX-License-Identifier: Apache-2.0
"""Masked col2im, written from its definition. Moves bits: NaN payloads arrive as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]


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

# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im, from their definitions. Moves bits: NaN payloads stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import floats, pair, takes_one_image
from pymluops._families.masked.positions import Positions, as_mask, check_mask, rows_and_columns
from pymluops._scalars import c_int

_Array = npt.NDArray[Any]


@takes_one_image("feature", results=())
def masked_im2col_forward(
    feature: npt.ArrayLike,
    mask_h_idx: Positions,
    mask_w_idx: npt.ArrayLike | None = None,
    kernel_h: int | None = None,
    kernel_w: int | None = None,
    pad_h: int = 0,
    pad_w: int = 0,
    kernel_size: Any = None,
    padding: Any = None,
) -> _Array:
    """Copy the window at each chosen position into a column: [C*kernel_h*kernel_w, M].

    What lies outside the feature is 0.
    """
    name = "masked_im2col_forward"
    kernel = pair(
        name, ("kernel_size", kernel_size), ("kernel_h", kernel_h), ("kernel_w", kernel_w)
    )
    pad = pair(name, ("padding", padding), ("pad_h", pad_h), ("pad_w", pad_w), default=0)
    feature = floats(feature)
    mask = as_mask(name, mask_h_idx, mask_w_idx)
    if mask is not None and mask.ndim == 3:
        check_mask(name, mask, (len(feature), *feature.shape[2:]))
        parts = [
            _windows(f, np.nonzero(m), kernel, pad) for f, m in zip(feature, mask, strict=True)
        ]
        return np.concatenate(parts, axis=1)
    positions = rows_and_columns(name, mask, mask_h_idx, mask_w_idx)
    return _windows(feature[0], positions, kernel, pad)


def _windows(
    image: _Array, positions: tuple[Any, ...], kernel: tuple[int, int], pad: tuple[int, int]
) -> _Array:
    channels, height, width = image.shape
    h_idx, w_idx = (np.asarray(index, np.int64) for index in positions)
    col = np.zeros((channels, *kernel, len(h_idx)), image.dtype)
    for i in range(kernel[0]):
        h = h_idx - pad[0] + i
        for j in range(kernel[1]):
            w = w_idx - pad[1] + j
            inside = (h >= 0) & (h < height) & (w >= 0) & (w < width)
            col[:, i, j, inside] = image[:, h[inside], w[inside]]
    return col.reshape(channels * kernel[0] * kernel[1], len(h_idx))


def masked_col2im_forward(
    col: npt.ArrayLike,
    mask_h_idx: Positions,
    mask_w_idx: npt.ArrayLike | None = None,
    height: int | None = None,
    width: int | None = None,
) -> _Array:
    """Put each column at its position of a map of zeros: [1, C, height, width].

    A position named twice takes the later column.
    """
    name = "masked_col2im_forward"
    col = floats(col)
    mask = as_mask(name, mask_h_idx, mask_w_idx)
    if mask is not None and height is None and width is None:
        height, width = mask.shape[-2:]
    height, width = c_int(name, "height", height), c_int(name, "width", width)
    if mask is not None:
        check_mask(name, mask, (*mask.shape[:-2], height, width))
        where = np.nonzero(mask[None] if mask.ndim == 2 else mask)
    else:
        rows, columns = map(np.asarray, rows_and_columns(name, mask, mask_h_idx, mask_w_idx))
        where = np.zeros(len(rows), np.int64), rows, columns
    images = 1 if mask is None or mask.ndim == 2 else len(mask)
    im = np.zeros((images, len(col), height, width), col.dtype)
    for m, (n, h, w) in enumerate(zip(*where, strict=True)):
        if not (0 <= h < height and 0 <= w < width):
            raise ValueError(f"position {m} is ({h}, {w}), outside a {height} x {width} map")
        im[n, :, h, w] = col[:, m]
    return im

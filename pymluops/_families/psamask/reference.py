# SPDX-License-Identifier: Apache-2.0
"""PSAMask, written from its definition. Moves bits: NaN payloads arrive as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]


def _targets(pixel: int, extent: int, mask: int) -> tuple[slice, slice]:
    """Along one axis: the mask positions of a pixel that hit the map, and what they hit."""
    first = pixel - (mask - 1) // 2
    hit = [u for u in range(mask) if 0 <= first + u < extent]
    if not hit:
        return slice(0, 0), slice(0, 0)
    return slice(hit[0], hit[-1] + 1), slice(first + hit[0], first + hit[-1] + 1)


def _move(
    masks: _Array, spread: _Array, psa_type: int, h_mask: int, w_mask: int, forward: bool
) -> None:
    """Between [N, H, W, h_mask * w_mask] and [N, H, W, H * W], one pixel's mask at a time."""
    n, height, width, _ = masks.shape
    windows = masks.reshape(n, height, width, h_mask, w_mask)
    maps = spread.reshape(n, height, width, height, width)
    for h in range(height):
        rows, to_rows = _targets(h, height, h_mask)
        for w in range(width):
            cols, to_cols = _targets(w, width, w_mask)
            window = windows[:, h, w, rows, cols]
            if psa_type == 0:
                target = maps[:, h, w, to_rows, to_cols]
            else:
                target = maps[:, to_rows, to_cols, h, w]
            if forward:
                target[...] = window
            else:
                window[...] = target


def psamask_forward(x: npt.ArrayLike, psa_type: int, h_mask: int, w_mask: int) -> _Array:
    """Spread each pixel's mask over the map: y of shape [N, H, W, H * W].

    Position (u, v) of the mask of pixel (h, w) belongs to the map position
    (u + h - (h_mask - 1) // 2, v + w - (w_mask - 1) // 2). `psa_type` 0 (collect) gathers a
    pixel's mask in the row of that pixel, 1 (distribute) in that of the map position.
    """
    x = np.ascontiguousarray(x)
    n, height, width, _ = x.shape
    y = np.zeros((n, height, width, height * width), np.uint32)
    _move(x.view(np.uint32), y, psa_type, h_mask, w_mask, forward=True)
    return y.view(x.dtype)


def psamask_backward(dy: npt.ArrayLike, psa_type: int, h_mask: int, w_mask: int) -> _Array:
    """The gradient of psamask_forward: dx of shape [N, H, W, h_mask * w_mask]."""
    dy = np.ascontiguousarray(dy)
    n, height, width, _ = dy.shape
    dx = np.zeros((n, height, width, h_mask * w_mask), np.uint32)
    _move(dx, dy.view(np.uint32), psa_type, h_mask, w_mask, forward=False)
    return dx.view(dy.dtype)

# SPDX-License-Identifier: Apache-2.0
"""PSAMask, written from its definition. Moves bits: NaN payloads arrive as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import floats, pair, takes_one_image
from pymluops.errors import bad_value

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


_TYPES = {"collect": 0, "distribute": 1}


def _settings(
    psa_type: int | str, h_mask: int | None, w_mask: int | None, mask_size: Any
) -> tuple[int, int, int]:
    kind = _TYPES.get(psa_type) if isinstance(psa_type, str) else psa_type
    if kind not in (0, 1):
        problem = f'{psa_type!r} given, expected "collect" (0) or "distribute" (1)'
        raise bad_value("psamask", "psa_type", problem)
    sizes = pair("psamask", ("mask_size", mask_size), ("h_mask", h_mask), ("w_mask", w_mask))
    return (int(kind), *sizes)


@takes_one_image("x")
def psamask_forward(
    x: npt.ArrayLike,
    psa_type: int | str,
    h_mask: int | None = None,
    w_mask: int | None = None,
    mask_size: Any = None,
) -> _Array:
    """Spread the mask of each pixel over the map that it attends to: [N, H, W, H*W].

    Position (u, v) of the mask of pixel (h, w) belongs to the map position
    (u + h - (h_mask - 1) // 2, v + w - (w_mask - 1) // 2). "collect" (0) gathers a pixel's mask in
    the row of that pixel, "distribute" (1) in that of the map position.
    """
    x = floats(x)
    n, height, width, _ = x.shape
    y = np.zeros((n, height, width, height * width), x.dtype)
    _move(x, y, *_settings(psa_type, h_mask, w_mask, mask_size), forward=True)
    return y


@takes_one_image("dy")
def psamask_backward(
    dy: npt.ArrayLike,
    psa_type: int | str,
    h_mask: int | None = None,
    w_mask: int | None = None,
    mask_size: Any = None,
) -> _Array:
    """Gather the gradient of `psamask_forward`: [N, H, W, h_mask*w_mask]."""
    dy = floats(dy)
    n, height, width, _ = dy.shape
    settings = _settings(psa_type, h_mask, w_mask, mask_size)
    dx = np.zeros((n, height, width, settings[1] * settings[2]), dy.dtype)
    _move(dx, dy, *settings, forward=False)
    return dx

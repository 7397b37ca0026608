# SPDX-License-Identifier: Apache-2.0
"""The ways to say which positions of a map are meant: two index arrays, or one mask."""

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from pymluops._tensor import Array, ArrayLike, refuse_masked
from pymluops.errors import bad_type, bad_value

#: Of maps with at most so many pixels, their rows and columns are kept.
KEPT_PIXELS = 1 << 16

# The rows of the positions; or rows and columns as np.nonzero returns them; or a boolean mask.
Positions: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike]


def as_mask(function: str, mask_h_idx: Any, mask_w_idx: Any) -> Array | None:
    """Return the boolean mask, [H, W] or [N, H, W], if that is what was given."""
    if mask_w_idx is not None or isinstance(mask_h_idx, tuple):
        return None
    refuse_masked(function, "mask_h_idx", mask_h_idx)
    try:
        mask = np.asarray(mask_h_idx)
    except Exception as error:  # rows of different lengths, or what another library raises
        problem = f"{type(mask_h_idx).__name__} given that is no array"
        raise bad_type(function, "mask_h_idx", problem) from error
    if mask.dtype != bool:
        problem = "None given, expected an array; only a boolean mask comes alone, as mask_h_idx"
        raise bad_type(function, "mask_w_idx", problem)
    if mask.ndim not in (2, 3):
        problem = f"mask of shape {mask.shape} given, expected [H, W], or [N, H, W] for a batch"
        raise bad_value(function, "mask_h_idx", problem)
    if mask.ndim == 3 and len(mask) == 0:
        raise bad_value(function, "mask_h_idx", "mask of no image given")
    return mask


def rows_and_columns(
    function: str, mask: Array | None, mask_h_idx: Any, mask_w_idx: Any
) -> tuple[Any, Any]:
    """Return the two index arrays."""
    if mask is not None:
        rows, columns = chosen_positions(mask)
        return rows, columns
    if mask_w_idx is not None:
        return mask_h_idx, mask_w_idx
    if len(mask_h_idx) != 2:
        problem = f"tuple of {len(mask_h_idx)} given, expected two arrays: rows and columns"
        raise bad_value(function, "mask_h_idx", problem)
    return mask_h_idx[0], mask_h_idx[1]


def check_mask(function: str, mask: Array, expected: tuple[int, ...]) -> None:
    """Refuse a mask that is not of the size of its maps: C sees only what it selects."""
    if mask.shape != expected:
        problem = f"mask of shape {mask.shape} given, expected {expected} as the map"
        raise bad_value(function, "mask_h_idx", problem)


def chosen_positions(mask: Array) -> Array:
    """Return rows and columns of the pixels that a boolean mask [H, W] chooses, [2, count] int32.

    They are those of np.nonzero, which takes up to six times as long with two dims.
    """
    pixels = _pixels if mask.size <= KEPT_PIXELS else _pixels.__wrapped__
    return pixels(*mask.shape).compress(mask.ravel(), axis=1)


@lru_cache(maxsize=16)
def _pixels(height: int, width: int) -> Array:
    """Return rows and columns of all pixels of a map, [2, height * width]."""
    return np.indices((height, width), np.int32).reshape(2, -1)

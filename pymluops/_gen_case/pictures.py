# SPDX-License-Identifier: Apache-2.0
"""Pictures of cases, and regions for new ones: what several families share."""

import math

import numpy as np

from pymluops._tensor import Array
from pymluops.demo._canvas import heat
from pymluops.demo._run import Mark, Picture

_HIGH, _WIDE, _MOST = 192, 256, 60  # pixels, and marks in a picture


def random_boxes(rng: np.random.Generator, count: int, height: float, width: float) -> Array:
    """Return boxes x1, y1, x2, y2 on a map, to two digits."""
    size = np.array((width, height))
    low = rng.uniform(0, 0.7, (count, 2)) * size
    high = np.minimum(low + rng.uniform(0.05, 0.6, (count, 2)) * size, size - 1e-2)
    return np.round(np.concatenate((low, np.maximum(low, high)), 1), 2)


def _shrunk(plane: Array) -> tuple[Array, int]:
    """Return a plane that fits into a picture, and what it has been divided by."""
    step = max(1, math.ceil(plane.shape[0] / _HIGH), math.ceil(plane.shape[1] / _WIDE))
    return plane[::step, ::step], step


def boxes_over(image: Array, boxes: Array, caption: str, sign: str = "") -> Picture:
    """Draw boxes x1, y1, x2, y2 over a map [H, W, C]: the first ones, where they are on it."""
    height, width = image.shape[:2]
    plane, step = _shrunk(np.abs(image.astype(np.float64)).sum(-1))
    marks = []
    for box in boxes[:_MOST].astype(np.float64):
        if not np.isfinite(box).all():
            continue
        x1, y1, x2, y2 = np.clip(box, 0, (width, height, width, height)) / step
        if x2 > x1 and y2 > y1:
            marks.append(Mark(y1, x1, y2 - y1, x2 - x1))
    shown = f"{caption}: {len(boxes)}" if len(boxes) <= _MOST else f"{caption}: {_MOST} of them"
    return Picture(heat(np.nan_to_num(plane)), shown, sign, marks)


def positions_on(shape: tuple[int, ...], rows: Array, columns: Array, caption: str) -> Picture:
    """Draw the chosen pixels of a map."""
    plane = np.zeros(shape)
    inside = (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    plane[rows[inside], columns[inside]] = 1
    count = f"{len(rows)} positions on {shape[0]} x {shape[1]}"
    return Picture(heat(_shrunk(plane)[0]), f"{caption}: {count}")


def channels(image: Array, shape: tuple[int, int], caption: str, sign: str = "") -> Picture:
    """Draw the channels of the pixel in the middle of [N, H, W, C], as a plane of their own."""
    middle = image[0, image.shape[1] // 2, image.shape[2] // 2].reshape(shape)
    return Picture(heat(np.nan_to_num(np.abs(_shrunk(middle)[0]))), caption, sign)

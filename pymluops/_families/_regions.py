# SPDX-License-Identifier: Apache-2.0
"""Regions of interest as a detector finds them, for the benchmarks of pooling operators."""

import math

import numpy as np

from pymluops._tensor import Array


def regions(
    rng: np.random.Generator,
    count: int,
    of_map: tuple[int, int, int, int],
    side: tuple[float, float],
    scale: float,
) -> Array:
    """Return regions sorted by image, of log-uniform area and aspect ratio.

    They are inside the map if they fit. `side` is the range of their sizes in pixels of the map.
    """
    images, height, width, _ = of_map
    low, high = side
    sides = np.exp(rng.uniform(math.log(low), math.log(min(high, max(low, height / 2))), count))
    aspect = np.exp(rng.uniform(math.log(0.5), math.log(2.0), count))
    w, h = sides * np.sqrt(aspect), sides / np.sqrt(aspect)
    x = 2 + 0.2 * w + rng.random(count) * np.maximum(width - 4 - 1.4 * w, 0)
    y = 2 + 0.2 * h + rng.random(count) * np.maximum(height - 4 - 1.4 * h, 0)
    image = np.sort(rng.integers(0, images, count))
    corners = np.stack([x, y, x + w, y + h], 1) / scale
    return np.concatenate([image[:, None], corners], 1)

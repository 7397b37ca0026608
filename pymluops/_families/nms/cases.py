# SPDX-License-Identifier: Apache-2.0
"""Calls of nms: a small one of each function, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial

SMALL = (
    SmallCall(
        "nms",
        "mluOpNms",
        "movement",
        {
            "boxes": np.array([[0, 0, 8, 8], [0, 0, 8, 7], [20, 0, 30, 8]], np.float32),
            "scores": np.array([0.5, 0.75, 0.25], np.float32),
        },
        {"iou_threshold": 0.5},
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: many boxes that meet, scores that are equal."""
    low = rng.uniform(0, 400, (700, 2))
    boxes = np.concatenate((low, low + rng.uniform(4, 90, (700, 2))), 1).astype(dtype)
    scores = (rng.integers(0, 400, 700) / 400).astype(dtype)
    for threshold in (0.1, 0.5):
        numbers: dict[str, Any] = {"iou_threshold": threshold, "score_threshold": 0.1}
        yield Trial("nms", (boxes, scores), numbers, f"hard {threshold}")
    numbers = {"iou_threshold": 0.3, "score_threshold": 0.2, "method": "linear"}
    yield Trial("nms", (boxes, scores), numbers, "linear")

# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits. test_nms_large.py has those of large tensors."""

import numpy as np
from declared import Example


def large(rng):
    return ()


def work(rng):
    """Boxes that are all kept although all meet, for which no pair can be left out."""
    low = rng.uniform(0, 400, (600, 2))
    boxes = np.concatenate((low, low + rng.uniform(4, 90, (600, 2))), 1).astype(np.float32)
    arrays = {"boxes": boxes, "scores": rng.random(600, np.float32)}
    sides = np.exp(rng.uniform(5, 9, (600, 2)))
    meeting = {"boxes": np.concatenate((-sides, sides), 1)}
    yield Example("nms", arrays, {"iou_threshold": 0.99}), meeting, 700
    for method in ("linear", "gaussian"):
        numbers = {"iou_threshold": 0.5, "method": method, "score_threshold": 1e-30}
        yield Example("nms", arrays, numbers), meeting, 5000

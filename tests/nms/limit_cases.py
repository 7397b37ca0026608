# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits. test_nms_large.py has those of large tensors."""

import numpy as np
from declared import Example


def large(rng):
    return ()


def spread_and_meeting(rng, count):
    """Return ordinary arguments, and boxes that are all kept although all meet."""
    low = rng.uniform(0, 400, (count, 2))
    boxes = np.concatenate((low, low + rng.uniform(4, 90, (count, 2))), 1).astype(np.float32)
    sides = np.exp(rng.uniform(5, 9, (count, 2)))
    arrays = {"boxes": boxes, "scores": rng.random(count, np.float32)}
    return arrays, {"boxes": np.concatenate((-sides, sides), 1)}


def work(rng):
    """Boxes for which no pair can be left out; of 4,000, others lie in cells."""
    arrays, meeting = spread_and_meeting(rng, 600)
    yield Example("nms", arrays, {"iou_threshold": 0.99}), meeting, 700
    for method in ("linear", "gaussian"):
        numbers = {"iou_threshold": 0.5, "method": method, "score_threshold": 1e-30}
        yield Example("nms", arrays, numbers), meeting, 5000
    arrays, meeting = spread_and_meeting(rng, 4000)
    yield Example("nms", arrays, {"iou_threshold": 0.99}), meeting, 4000

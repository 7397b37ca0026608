# SPDX-License-Identifier: Apache-2.0
"""Scores of almost 2^31 elements: see tests/limits."""

from contextlib import closing

import large_arrays
import numpy as np
import pytest
from nms_calls import call_nms

import pymluops

BOXES, MOST = 1024, 2**31 - 1


@pytest.mark.slow
@pytest.mark.huge
def test_almost_2_31_scores():
    """Of millions of classes the last one has scores at all."""
    rng = np.random.default_rng(1)
    classes = MOST // BOXES
    low = rng.uniform(0, 100, (BOXES, 2))
    boxes = np.concatenate((low, low + rng.uniform(5, 30, (BOXES, 2))), 1).astype(np.float32)
    scores = rng.random(BOXES, np.float32)
    handle = pymluops.Handle()
    wanted, count = call_nms(handle, boxes, scores, limit=4, least=0.0)
    with closing(large_arrays.zeros_but(scores, (1, classes, BOXES))) as many:
        found = call_nms(handle, boxes[None], many.array, mode=3, limit=4, least=0.0)
    assert found[1] == count
    assert found[0][:count].tolist() == [[0, classes - 1, index] for index in wanted[:count]]

# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression in loops that numba compiles: hard."""

from typing import Any

import numpy as np
from numba import prange

from pymluops._families._numba_peers import inline, parallel
from pymluops._tensor import Array
from pymluops.bench._peers import Made, Peer, as_they_are


@inline
def _overlap(a, b):
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    both = max(wide, np.float32(0)) * max(high, np.float32(0))
    areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return both / (areas - both)


@parallel
def _greedy(boxes, scores, threshold, least, limit, kept, counts):
    """Every box beside those that are kept already, the best first; a thread has classes."""
    for k in prange(len(scores)):
        order = np.argsort(-scores[k])
        count = 0
        for at in order:
            if scores[k, at] <= least or count == limit:
                break
            alive = True
            for other in range(count):
                if _overlap(boxes[kept[k, other]], boxes[at]) > threshold:
                    alive = False
                    break
            if alive:
                kept[k, count] = at
                count += 1
        counts[k] = count


def _hard(p: Any) -> Made | None:
    if p.method != 0:
        return None
    single = p.classes == 1
    boxes, scores = (p.boxes, p.scores[None]) if single else (p.boxes[0], p.scores[0])
    kept, counts = np.zeros(scores.shape, np.int32), np.zeros(len(scores), np.int32)

    def run() -> tuple[Array, ...]:
        threshold, least = np.float32(p.threshold), np.float32(p.least)
        _greedy(boxes, scores, threshold, least, p.limit, kept, counts)
        if single:
            return (kept[0, : counts[0]],)
        rows = [
            np.stack((np.zeros(n, np.int32), np.full(n, k, np.int32), kept[k, :n]), 1)
            for k, n in enumerate(counts)
        ]
        return (np.concatenate(rows),)

    return run, as_they_are


PEERS = {"nms": [Peer("loops over the boxes that are kept", _hard, 0)]}

# SPDX-License-Identifier: Apache-2.0
"""RoIAlign in loops that numba compiles: the mean alone."""

from typing import Any

import numpy as np

from pymluops._families._numba_peers import gradient_of_regions, pooled_regions
from pymluops.bench._peers import Made, Peer


def _forward(p: Any) -> Made | None:
    return None if p.maximum else pooled_regions(p, None)


def _backward(p: Any) -> Made | None:
    return None if p.maximum else gradient_of_regions(p, np.zeros(p.map, np.float32), None)


PEERS = {
    "roi_align_forward": [Peer("loops over regions", _forward, 1e-2)],
    "roi_align_backward": [Peer("loops over blocks of channels", _backward, 1e-2)],
}

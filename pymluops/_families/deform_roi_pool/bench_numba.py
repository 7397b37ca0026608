# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling in loops that numba compiles."""

from typing import Any

from pymluops._families._numba_peers import gradient_of_regions, pooled_regions
from pymluops.bench._peers import Made, Peer


def _forward(p: Any) -> Made:
    return pooled_regions(p, p.offset)


def _backward(p: Any) -> Made:
    return gradient_of_regions(p, p.x, p.offset)


PEERS = {
    "deform_roi_pool_forward": [Peer("loops over regions", _forward, 1e-2)],
    # Where a sample is on a line of pixels, its side decides the gradient of its place.
    "deform_roi_pool_backward": [Peer("loops over blocks of channels", _backward, 3e-2)],
}

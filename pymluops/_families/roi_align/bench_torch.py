# SPDX-License-Identifier: Apache-2.0
"""RoIAlign in stock operations of PyTorch: the mean alone."""

from typing import Any

import numpy as np

from pymluops._families._torch_peers import gradients, pooled_regions, tensor
from pymluops.bench._peers import Made, Peer, tensors


def _forward(p: Any) -> Made | None:
    if p.maximum:
        return None
    x, rois = tensor(p.x), tensor(p.rois)
    return lambda: pooled_regions(x, rois, None, p), tensors


def _backward(p: Any) -> Made | None:
    if p.maximum:
        return None
    x, rois = tensor(np.zeros(p.map, np.float32)), tensor(p.rois)
    return gradients(lambda x: pooled_regions(x, rois, None, p), [x], tensor(p.grad)), tensors


PEERS = {
    "roi_align_forward": [Peer("embedding_bag, a bag for each bin", _forward, 1e-2)],
    "roi_align_backward": [Peer("autograd of embedding_bag", _backward, 1e-2)],
}

# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im in stock operations of PyTorch."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pymluops._families._torch_peers import tensor
from pymluops.bench._peers import Made, Peer, tensors

_MOST_BYTES = 600 << 20  # of what unfold makes


def _unfold(p: Any) -> Made | None:
    if p.feature.nbytes * p.kernel**2 > _MOST_BYTES:
        return None
    feature, rows, columns = tensor(p.feature), tensor(p.rows).long(), tensor(p.columns).long()

    def run() -> Tensor:
        windows = functional.unfold(feature, p.kernel, padding=p.kernel // 2)[0]
        return windows[:, rows * feature.shape[3] + columns]

    return run, tensors


def _select(p: Any) -> Made:
    feature, rows, columns = tensor(p.feature), tensor(p.rows).long(), tensor(p.columns).long()
    channels, wide = feature.shape[1], feature.shape[3] + 2 * (p.kernel // 2)
    taps = torch.arange(p.kernel)

    def run() -> Tensor:
        padded = functional.pad(feature, [p.kernel // 2] * 4).view(channels, -1)
        moves = (taps[:, None] * wide + taps).flatten()
        at = moves[:, None] + rows * wide + columns
        return padded.index_select(1, at.flatten()).view(channels * p.kernel**2, -1)

    return run, tensors


def _copy(p: Any) -> Made:
    col, rows, columns = tensor(p.col), tensor(p.rows).long(), tensor(p.columns).long()

    def run() -> Tensor:
        found = torch.zeros(len(col), p.height * p.width)
        found.index_copy_(1, rows * p.width + columns, col)
        return found.view(1, -1, p.height, p.width)

    return run, tensors


PEERS = {
    "masked_im2col_forward": [
        Peer("unfold, then the columns of the mask", _unfold, 0),
        Peer("index_select from the padded image", _select, 0),
    ],
    "masked_col2im_forward": [Peer("index_copy_ into zeros", _copy, 0)],
}

# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for BorderAlign."""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.border_align.tensors import border_align

#: What mmcv calls the family.
NAME = "BorderAlign"
REPLACED = {"border_align.border_align": border_align}
_ops = torch.ops.pymluops


def border_align_forward(
    input: Tensor, boxes: Tensor, output: Tensor, argmax_idx: Tensor, pool_size: int
) -> None:
    result, argmax = _ops.border_align(input, boxes, pool_size)
    output.copy_(result)
    argmax_idx.copy_(argmax)


def border_align_backward(
    grad_output: Tensor, boxes: Tensor, argmax_idx: Tensor, grad_input: Tensor, pool_size: int
) -> None:
    grad_input.copy_(
        _ops.border_align_backward(grad_output, grad_input, boxes, argmax_idx, pool_size)
    )

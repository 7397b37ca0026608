# SPDX-License-Identifier: Apache-2.0
"""The C function of nms on torch tensors."""

from typing import Any

import torch
from torch import Tensor

from pymluops._families.nms import reference
from pymluops._families.nms.arrays import descriptor
from pymluops.capi import ffi
from pymluops.torch._double import in_double, is_double
from pymluops.torch._native_calls import array, call

_METHODS = ("hard", "linear", "gaussian")


def select(
    boxes: Tensor, scores: Tensor, labels: Tensor | None, parameters: tuple[Any, ...]
) -> tuple[Tensor, Tensor]:
    """Call it with contiguous tensors, and return the indices, and the scores at selection."""
    if is_double(boxes):
        method, _, limit, iou_threshold, score_threshold, offset, sigma = parameters
        settings = (iou_threshold, score_threshold, offset, _METHODS[method], sigma, "corners")
        made: tuple[Tensor, Tensor] = in_double(
            reference.select, boxes, scores, labels, settings, limit
        )
        return made
    room = (min(boxes.shape[0], parameters[2]),)
    kept, at_selection = (torch.empty(room, dtype=dtype) for dtype in (torch.int32, boxes.dtype))
    size = ffi.new("int32_t *")
    tensors = (*array(boxes), *array(scores), *array(labels), *array(kept), *array(at_selection))
    call("mluOpCpuNmsByLabel", descriptor(*parameters), *tensors, size)
    return kept[: size[0]].to(torch.int64), at_selection[: size[0]].clone()

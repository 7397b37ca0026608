# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for CARAFE.

``carafe_backward`` is given what ``carafe_forward`` has left in ``rfeatures``, not the features.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch
from torch import Tensor

#: What mmcv calls the family.
NAME = "CARAFE"
_ops = torch.ops.pymluops


def carafe_forward(
    features: Tensor,
    masks: Tensor,
    rfeatures: Tensor,
    routput: Tensor,
    rmasks: Tensor,
    output: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    output.copy_(_ops.carafe(features, masks, kernel_size, group_size, scale_factor))
    rfeatures.copy_(features)


def carafe_backward(
    grad_output: Tensor,
    rfeatures: Tensor,
    masks: Tensor,
    rgrad_output: Tensor,
    rgrad_input_hs: Tensor,
    rgrad_input: Tensor,
    rgrad_masks: Tensor,
    grad_input: Tensor,
    grad_masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    carafe_naive_backward(
        grad_output,
        rfeatures,
        masks,
        grad_input,
        grad_masks,
        kernel_size,
        group_size,
        scale_factor,
    )


def carafe_naive_forward(
    features: Tensor,
    masks: Tensor,
    output: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    output.copy_(_ops.carafe(features, masks, kernel_size, group_size, scale_factor))


def carafe_naive_backward(
    grad_output: Tensor,
    features: Tensor,
    masks: Tensor,
    grad_input: Tensor,
    grad_masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> None:
    of_features, of_masks = _ops.carafe_backward(
        grad_output, features, masks, kernel_size, group_size, scale_factor
    )
    grad_input.copy_(of_features)
    grad_masks.copy_(of_masks)


def _change_mmcv() -> None:
    """Replace the one backward of mmcv that insists on CUDA before it calls a function of ours."""
    function = importlib.import_module("mmcv.ops.carafe").CARAFENaiveFunction
    theirs = function.backward
    if hasattr(theirs, "__wrapped__"):
        return

    @functools.wraps(theirs)
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        if grad_output.device.type != "cpu":
            gradients: tuple[Tensor | None, ...] = theirs(ctx, grad_output)
            return gradients
        features, masks = ctx.saved_tensors
        of_features, of_masks = torch.ops.pymluops.carafe_backward(
            grad_output, features, masks, ctx.kernel_size, ctx.group_size, ctx.scale_factor
        )
        return of_features, of_masks, None, None, None

    function.backward = staticmethod(backward)

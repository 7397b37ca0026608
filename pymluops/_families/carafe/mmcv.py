# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for CARAFE.

``carafe_backward`` is given what ``carafe_forward`` has left in ``rfeatures``, not the features.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.carafe.modules import CARAFEPack
from pymluops._families.carafe.tensors import carafe, carafe_naive

#: What mmcv calls the family.
NAME = "CARAFE"
REPLACED = {
    "carafe.carafe": carafe,
    "carafe.carafe_naive": carafe_naive,
    "carafe.CARAFEPack.forward": CARAFEPack.forward,
    "carafe.CARAFEPack.kernel_normalizer": CARAFEPack.kernel_normalizer,
}
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

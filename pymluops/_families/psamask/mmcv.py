# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for PSAMask."""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.psamask.tensors import psa_mask

#: What mmcv calls the family.
NAME = "PSAMask"
REPLACED = {"psa_mask.psa_mask": psa_mask}
_ops = torch.ops.pymluops


def _check_psa_centre(h_mask: int, w_mask: int, half_h_mask: int, half_w_mask: int) -> None:
    centre = ((h_mask - 1) // 2, (w_mask - 1) // 2)
    if (half_h_mask, half_w_mask) != centre:
        message = (
            f"psa_mask: half_h_mask, half_w_mask are {(half_h_mask, half_w_mask)}, expected "
            f"{centre} = (h_mask - 1) // 2, (w_mask - 1) // 2"
        )
        raise ValueError(message)


def psamask_forward(
    input: Tensor,
    output: Tensor,
    psa_type: int,
    num_: int,
    h_feature: int,
    w_feature: int,
    h_mask: int,
    w_mask: int,
    half_h_mask: int,
    half_w_mask: int,
) -> None:
    _check_psa_centre(h_mask, w_mask, half_h_mask, half_w_mask)
    output.copy_(_ops.psa_mask(input, psa_type, h_mask, w_mask))


def psamask_backward(
    grad_output: Tensor,
    grad_input: Tensor,
    psa_type: int,
    num_: int,
    h_feature: int,
    w_feature: int,
    h_mask: int,
    w_mask: int,
    half_h_mask: int,
    half_w_mask: int,
) -> None:
    _check_psa_centre(h_mask, w_mask, half_h_mask, half_w_mask)
    grad_input.copy_(_ops.psa_mask_backward(grad_output, psa_type, h_mask, w_mask, False))

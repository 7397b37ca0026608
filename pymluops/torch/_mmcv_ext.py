# SPDX-License-Identifier: Apache-2.0
"""The functions of mmcv's compiled module for our operators, with its names and its arguments.

They write their results into contiguous (N, C, H, W) tensors that mmcv's Python has allocated, and
leave its scratch tensors alone, but for one: ``carafe_backward`` is given what ``carafe_forward``
has left in ``rfeatures``, and not the features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pymluops.capi import ffi, lib
from pymluops.torch import _native_calls as native
from pymluops.torch._tensors import to_dense

if TYPE_CHECKING:
    from collections.abc import Callable

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


def deform_roi_pool_forward(
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    output: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    output.copy_(
        _ops.deform_roi_pool(
            input,
            rois,
            _offset_or_none(offset),
            pooled_height,
            pooled_width,
            spatial_scale,
            sampling_ratio,
            gamma,
        )
    )


def deform_roi_pool_backward(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    grad_input: Tensor,
    grad_offset: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> None:
    of_input, of_offset = _ops.deform_roi_pool_backward(
        grad_output,
        input,
        rois,
        _offset_or_none(offset),
        spatial_scale,
        sampling_ratio,
        gamma,
    )
    grad_input.copy_(of_input)
    grad_offset.copy_(of_offset)


def _offset_or_none(offset: Tensor) -> Tensor | None:
    """Return None for the empty vector by which mmcv means "no offset"."""
    return None if offset.dim() == 1 else offset


def masked_im2col_forward(
    im: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    col: Tensor,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
) -> None:
    columns = torch.empty(col.shape, dtype=torch.float32)
    native.masked_im2col(
        to_dense(im, torch.float32),
        torch.stack((mask_h_idx, mask_w_idx)).to(torch.int32),
        columns,
        (kernel_h, kernel_w),
        (pad_h, pad_w),
    )
    col.copy_(columns)


def masked_col2im_forward(
    col: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    im: Tensor,
    height: int,
    width: int,
    channels: int,
) -> None:
    image = torch.empty(im.shape, dtype=torch.float32)
    native.masked_col2im(
        to_dense(col, torch.float32),
        torch.stack((mask_h_idx, mask_w_idx)).to(torch.int32),
        image,
    )
    im.copy_(image)


def get_compiler_version() -> str:
    return str(ffi.string(lib.mluOpCpuGetBuildInfo()).decode())


def get_compiling_cuda_version() -> str:
    return "not available"


#: What computes, by the names in ``mmcv._ext``.
OPERATORS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        border_align_backward,
        border_align_forward,
        carafe_backward,
        carafe_forward,
        carafe_naive_backward,
        carafe_naive_forward,
        deform_roi_pool_backward,
        deform_roi_pool_forward,
        masked_col2im_forward,
        masked_im2col_forward,
        psamask_backward,
        psamask_forward,
    )
}
#: What ``mmcv.utils.collect_env`` asks for.
INFORMATION: dict[str, Callable[[], str]] = {
    function.__name__: function for function in (get_compiler_version, get_compiling_cuda_version)
}

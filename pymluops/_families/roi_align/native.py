# SPDX-License-Identifier: Apache-2.0
"""The C functions of RoIAlign on torch tensors."""

from torch import Tensor

from pymluops._families.roi_align import reference
from pymluops._families.roi_align.arrays import POOL_MODES, descriptor
from pymluops.torch._double import in_double, is_double, pixels
from pymluops.torch._native_calls import array, call, nhwc

# Arguments that have another name in C.
_NAMES = {"boxes": "rois"}


def forward(
    features: Tensor,
    rois: Tensor,
    results: list[Tensor],
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Call it with NHWC tensors: output, and argmax_x and argmax_y for maxima."""
    bins = results[0].shape[2], results[0].shape[3]
    if is_double(features):
        numbers = (*bins, spatial_scale, sampling_ratio, _word(pool_mode), aligned)
        made = in_double(reference.roi_align_forward, pixels(features), rois, *numbers)
        for result, values in zip(results, made if len(results) > 1 else [made], strict=True):
            pixels(result).copy_(values)
        return
    desc = descriptor(*bins, sampling_ratio, spatial_scale, pool_mode, aligned)
    places = [part for each in results[1:] for part in nhwc(each)] or [*array(None), *array(None)]
    call(
        "mluOpRoiAlignForward_v2",
        desc,
        *nhwc(features),
        *array(rois),
        *nhwc(results[0]),
        *places,
        names=_NAMES,
    )


def backward(
    grad_output: Tensor,
    rois: Tensor,
    argmax_x: Tensor | None,
    argmax_y: Tensor | None,
    grad_features: Tensor,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Call it with NHWC tensors; without argmax for means."""
    if is_double(grad_output):
        places = (
            () if argmax_x is None or argmax_y is None else (pixels(argmax_x), pixels(argmax_y))
        )
        made = in_double(
            reference.roi_align_backward,
            *(pixels(grad_output), rois, *places),
            batch=grad_features.shape[0],
            height=grad_features.shape[2],
            width=grad_features.shape[3],
            spatial_scale=spatial_scale,
            sampling_ratio=sampling_ratio,
            pool_mode=_word(pool_mode),
            aligned=aligned,
        )
        pixels(grad_features).copy_(made)
        return
    call(
        "mluOpRoiAlignBackward_v2",
        *nhwc(grad_output),
        *array(rois),
        *(array(None) if argmax_x is None else nhwc(argmax_x)),
        *(array(None) if argmax_y is None else nhwc(argmax_y)),
        spatial_scale,
        sampling_ratio,
        aligned,
        pool_mode,
        *nhwc(grad_features),
        names=_NAMES,
    )


def _word(pool_mode: int) -> str:
    return next(word for word, mode in POOL_MODES.items() if mode == pool_mode)

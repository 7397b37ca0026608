# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling: bins of regions, each moved by an offset of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from torch import Tensor

from pymluops._families.deform_roi_pool import native
from pymluops.torch._operators import define
from pymluops.torch._tensors import (
    Spec,
    as_input,
    check_coordinates,
    check_dims,
    check_extents,
    check_same_dtype,
    compute_dtype,
    new_memory,
    new_result,
    new_tensor,
    new_zeros,
    of_images,
    pair,
    spec,
    to_dense,
    to_nhwc,
)

# ------------------------------------------------------------------------------- the operators


@lru_cache(maxsize=256)
def _output_shape(
    input: Spec, rois: Spec, offset: Spec | None, pooled_h: int, pooled_w: int
) -> tuple[int, int, int, int]:
    op = "deform_roi_pool"
    check_dims(op, "input", input, "N, C, H, W")
    check_dims(op, "rois", rois, "R, 5")
    check_coordinates(op, "rois", rois, "input", input)
    if pooled_h < 1 or pooled_w < 1:
        message = f"{op}: output_size is {(pooled_h, pooled_w)}, expected 1 or more"
        raise ValueError(message)
    count, channels = rois[0][0], input[0][1]
    check_extents(op, "rois", rois, (count, 5), "(R, 5), rows of (image, x1, y1, x2, y2)")
    if offset is not None:
        check_dims(op, "offset", offset, "R, 2, pooled_h, pooled_w")
        check_same_dtype(op, "offset", offset, "input", input)
        expected = (count, 2, pooled_h, pooled_w)
        check_extents(op, "offset", offset, expected, "(R, 2, *output_size)")
    return count, channels, pooled_h, pooled_w


def _spec_or_none(offset: Tensor | None) -> Spec | None:
    return None if offset is None else spec(offset)


def _forward(
    input: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    pooled_h: int,
    pooled_w: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> Tensor:
    shape = _output_shape(spec(input), spec(rois), _spec_or_none(offset), pooled_h, pooled_w)
    if 0 in shape or input.numel() == 0:
        return new_zeros(shape, input)
    dtype = compute_dtype(input, rois)
    features, regions = to_nhwc(input, dtype), to_dense(rois, dtype)
    moves = None if offset is None else to_dense(offset, dtype)

    def compute(output: Tensor) -> None:
        native.forward(features, regions, moves, output, spatial_scale, sampling_ratio, gamma)

    return of_images(shape, input, dtype, compute)


def _forward_fake(
    input: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    pooled_h: int,
    pooled_w: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> Tensor:
    shape = _output_shape.__wrapped__(
        spec(input), spec(rois), _spec_or_none(offset), pooled_h, pooled_w
    )
    return new_tensor(shape, input)


def _new_grad_offset(offset: Tensor | None, like: Tensor) -> Tensor:
    """Memory for the gradient of the offset: an empty tensor stands for None."""
    if offset is None:
        return new_memory((0,), dtype=like.dtype, device=like.device)
    return new_tensor(offset.shape, offset)


def _backward(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> tuple[Tensor, Tensor]:
    if grad_output.numel() == 0 or input.numel() == 0:
        return new_zeros(input.shape, input), _new_grad_offset(offset, input).zero_()
    dtype = compute_dtype(input, rois)
    grad_input = new_result(input.shape, dtype, input)
    grad_offset = None if offset is None else new_memory(offset.shape, dtype=dtype)
    native.backward(
        to_nhwc(grad_output, dtype),
        to_nhwc(input, dtype),
        to_dense(rois, dtype),
        None if offset is None else to_dense(offset, dtype),
        grad_input,
        grad_offset,
        spatial_scale,
        sampling_ratio,
        gamma,
    )
    if offset is None or grad_offset is None:
        return as_input(grad_input, input), _new_grad_offset(None, input)
    return as_input(grad_input, input), as_input(grad_offset, offset)


def _backward_fake(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> tuple[Tensor, Tensor]:
    return new_tensor(input.shape, input), _new_grad_offset(offset, input)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.numbers = inputs[5:]


def _differentiate(ctx: Any, grad_output: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad_output is None:
        return (None,) * 8
    saved = ctx.saved_tensors
    grad_input, grad_offset = _deform_roi_pool_backward(grad_output, *saved, *ctx.numbers)
    return grad_input, None, None if saved[2] is None else grad_offset, *(None,) * 5


_deform_roi_pool_backward = define(
    "deform_roi_pool_backward(Tensor grad_output, Tensor input, Tensor rois, Tensor? offset, "
    "float spatial_scale, int sampling_ratio, float gamma) -> (Tensor, Tensor)",
    kernel=_backward,
    fake=_backward_fake,
)
_deform_roi_pool = define(
    "deform_roi_pool(Tensor input, Tensor rois, Tensor? offset, int pooled_h, int pooled_w, "
    "float spatial_scale, int sampling_ratio, float gamma) -> Tensor",
    kernel=_forward,
    fake=_forward_fake,
    setup_context=_setup_context,
    backward=_differentiate,
)

# ------------------------------------------------------------------------------ what users call


def deform_roi_pool(
    input: Tensor,
    rois: Tensor,
    offset: Tensor | None,
    output_size: int | tuple[int, ...],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
) -> Tensor:
    """Average each bin of each region of interest; bins may be moved by an offset.

    Parameters
    ----------
    input : Tensor
        (N, C, H, W), float32, float16, bfloat16 or float64.
    rois : Tensor
        (R, 5), a row (image index, x1, y1, x2, y2) per region. It gets no gradient. It may be
        float32 while ``input`` is float16 or bfloat16; then coordinates are not rounded.
    offset : Tensor or None
        ``(R, 2, *output_size)``: how far each bin moves in x and in y, in units of ``gamma``
        times the size of its region.
    output_size : int or (int, int)
        Bins per region, (height, width).
    spatial_scale : float
        The factor from the coordinates of ``rois`` to pixels of the map.
    sampling_ratio : int
        Samples per side of a bin; 0 means about one for each pixel.
    gamma : float
        Scale of the offsets.

    Returns
    -------
    Tensor
        ``(R, C, *output_size)``, in the memory format of ``input``.
    """
    pooled_h, pooled_w = pair("deform_roi_pool", "output_size", output_size)
    result: Tensor = _deform_roi_pool(
        input, rois, offset, pooled_h, pooled_w, spatial_scale, sampling_ratio, gamma
    )
    return result

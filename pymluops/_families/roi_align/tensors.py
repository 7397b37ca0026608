# SPDX-License-Identifier: Apache-2.0
"""RoIAlign: means or maxima of the bins of regions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from pymluops._families.roi_align import native
from pymluops._families.roi_align.arrays import POOL_MODES
from pymluops.torch._operators import define
from pymluops.torch._tensors import (
    Spec,
    as_input,
    check_coordinates,
    check_dims,
    check_extents,
    check_size,
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
    wide_dtype,
)

# ------------------------------------------------------------------------------- the operators


@lru_cache(maxsize=256)
def _output_shape(
    input: Spec, rois: Spec, pooled_h: int, pooled_w: int
) -> tuple[int, int, int, int]:
    op = "roi_align"
    check_dims(op, "input", input, "N, C, H, W")
    check_dims(op, "rois", rois, "R, 5")
    check_coordinates(op, "rois", rois, "input", input)
    if pooled_h < 1 or pooled_w < 1:
        message = f"{op}: output_size is {(pooled_h, pooled_w)}, expected 1 or more"
        raise ValueError(message)
    count, channels = rois[0][0], input[0][1]
    check_extents(op, "rois", rois, (count, 5), "(R, 5), rows of (image, x1, y1, x2, y2)")
    return count, channels, pooled_h, pooled_w


def _compute_dtype(input: Tensor, rois: Tensor, pool_mode: int) -> torch.dtype:
    """Return what to compute in: places of maxima are never rounded to half."""
    maximum = pool_mode == POOL_MODES["max"]
    return wide_dtype(input) if maximum else compute_dtype(input, rois)


def _new_argmax(
    shape: tuple[int, ...], pool_mode: int, input: Tensor, rois: Tensor
) -> tuple[Tensor, Tensor]:
    """Memory for the places of maxima: means have none."""
    dtype = _compute_dtype(input, rois, pool_mode)
    if pool_mode == POOL_MODES["avg"]:
        return (
            torch.empty(0, dtype=dtype, device=input.device),
            torch.empty(0, dtype=dtype, device=input.device),
        )
    made = [
        new_memory(shape, dtype=dtype, device=input.device, memory_format=torch.channels_last)
        for _ in range(2)
    ]
    return made[0], made[1]


def _forward(
    input: Tensor,
    rois: Tensor,
    pooled_h: int,
    pooled_w: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    shape = _output_shape(spec(input), spec(rois), pooled_h, pooled_w)
    check_size(shape)
    argmax = _new_argmax(shape, pool_mode, input, rois)
    if 0 in shape:
        return new_zeros(shape, input), *argmax
    if input.numel() == 0:
        message = f"roi_align: input has shape {tuple(input.shape)}, expected pixels to sample"
        raise ValueError(message)
    dtype = _compute_dtype(input, rois, pool_mode)
    features, regions = to_nhwc(input, dtype), to_dense(rois, dtype)
    places = argmax if pool_mode == POOL_MODES["max"] else ()

    def compute(output: Tensor) -> None:
        numbers = (spatial_scale, sampling_ratio, pool_mode, aligned)
        native.forward(features, regions, [output, *places], *numbers)

    return of_images(shape, input, dtype, compute), *argmax


def _forward_fake(
    input: Tensor,
    rois: Tensor,
    pooled_h: int,
    pooled_w: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    shape = _output_shape.__wrapped__(spec(input), spec(rois), pooled_h, pooled_w)
    return new_tensor(shape, input), *_new_argmax(shape, pool_mode, input, rois)


def _backward(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    argmax_x: Tensor,
    argmax_y: Tensor,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> Tensor:
    if grad_output.numel() == 0:
        return new_zeros(input.shape, input)
    dtype = _compute_dtype(input, rois, pool_mode)
    grad_input = new_result(input.shape, dtype, input)
    maximum = pool_mode == POOL_MODES["max"]
    native.backward(
        to_nhwc(grad_output, dtype),
        to_dense(rois, dtype),
        to_nhwc(argmax_x, dtype) if maximum else None,
        to_nhwc(argmax_y, dtype) if maximum else None,
        grad_input,
        spatial_scale,
        sampling_ratio,
        pool_mode,
        aligned,
    )
    return as_input(grad_input, input)


def _backward_fake(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    argmax_x: Tensor,
    argmax_y: Tensor,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> Tensor:
    return new_tensor(input.shape, input)


def _setup_context(
    ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]
) -> None:
    features, rois = inputs[:2]
    _, *argmax = output
    ctx.mark_non_differentiable(*argmax)
    # Of them only shape, dtype and memory format are needed: they may change in place.
    ctx.save_for_backward(features.data, rois, *argmax)
    ctx.numbers = inputs[4:]


def _differentiate(
    ctx: Any, grad_output: Tensor | None, *_: Tensor | None
) -> tuple[Tensor | None, ...]:
    if grad_output is None:
        return (None,) * 8
    return _roi_align_backward(grad_output, *ctx.saved_tensors, *ctx.numbers), *(None,) * 7


_roi_align_backward = define(
    "roi_align_backward(Tensor grad_output, Tensor input, Tensor rois, Tensor argmax_x, "
    "Tensor argmax_y, float spatial_scale, int sampling_ratio, int pool_mode, bool aligned) "
    "-> Tensor",
    kernel=_backward,
    fake=_backward_fake,
)
_roi_align = define(
    "roi_align(Tensor input, Tensor rois, int pooled_h, int pooled_w, float spatial_scale, "
    "int sampling_ratio, int pool_mode, bool aligned) -> (Tensor, Tensor, Tensor)",
    kernel=_forward,
    fake=_forward_fake,
    setup_context=_setup_context,
    backward=_differentiate,
)

# ------------------------------------------------------------------------------ what users call


def roi_align(
    input: Tensor,
    rois: Tensor,
    output_size: int | tuple[int, ...],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    pool_mode: str = "avg",
    aligned: bool = True,
) -> Tensor:
    """Take the mean or the maximum of each bin of each region of interest.

    Parameters
    ----------
    input : Tensor
        (N, C, H, W), float32, float16, bfloat16 or float64.
    rois : Tensor
        (R, 5), a row (image index, x1, y1, x2, y2) per region. It gets no gradient. It may be
        float32 while ``input`` is float16 or bfloat16; then coordinates are not rounded.
    output_size : int or (int, int)
        Bins per region, (height, width).
    spatial_scale : float
        The factor from the coordinates of ``rois`` to pixels of the map.
    sampling_ratio : int
        Samples per side of a bin; 0 means about one for each pixel.
    pool_mode : {"avg", "max"}
        Mean or maximum of the samples.
    aligned : bool
        True: coordinate 0 is the edge of the first pixel. False: it is its centre.

    Returns
    -------
    Tensor
        ``(R, C, *output_size)``, in the memory format of ``input``.
    """
    pooled_h, pooled_w = pair("roi_align", "output_size", output_size)
    if pool_mode not in POOL_MODES:
        message = f"roi_align: pool_mode is {pool_mode!r}, expected 'avg' or 'max'"
        raise ValueError(message)
    mode = POOL_MODES[pool_mode]
    result: Tensor = _roi_align(
        input, rois, pooled_h, pooled_w, spatial_scale, sampling_ratio, mode, aligned
    )[0]
    return result


class RoIAlign(nn.Module):
    """The operator :func:`roi_align` as a module.

    Parameters
    ----------
    output_size, spatial_scale, sampling_ratio, pool_mode, aligned
        As for :func:`roi_align`.
    use_torchvision : bool
        Accepted for mmcv's configurations; it does not change the result.
    """

    def __init__(
        self,
        output_size: int | tuple[int, ...],
        spatial_scale: float = 1.0,
        sampling_ratio: int = 0,
        pool_mode: str = "avg",
        aligned: bool = True,
        use_torchvision: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = pair(type(self).__name__, "output_size", output_size)
        self.spatial_scale = float(spatial_scale)
        self.sampling_ratio = int(sampling_ratio)
        self.pool_mode = pool_mode
        self.aligned = aligned
        self.use_torchvision = use_torchvision

    def forward(self, input: Tensor, rois: Tensor) -> Tensor:
        """Apply :func:`roi_align`."""
        return roi_align(
            input,
            rois,
            self.output_size,
            self.spatial_scale,
            self.sampling_ratio,
            self.pool_mode,
            self.aligned,
        )

    def extra_repr(self) -> str:
        """Return the parameters for ``repr``."""
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, pool_mode={self.pool_mode!r}, "
            f"aligned={self.aligned}"
        )

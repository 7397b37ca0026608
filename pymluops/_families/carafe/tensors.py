# SPDX-License-Identifier: Apache-2.0
"""CARAFE: content-aware reassembly of features (upsampling by predicted kernels)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from pymluops._families.carafe import native
from pymluops.torch._operators import define
from pymluops.torch._tensors import (
    COMPUTE_DTYPES,
    Spec,
    as_input,
    check_dims,
    check_extents,
    check_same_dtype,
    memory_format,
    new_dense,
    new_result,
    new_tensor,
    new_zeros,
    require,
    spec,
    to_nhwc,
)

#: Of a group: for fewer, there are faster kernels, which write NHWC only.
LEAST_CHANNELS = 16

# ------------------------------------------------------------------------------- the operators


@lru_cache(maxsize=256)
def _output_shape(
    features: Spec, masks: Spec, kernel_size: int, group_size: int, scale_factor: int
) -> tuple[int, int, int, int]:
    op = "carafe"
    check_dims(op, "features", features, "N, C, H, W")
    check_dims(op, "masks", masks, "N, kernel_size^2 * group_size, scale * H, scale * W")
    check_same_dtype(op, "masks", masks, "features", features)
    for name, value in (
        ("kernel_size", kernel_size),
        ("group_size", group_size),
        ("scale_factor", scale_factor),
    ):
        if value < 1:
            message = f"{op}: {name} is {value}, expected 1 or more"
            raise ValueError(message)
    if kernel_size % 2 == 0:
        message = f"{op}: kernel_size is {kernel_size}, expected an odd number"
        raise ValueError(message)
    n, c, h, w = features[0]
    require(
        c % group_size == 0,
        lambda: (
            f"{op}: features has {c} channels, expected a multiple of group_size ({group_size})"
        ),
    )
    expected = (n, kernel_size**2 * group_size, h * scale_factor, w * scale_factor)
    meaning = "(N, kernel_size^2 * group_size, scale_factor * H, scale_factor * W)"
    check_extents(op, "masks", masks, expected, meaning)
    return n, c, h * scale_factor, w * scale_factor


def _into_planes(features: Tensor, group_size: int, dtype: torch.dtype) -> bool:
    """Tell whether a kernel writes contiguous images: those that are computed in their dtype."""
    if features.dtype is not dtype or dtype is torch.float64:
        return False
    many = features.shape[1] >= LEAST_CHANNELS * group_size
    return many and memory_format(features) is torch.contiguous_format


def _forward(
    features: Tensor, masks: Tensor, kernel_size: int, group_size: int, scale_factor: int
) -> Tensor:
    shape = _output_shape(spec(features), spec(masks), kernel_size, group_size, scale_factor)
    if 0 in shape:
        return new_tensor(shape, features)
    dtype = COMPUTE_DTYPES[features.dtype]
    given = to_nhwc(features, dtype), to_nhwc(masks, dtype)
    numbers = (kernel_size, group_size, scale_factor)
    if _into_planes(features, group_size, dtype):
        output = new_dense(shape, dtype)
        native.forward_nchw(*given, output, *numbers)
        return output
    output = new_result(shape, dtype, features)
    native.forward(*given, output, *numbers)
    return as_input(output, features)


def _forward_fake(
    features: Tensor, masks: Tensor, kernel_size: int, group_size: int, scale_factor: int
) -> Tensor:
    shape = _output_shape.__wrapped__(
        spec(features), spec(masks), kernel_size, group_size, scale_factor
    )
    return new_tensor(shape, features)


def _backward(
    grad_output: Tensor,
    features: Tensor,
    masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> tuple[Tensor, Tensor]:
    if grad_output.numel() == 0:
        return new_zeros(features.shape, features), new_zeros(masks.shape, masks)
    dtype = COMPUTE_DTYPES[features.dtype]
    grad_features = new_result(features.shape, dtype, features)
    grad_masks = new_result(masks.shape, dtype, masks)
    native.backward(
        to_nhwc(features, dtype),
        to_nhwc(masks, dtype),
        to_nhwc(grad_output, dtype),
        grad_features,
        grad_masks,
        kernel_size,
        group_size,
        scale_factor,
    )
    return as_input(grad_features, features), as_input(grad_masks, masks)


def _backward_fake(
    grad_output: Tensor,
    features: Tensor,
    masks: Tensor,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> tuple[Tensor, Tensor]:
    return new_tensor(features.shape, features), new_tensor(masks.shape, masks)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    features, masks, *ctx.numbers = inputs
    ctx.save_for_backward(features, masks)


def _differentiate(ctx: Any, grad_output: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad_output is None:
        return (None,) * 5
    return *_carafe_backward(grad_output, *ctx.saved_tensors, *ctx.numbers), None, None, None


_carafe_backward = define(
    "carafe_backward(Tensor grad_output, Tensor features, Tensor masks, int kernel_size, "
    "int group_size, int scale_factor) -> (Tensor, Tensor)",
    kernel=_backward,
    fake=_backward_fake,
)
_carafe = define(
    "carafe(Tensor features, Tensor masks, int kernel_size, int group_size, int scale_factor)"
    " -> Tensor",
    kernel=_forward,
    fake=_forward_fake,
    setup_context=_setup_context,
    backward=_differentiate,
)

# ------------------------------------------------------------------------------ what users call


def carafe(
    features: Tensor, masks: Tensor, kernel_size: int, group_size: int, scale_factor: int
) -> Tensor:
    """Upsample a feature map with a kernel for each output pixel.

    Parameters
    ----------
    features : Tensor
        (N, C, H, W), float32, float16, bfloat16 or float64; C is a multiple of ``group_size``.
    masks : Tensor
        (N, kernel_size^2 * group_size, scale_factor * H, scale_factor * W), the kernels.
    kernel_size : int
        Odd, at most 45.
    group_size : int
        The number of groups of channels; each group has kernels of its own.
    scale_factor : int
        Output pixels per input pixel along each axis; at most 5.

    Returns
    -------
    Tensor
        (N, C, scale_factor * H, scale_factor * W), in the memory format of ``features``.
    """
    result: Tensor = _carafe(features, masks, kernel_size, group_size, scale_factor)
    return result


def carafe_naive(
    features: Tensor, masks: Tensor, kernel_size: int, group_size: int, scale_factor: int
) -> Tensor:
    """Compute the same as :func:`carafe`. mmcv has two kernels for it, this library one."""
    return carafe(features, masks, kernel_size, group_size, scale_factor)

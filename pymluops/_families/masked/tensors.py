# SPDX-License-Identifier: Apache-2.0
"""Masked convolution: computed where a mask is positive, and 0 elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pymluops._families.masked.columns import im2col
from pymluops._families.masked.native import Positions, col2im
from pymluops._families.masked.positions import chosen_positions
from pymluops.torch._operators import define
from pymluops.torch._tensors import (
    Spec,
    as_input,
    check_dims,
    check_extents,
    check_same_dtype,
    new_tensor,
    new_zeros,
    pair,
    require,
    spec,
    to_dense,
    wide_dtype,
)

# ------------------------------------------------------------------------------- the operators


@lru_cache(maxsize=256)
def _output_shape(
    features: Spec, mask: torch.Size, weight: Spec, bias: Spec | None, pad_h: int, pad_w: int
) -> tuple[int, int, int, int]:
    op = "masked_conv2d"
    check_dims(op, "features", features, "1, C, H, W")
    check_dims(op, "weight", weight, "out_channels, C, kernel_h, kernel_w")
    check_same_dtype(op, "weight", weight, "features", features)
    n, c, h, w = features[0]
    out_c, in_c, kernel_h, kernel_w = weight[0]
    require(
        n == 1,
        lambda: f"{op}: features holds {n} images, expected 1; call it for one image at a time",
    )
    require(
        len(mask) == 3 and mask[0] == 1 and mask[1] == h and mask[2] == w,
        lambda: f"{op}: mask has shape {tuple(mask)}, expected {(1, h, w)} = (1, H, W)",
    )
    require(
        in_c == c,
        lambda: (
            f"{op}: weight is for {in_c} channels and features has {c}; groups are not supported"
        ),
    )
    if bias is not None:
        check_dims(op, "bias", bias, "out_channels")
        check_same_dtype(op, "bias", bias, "features", features)
        check_extents(op, "bias", bias, (out_c,), "(out_channels,)")
    out_h, out_w = h + 2 * pad_h - kernel_h + 1, w + 2 * pad_w - kernel_w + 1
    require(
        pad_h >= 0 and pad_w >= 0 and kernel_h > 0 and kernel_w > 0 and out_h >= 0 and out_w >= 0,
        lambda: (
            f"{op}: padding is {(pad_h, pad_w)}, which does not fit a weight of "
            f"{kernel_h} x {kernel_w} on features of {h} x {w}"
        ),
    )
    return 1, out_c, out_h, out_w


#: NumPy would make an array of a number at each comparison.
_ZERO = np.zeros((), np.float32)


def _positions(mask: Tensor) -> Positions:
    """Return rows and columns of the pixels where a mask is positive, (2, count)."""
    # NumPy finds them in less time than torch, which needs more steps.
    try:
        chosen = mask.numpy() > _ZERO
    except TypeError:  # it has no bfloat16
        chosen = (mask > 0).numpy()
    return chosen_positions(chosen[0])


def _check_inside(positions: Positions, height: int, width: int) -> None:
    """Raise ValueError for a position that an output of this size does not have."""
    outside = (positions[0] >= height) | (positions[1] >= width)
    if outside.any():
        y, x = positions[:, outside][:, 0].tolist()
        message = (
            f"masked_conv2d: mask is positive at {(y, x)}, outside the output of {height} x "
            f"{width}; use padding=(kernel_h // 2, kernel_w // 2), or clear the mask there"
        )
        raise ValueError(message)


def _convolve(
    features: Tensor,
    positions: Positions,
    weight: Tensor,
    bias: Tensor | None,
    pad: tuple[int, int],
) -> Tensor:
    """Compute the results at positions, a column of out_channels values each."""
    out_c, _, kernel_h, kernel_w = weight.shape
    columns = im2col(features, positions, (kernel_h, kernel_w), pad)
    matrix = weight.view(out_c, -1)
    if bias is None:
        return torch.mm(matrix, columns)
    return torch.addmm(bias.view(out_c, 1), matrix, columns)


def _spec_or_none(bias: Tensor | None) -> Spec | None:
    return None if bias is None else spec(bias)


def _forward(
    features: Tensor, mask: Tensor, weight: Tensor, bias: Tensor | None, pad_h: int, pad_w: int
) -> Tensor:
    shape = _output_shape(
        spec(features), mask.shape, spec(weight), _spec_or_none(bias), pad_h, pad_w
    )
    positions = _positions(mask)
    if positions.size == 0 or 0 in shape:
        return new_zeros(shape, features)
    _, _, height, width = shape
    if shape[2:] != mask.shape[1:]:
        _check_inside(positions, height, width)
    dtype = wide_dtype(features)
    result = _convolve(
        features,
        positions,
        to_dense(weight, dtype),
        None if bias is None else to_dense(bias, dtype),
        (pad_h, pad_w),
    )
    return as_input(col2im(result, positions, height, width), features)


def _forward_fake(
    features: Tensor, mask: Tensor, weight: Tensor, bias: Tensor | None, pad_h: int, pad_w: int
) -> Tensor:
    shape = _output_shape.__wrapped__(
        spec(features), mask.shape, spec(weight), _spec_or_none(bias), pad_h, pad_w
    )
    return new_tensor(shape, features)


def _flipped(weight: Tensor) -> Tensor:
    """Return the weight that takes gradients of outputs to those of features."""
    return weight.flip(2, 3).transpose(0, 1).contiguous()


def _reached(
    mask: Tensor, shape: torch.Size, kernel: tuple[int, int], pad: tuple[int, int]
) -> Tensor:
    """Return a mask of those pixels of the features that some window reads.

    `shape` is that of the output, whose pixel (y, x) reads rows y - pad to y - pad + kernel - 1.
    """
    (kernel_h, kernel_w), (pad_h, pad_w) = kernel, pad
    _, height, width = mask.shape
    before_h, before_w = kernel_h - 1 - pad_h, kernel_w - 1 - pad_w
    after_h, after_w = before_h + shape[2] - height, before_w + shape[3] - width
    chosen = (mask > 0).float()[:, max(-before_h, 0) :, max(-before_w, 0) :]
    around = functional.pad(chosen, (max(before_w, 0), after_w, max(before_h, 0), after_h))
    return functional.max_pool2d(around, kernel, stride=1)


def _backward(
    grad_output: Tensor,
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    pad_h: int,
    pad_w: int,
    needed: list[bool],
) -> tuple[Tensor, ...]:
    """The gradients of features, weight and bias: those needed, others are empty."""
    positions = _positions(mask)
    if positions.size == 0 or grad_output.numel() == 0 or features.numel() == 0:
        return tuple(made.zero_() for made in _new_grads(features, weight, needed))
    grads = [features.new_empty(0) for _ in needed]
    kernel, pad = (weight.shape[2], weight.shape[3]), (pad_h, pad_w)
    grad = im2col(grad_output, positions, (1, 1), (0, 0))
    if needed[0]:
        pixels = _positions(_reached(mask, grad_output.shape, kernel, pad))
        result = _convolve(
            col2im(grad, positions, *grad_output.shape[2:]),
            pixels,
            _flipped(weight.to(grad.dtype)),
            None,
            (kernel[0] - 1 - pad_h, kernel[1] - 1 - pad_w),
        )
        grads[0] = as_input(col2im(result, pixels, *features.shape[2:]), features)
    if needed[1]:
        columns = im2col(features, positions, kernel, pad)
        grads[1] = as_input(torch.mm(grad, columns.t()).view(weight.shape), weight)
    if needed[2]:
        grads[2] = grad.sum(1).to(weight.dtype)
    return tuple(grads)


def _new_grads(features: Tensor, weight: Tensor, needed: list[bool]) -> tuple[Tensor, ...]:
    return (
        new_tensor(features.shape, features) if needed[0] else features.new_empty(0),
        new_tensor(weight.shape, weight) if needed[1] else weight.new_empty(0),
        weight.new_empty(weight.shape[0] if needed[2] else 0),
    )


def _backward_fake(
    grad_output: Tensor,
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    pad_h: int,
    pad_w: int,
    needed: list[bool],
) -> tuple[Tensor, ...]:
    return _new_grads(features, weight, needed)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    features, mask, weight, _, *ctx.padding = inputs
    ctx.save_for_backward(features, mask, weight)


def _differentiate(ctx: Any, grad_output: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad_output is None:
        return (None,) * 6
    of_features, _, of_weight, of_bias, *_ = ctx.needs_input_grad
    needed = [of_features, of_weight, of_bias]
    grads = _masked_conv2d_backward(grad_output, *ctx.saved_tensors, *ctx.padding, needed)
    features, weight, bias = (
        grad if wanted else None for grad, wanted in zip(grads, needed, strict=True)
    )
    return features, None, weight, bias, None, None


_masked_conv2d_backward = define(
    "masked_conv2d_backward(Tensor grad_output, Tensor features, Tensor mask, Tensor weight, "
    "int pad_h, int pad_w, bool[] needed) -> (Tensor, Tensor, Tensor)",
    kernel=_backward,
    fake=_backward_fake,
)
_masked_conv2d = define(
    "masked_conv2d(Tensor features, Tensor mask, Tensor weight, Tensor? bias, int pad_h, "
    "int pad_w) -> Tensor",
    kernel=_forward,
    fake=_forward_fake,
    setup_context=_setup_context,
    backward=_differentiate,
)

# ------------------------------------------------------------------------------ what users call


def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: int | tuple[int, ...] | str = 0,
    stride: int | tuple[int, ...] = 1,
) -> Tensor:
    """Convolve where a mask is positive; the result is 0 elsewhere.

    Parameters
    ----------
    features : Tensor
        (1, C, H, W), float32, float16, bfloat16 or float64.
    mask : Tensor
        (1, H, W), of any dtype. The output is computed where it is positive. It gets no gradient.
    weight : Tensor
        (out_channels, C, kernel_h, kernel_w).
    bias : Tensor or None
        (out_channels,).
    padding : int or (int, int)
        Zeros around the features.
    stride : int or (int, int)
        Must be 1.

    Returns
    -------
    Tensor
        (1, out_channels, out_h, out_w) in the memory format of ``features``, 0 (without the bias)
        where the mask is not positive.
    """
    if pair("masked_conv2d", "stride", stride) != (1, 1):
        message = f"masked_conv2d: stride is {stride}, expected 1"
        raise ValueError(message)
    pad_h, pad_w = pair("masked_conv2d", "padding", padding)
    result: Tensor = _masked_conv2d(features, mask, weight, bias, pad_h, pad_w)
    return result

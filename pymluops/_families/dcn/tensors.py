# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution, plain and modulated: one operator, whose mask is optional."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pymluops._families.dcn import native
from pymluops._families.dcn.shapes import Form, front, output_shape, output_size
from pymluops.torch._operators import check_tensor, define
from pymluops.torch._tensors import (
    COMPUTE_DTYPES,
    Spec,
    as_input,
    new_memory,
    new_nhwc,
    new_tensor,
    pair,
    spec,
    to_dense,
    to_nhwc,
)

# ------------------------------------------------------------------------------- the operators


def _spec_or_none(tensor: Tensor | None) -> Spec | None:
    return None if tensor is None else spec(tensor)


def _form(numbers: tuple[Any, ...]) -> Form:
    stride, padding, dilation, groups, deform_groups = numbers
    return Form(tuple(stride), tuple(padding), tuple(dilation), groups, deform_groups)


def _forward(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    *numbers: Any,
) -> Tensor:
    form = _form(numbers)
    specs = spec(input), spec(offset), _spec_or_none(mask), spec(weight), _spec_or_none(bias)
    shape = output_shape(*specs, form)
    if shape[0] == 0:
        return new_tensor(shape, input)
    dtype = COMPUTE_DTYPES[input.dtype]
    output = new_nhwc(shape, dtype)
    native.forward(
        to_nhwc(input, dtype),
        to_nhwc(offset, dtype),
        None if mask is None else to_nhwc(mask, dtype),
        to_nhwc(weight, dtype),
        None if bias is None else to_dense(bias, dtype),
        output,
        form,
    )
    return as_input(output, input)


def _forward_fake(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    *numbers: Any,
) -> Tensor:
    specs = spec(input), spec(offset), _spec_or_none(mask), spec(weight), _spec_or_none(bias)
    return new_tensor(output_shape.__wrapped__(*specs, _form(numbers)), input)


def _backward(
    grad_output: Tensor,
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    *rest: Any,
) -> tuple[Tensor, ...]:
    """The gradients of input, offset, mask, weight and bias: those needed, others are empty."""
    *numbers, needed = rest
    if input.shape[0] == 0:
        grads = _backward_fake(grad_output, input, offset, mask, weight, *rest)
        return tuple(grad.zero_() for grad in grads)
    form, dtype = _form(tuple(numbers)), COMPUTE_DTYPES[input.dtype]
    x, moved, grad = to_nhwc(input, dtype), to_nhwc(offset, dtype), to_nhwc(grad_output, dtype)
    scale = None if mask is None else to_nhwc(mask, dtype)
    made = [input.new_empty(0) for _ in needed]
    if any(needed[:3]):
        results = (
            new_nhwc(input.shape, dtype),
            new_nhwc(offset.shape, dtype),
            None if mask is None else new_nhwc(mask.shape, dtype),
        )
        native.backward_data(x, moved, scale, to_nhwc(weight, dtype), grad, results, form)
        for i, (result, like) in enumerate(zip(results, (input, offset, mask), strict=True)):
            if needed[i] and result is not None and like is not None:
                made[i] = as_input(result, like)
    if any(needed[3:]):
        of_weight = new_nhwc(weight.shape, dtype)
        of_bias = new_memory((weight.shape[0],), dtype=dtype) if needed[4] else None
        native.backward_weight(x, moved, scale, grad, of_weight, of_bias, form)
        if needed[3]:
            made[3] = as_input(of_weight, weight)
        if of_bias is not None:
            made[4] = of_bias.to(weight.dtype)
    return tuple(made)


def _backward_fake(
    grad_output: Tensor,
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    *rest: Any,
) -> tuple[Tensor, ...]:
    needed = rest[-1]
    grads = [
        new_tensor(like.shape, like) if wanted and like is not None else input.new_empty(0)
        for wanted, like in zip(needed, (input, offset, mask, weight), strict=False)
    ]
    return *grads, weight.new_empty(weight.shape[0] if needed[4] else 0)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:4])
    ctx.numbers = inputs[5:]


def _differentiate(ctx: Any, grad_output: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad_output is None:
        return (None,) * 10
    needed = list(ctx.needs_input_grad[:5])
    grads = _deform_conv2d_backward(grad_output, *ctx.saved_tensors, *ctx.numbers, needed)
    wanted = (grad if need else None for grad, need in zip(grads, needed, strict=True))
    return *wanted, *(None,) * 5


_deform_conv2d_backward = define(
    "deform_conv2d_backward(Tensor grad_output, Tensor input, Tensor offset, Tensor? mask, "
    "Tensor weight, int[] stride, int[] padding, int[] dilation, int groups, int deform_groups, "
    "bool[] needed) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    kernel=_backward,
    fake=_backward_fake,
)
_deform_conv2d = define(
    "deform_conv2d(Tensor input, Tensor offset, Tensor? mask, Tensor weight, Tensor? bias, "
    "int[] stride, int[] padding, int[] dilation, int groups, int deform_groups) -> Tensor",
    kernel=_forward,
    fake=_forward_fake,
    setup_context=_setup_context,
    backward=_differentiate,
)

# ------------------------------------------------------------------------------ what users call


class _IndivisibleError(ValueError, AssertionError):
    """What mmcv asserts, and code that knows mmcv may expect."""


def _check_step(input: Tensor, im2col_step: int) -> None:
    check_tensor("deform_conv2d", "input", input)
    images = input.shape[0] if input.dim() == 4 else 0
    if im2col_step < 1 or images % min(im2col_step, max(images, 1)) != 0:
        raise _IndivisibleError(
            f"deform_conv2d: input has {images} images and im2col_step is {im2col_step}: "
            "batch size must be divisible by im2col_step"
        )


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    deform_groups: int = 1,
    bias: bool = False,
    im2col_step: int = 32,
) -> Tensor:
    """Convolve with a kernel whose taps are moved at each pixel.

    Parameters
    ----------
    input : Tensor
        (N, C, H, W), float32, float16, bfloat16 or float64.
    offset : Tensor
        (N, 2 * deform_groups * kernel_h * kernel_w, out_h, out_w): for each tap y, then x, in
        pixels.
    weight : Tensor
        (out_channels, C / groups, kernel_h, kernel_w).
    stride, padding, dilation : int or (int, int)
        As for ``torch.nn.functional.conv2d``.
    groups : int
        As for ``torch.nn.functional.conv2d``.
    deform_groups : int
        The number of groups of input channels; each group has offsets of its own.
    bias : bool
        Must be False.
    im2col_step : int
        How many images mmcv computes at once. A larger batch must be a multiple of it. It does not
        change the result.

    Returns
    -------
    Tensor
        (N, out_channels, out_h, out_w), in the memory format of ``input``.
    """
    if isinstance(bias, Tensor) or bias:
        given = "a Tensor" if isinstance(bias, Tensor) else bias
        message = f"deform_conv2d: bias is {given}, expected False; add it to the result"
        raise ValueError(message)
    if not torch.compiler.is_compiling():  # a graph may be for any number of images
        _check_step(input, im2col_step)
    form = _pairs("deform_conv2d", stride, padding, dilation, groups, deform_groups)
    result: Tensor = _deform_conv2d(input, offset, None, weight, None, *form)
    return result


def modulated_deform_conv2d(
    input: Tensor,
    offset: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    deform_groups: int = 1,
) -> Tensor:
    """Convolve with a kernel each of whose taps is moved and weighted at each pixel.

    Parameters
    ----------
    input, offset, weight, stride, padding, dilation, groups, deform_groups
        As for :func:`deform_conv2d`.
    mask : Tensor
        (N, deform_groups * kernel_h * kernel_w, out_h, out_w), by which samples are multiplied.
        Where the maps of ``offset`` or ``mask`` are larger, the first numbers of each image count,
        in NCHW order, as in mmcv: mmdet's DyHead has such maps.
    bias : Tensor or None
        (out_channels,).

    Returns
    -------
    Tensor
        (N, out_channels, out_h, out_w), in the memory format of ``input``.
    """
    op = "modulated_deform_conv2d"
    form = _pairs(op, stride, padding, dilation, groups, deform_groups)
    try:
        are_maps = input.dim() == weight.dim() == offset.dim() == mask.dim() == 4
    except AttributeError:
        for name, given in (("input", input), ("offset", offset), ("mask", mask)):
            check_tensor(op, name, given)
        check_tensor(op, "weight", weight)
        raise
    if are_maps:
        of_graph = torch.compiler.is_compiling() or torch._C._is_tracing()  # sizes may be symbols
        size_of = output_size.__wrapped__ if of_graph else output_size
        size = size_of(op, spec(input), spec(weight), form)[2:]
        taps = deform_groups * weight.shape[2] * weight.shape[3]
        offset, mask = front(offset, 2 * taps, size), front(mask, taps, size)
    result: Tensor = _deform_conv2d(input, offset, mask, weight, bias, *form)
    return result


def _pairs(op: str, stride: Any, padding: Any, dilation: Any, *groups: int) -> Form:
    return Form(
        pair(op, "stride", stride),
        pair(op, "padding", padding),
        pair(op, "dilation", dilation),
        *groups,
    )

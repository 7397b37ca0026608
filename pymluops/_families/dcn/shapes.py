# SPDX-License-Identifier: Apache-2.0
"""What a deformable convolution of torch tensors needs to know of them before it is called."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

from torch import Tensor

from pymluops.torch._tensors import (
    Spec,
    check_dims,
    check_extents,
    check_same_dtype,
    require,
)


class Form(NamedTuple):
    """The numbers of a convolution; of two, that of rows comes first."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    deform_groups: int


@lru_cache(maxsize=256)
def output_size(op: str, input: Spec, weight: Spec, form: Form) -> tuple[int, int, int, int]:
    """Return the shape of the result, of tensors with four dims each."""
    for name, values, least in (
        ("stride", form.stride, 1),
        ("padding", form.padding, 0),
        ("dilation", form.dilation, 1),
        ("groups", (form.groups,), 1),
        ("deform_groups", (form.deform_groups,), 1),
    ):
        if min(values) < least:
            given = values if len(values) > 1 else values[0]
            raise ValueError(f"{op}: {name} is {given}, expected {least} or more")
    sizes, kernel = input[0][2:], weight[0][2:]
    spans = [d * (k - 1) + 1 for d, k in zip(form.dilation, kernel, strict=True)]
    free = [
        size + 2 * pad - span for size, pad, span in zip(sizes, form.padding, spans, strict=True)
    ]
    require(
        free[0] >= 0 and free[1] >= 0,
        lambda: (
            f"{op}: input is {sizes[0]} x {sizes[1]}, too small for a weight that spans "
            f"{spans[0]} x {spans[1]} pixels with padding {tuple(form.padding)}"
        ),
    )
    height, width = (space // step + 1 for space, step in zip(free, form.stride, strict=True))
    return input[0][0], weight[0][0], height, width


@lru_cache(maxsize=256)
def output_shape(
    input: Spec, offset: Spec, mask: Spec | None, weight: Spec, bias: Spec | None, form: Form
) -> tuple[int, int, int, int]:
    """Check all arguments, and return the shape of the result."""
    op = "deform_conv2d" if mask is None else "modulated_deform_conv2d"
    check_dims(op, "input", input, "N, C, H, W")
    check_dims(op, "weight", weight, "out_channels, C / groups, kernel_h, kernel_w")
    check_same_dtype(op, "weight", weight, "input", input)
    n, out_c, out_h, out_w = output_size.__wrapped__(op, input, weight, form)
    channels, groups, deform_groups = input[0][1], form.groups, form.deform_groups
    kernel_h, kernel_w = weight[0][2:]
    for has, count, name, divisor in (
        ("input has", channels, "groups", groups),
        ("input has", channels, "deform_groups", deform_groups),
        ("weight is for", out_c, "groups", groups),
    ):
        message = f"{op}: {has} {count} channels, expected a multiple of {name} ({divisor})"
        require(count % divisor == 0, partial(str, message))
    expected = (out_c, channels // groups, kernel_h, kernel_w)
    check_extents(op, "weight", weight, expected, "(out_channels, C / groups, ...)")
    taps = deform_groups * kernel_h * kernel_w
    for name, given, count, meaning in (
        ("offset", offset, 2 * taps, "2 * deform_groups * kernel_h * kernel_w"),
        ("mask", mask, taps, "deform_groups * kernel_h * kernel_w"),
    ):
        if given is not None:
            check_dims(op, name, given, f"N, {meaning}, out_h, out_w")
            check_same_dtype(op, name, given, "input", input)
            meaning = f"(N, {meaning}, out_h, out_w)"
            check_extents(op, name, given, (n, count, out_h, out_w), meaning)
    if bias is not None:
        check_dims(op, "bias", bias, "out_channels")
        check_same_dtype(op, "bias", bias, "input", input)
        check_extents(op, "bias", bias, (out_c,), "(out_channels,)")
    return n, out_c, out_h, out_w


def front(maps: Tensor, channels: int, size: tuple[int, ...]) -> Tensor:
    """Return the first numbers of each image, in NCHW order, as maps of a size.

    mmcv's modulated operator reads offsets and masks from the begin of the memory of each image,
    whatever the size of the maps. mmdet's DyHead relies on it: its maps are larger than the output.
    """
    count = channels * size[0] * size[1]
    if maps.shape[1:] == (channels, *size) or maps.shape[1:].numel() < count:
        return maps  # what does not fit is an error
    return maps.flatten(1)[:, :count].view(len(maps), channels, *size)

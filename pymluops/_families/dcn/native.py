# SPDX-License-Identifier: Apache-2.0
"""The C functions of deformable convolution on torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pymluops._call import workspace_for
from pymluops._families.dcn import reference
from pymluops._families.dcn.form import descriptor
from pymluops.torch._double import in_double, is_double, pixels
from pymluops.torch._native_calls import array, call, nhwc

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from pymluops._families.dcn.shapes import Form
    from pymluops.capi import CData


def _descriptor(form: Form) -> CData:
    (pad_h, pad_w), step = form.padding, 1  # one image at a time always divides the batch
    pad = (pad_h, pad_h, pad_w, pad_w)
    return descriptor(pad, form.stride, form.dilation, form.deform_groups, form.groups, step)


def _run(name: str, form: Form, inputs: list[CData], outputs: list[CData]) -> None:
    """Call a function with descriptors and pointers in turn, working memory between them."""
    made = _descriptor(form)
    size_function = f"mluOpGet{_SIZE_NAMES.get(name, name)}WorkspaceSize"
    room = workspace_for(size_function, made, *inputs[::2], *outputs[::2])
    call(f"mluOp{name}", made, *inputs, *room, *outputs)


#: Where the name in the header is spelled otherwise.
_SIZE_NAMES = {"DCNBackwardData": "DCNBakcwardData"}


def _maybe(tensor: Tensor | None) -> tuple[CData, CData]:
    return array(None) if tensor is None else nhwc(tensor)


def _in_double(
    function: Callable[..., Any], form: Form, *tensors: Tensor | None, **more: Any
) -> Any:
    """Call a reference; images among the tensors are (N, C, H, W)."""
    given = [pixels(each) if each is not None and each.dim() == 4 else each for each in tensors]
    return in_double(
        function,
        *given,
        **more,
        pad=form.padding,
        stride=form.stride,
        dilation=form.dilation,
        deformable_group=form.deform_groups,
        conv_group=form.groups,
    )


def forward(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    output: Tensor,
    form: Form,
) -> None:
    """Call it with NHWC tensors and a contiguous bias."""
    if is_double(input):
        tensors = (input, offset, weight, mask, bias)
        pixels(output).copy_(_in_double(reference.deform_conv_forward, form, *tensors))
        return
    inputs = [*nhwc(input), *nhwc(offset), *_maybe(mask), *nhwc(weight), *array(bias)]
    _run("DCNForward", form, inputs, [*nhwc(output)])


def backward_data(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    grad_output: Tensor,
    grads: tuple[Tensor, Tensor, Tensor | None],
    form: Form,
) -> None:
    """Call it with NHWC tensors; `grads` are those of input, offset and mask."""
    if is_double(input):
        made = _in_double(
            reference.deform_conv_backward_data,
            form,
            input,
            offset,
            weight,
            mask,
            grad_output=pixels(grad_output).detach().numpy(),
        )
        for grad, result in zip(grads, made, strict=True):
            if grad is not None:
                pixels(grad).copy_(result)
        return
    inputs = [*nhwc(input), *nhwc(offset), *_maybe(mask), *nhwc(weight), *nhwc(grad_output)]
    _run("DCNBackwardData", form, inputs, [*nhwc(grads[0]), *nhwc(grads[1]), *_maybe(grads[2])])


def backward_weight(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    grad_output: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor | None,
    form: Form,
) -> None:
    """Call it with NHWC tensors and a contiguous gradient of the bias."""
    if is_double(input):
        made = _in_double(
            reference.deform_conv_backward_weight,
            form,
            input,
            offset,
            mask,
            grad_output=pixels(grad_output).detach().numpy(),
            kernel_size=tuple(grad_weight.shape[2:]),
        )
        pixels(grad_weight).copy_(made[0])
        if grad_bias is not None:
            grad_bias.copy_(made[1])
        return
    inputs = [*nhwc(input), *nhwc(offset), *_maybe(mask), *nhwc(grad_output)]
    _run("DCNBackwardWeight", form, inputs, [*nhwc(grad_weight), *array(grad_bias)])

# SPDX-License-Identifier: Apache-2.0
"""The C functions of deformable convolution on torch tensors."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pymluops._call import workspace, workspace_size
from pymluops._families.dcn import reference
from pymluops._families.dcn.form import descriptor
from pymluops.capi import ffi
from pymluops.torch._double import in_double, is_double, pixels
from pymluops.torch._native_calls import array_descriptor, call, nhwc_descriptor, pointer

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor

    from pymluops._families.dcn.shapes import Form
    from pymluops.capi import CData


def _descriptor(form: Form) -> CData:
    (pad_h, pad_w), step = form.padding, 1  # one image at a time always divides the batch
    pad = (pad_h, pad_h, pad_w, pad_w)
    return descriptor(pad, form.stride, form.dilation, form.deform_groups, form.groups, step)


@lru_cache(maxsize=1024)
def _prepared(
    name: str, form: Form, inputs: int, dtype: torch.dtype, *shapes: torch.Size | None
) -> tuple[list[Any], int]:
    """Return the arguments for such tensors, None for pointers; and the size of the workspace.

    Arguments are the descriptor of the form, those and the pointers of the inputs in turn, the
    workspace and its size, and the same of the outputs.
    """
    made = _descriptor(form)
    tensors = [_tensor_descriptor(dtype, shape) for shape in shapes]
    size = workspace_size(_size_function(name), made, *tensors)
    pairs: list[tuple[CData | None, None]] = [(each, None) for each in tensors]
    pairs.insert(inputs, (None, None))
    return [made, *itertools.chain.from_iterable(pairs)], size


def _tensor_descriptor(dtype: torch.dtype, shape: torch.Size | None) -> CData:
    if shape is None:
        return ffi.NULL
    return (nhwc_descriptor if len(shape) == 4 else array_descriptor)(dtype, shape)


def _size_function(name: str) -> str:
    return f"mluOpGet{_SIZE_NAMES.get(name, name)}WorkspaceSize"


#: Where the name in the header is spelled otherwise.
_SIZE_NAMES = {"DCNBackwardData": "DCNBakcwardData"}


def _run(
    name: str,
    form: Form,
    dtype: torch.dtype,
    inputs: list[Tensor | None],
    outputs: list[Tensor | None],
) -> None:
    """Call a function with NHWC tensors, contiguous ones of one dim, and None."""
    tensors = inputs + outputs
    shapes = [None if each is None else each.shape for each in tensors]
    known, size = _prepared(name, form, len(inputs), dtype, *shapes)
    arguments, room = known.copy(), 1 + 2 * len(inputs)
    pointers = [pointer(each) for each in tensors]
    arguments[2:room:2] = pointers[: len(inputs)]
    arguments[room : room + 2] = workspace(name, size)
    arguments[room + 3 :: 2] = pointers[len(inputs) :]
    call(f"mluOp{name}", *arguments)


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
    _run("DCNForward", form, input.dtype, [input, offset, mask, weight, bias], [output])


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
    _run("DCNBackwardData", form, input.dtype, [input, offset, mask, weight, grad_output], [*grads])


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
    _run(
        "DCNBackwardWeight",
        form,
        input.dtype,
        [input, offset, mask, grad_output],
        [grad_weight, grad_bias],
    )

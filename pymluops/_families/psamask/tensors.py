# SPDX-License-Identifier: Apache-2.0
"""PSAMask: point-wise spatial attention masks, spread over the map or gathered from it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from pymluops._families.psamask import native
from pymluops.torch._operators import define
from pymluops.torch._tensors import (
    Spec,
    as_input,
    check_dims,
    memory_format,
    new_dense,
    new_memory,
    new_nhwc,
    new_tensor,
    new_zeros,
    pair,
    require,
    spec,
    to_dense,
    to_nhwc,
    wide_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_PSA_TYPES = {"collect": 0, "distribute": 1}

# ------------------------------------------------------------------------------- the operators


@lru_cache(maxsize=256)
def _output_shape(
    input: Spec, psa_type: int, h_mask: int, w_mask: int
) -> tuple[int, int, int, int]:
    op = "psa_mask"
    check_dims(op, "input", input, "N, h_mask * w_mask, H, W")
    if psa_type not in (0, 1):
        message = f"{op}: psa_type is {psa_type}, expected 0 (collect) or 1 (distribute)"
        raise ValueError(message)
    if h_mask < 0 or w_mask < 0:
        message = f"{op}: mask_size is {(h_mask, w_mask)}, expected no negative number"
        raise ValueError(message)
    n, c, h, w = input[0]
    require(
        c == h_mask * w_mask,
        lambda: (
            f"{op}: input has {c} channels, expected {h_mask * w_mask} = mask_size[0] * "
            f"mask_size[1], and mask_size is {(h_mask, w_mask)}"
        ),
    )
    return n, h * w, h, w


def _made(given: Tensor, shape: Sequence[int], channels_last: bool) -> tuple[Tensor, Tensor]:
    """Return what is given, and memory for a result, in the layout and dtype to compute in."""
    dtype = wide_dtype(given)
    result = (new_nhwc if channels_last else new_dense)(shape, dtype)
    return (to_nhwc if channels_last else to_dense)(given, dtype), result


def _forward(input: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    shape = _output_shape(spec(input), psa_type, h_mask, w_mask)
    if input.numel() == 0:
        return new_zeros(shape, input)
    channels_last = memory_format(input) is torch.channels_last
    x, output = _made(input, shape, channels_last)
    native.forward(x, output, psa_type, h_mask, w_mask, channels_last)
    return as_input(output, input)


def _forward_fake(input: Tensor, psa_type: int, h_mask: int, w_mask: int) -> Tensor:
    shape = _output_shape.__wrapped__(spec(input), psa_type, h_mask, w_mask)
    return new_tensor(shape, input)


def _backward(
    grad_output: Tensor, psa_type: int, h_mask: int, w_mask: int, channels_last: bool
) -> Tensor:
    grad_input = _backward_fake(grad_output, psa_type, h_mask, w_mask, channels_last)
    if grad_input.numel() == 0:
        return grad_input
    dy, result = _made(grad_output, grad_input.shape, channels_last)
    native.backward(dy, result, psa_type, h_mask, w_mask, channels_last)
    return as_input(result, grad_input)


def _backward_fake(
    grad_output: Tensor, psa_type: int, h_mask: int, w_mask: int, channels_last: bool
) -> Tensor:
    n, _, h, w = grad_output.shape
    return new_memory(
        (n, h_mask * w_mask, h, w),
        dtype=grad_output.dtype,
        device=grad_output.device,
        memory_format=torch.channels_last if channels_last else torch.contiguous_format,
    )


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.numbers = (*inputs[1:], memory_format(inputs[0]) is torch.channels_last)


def _differentiate(ctx: Any, grad_output: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad_output is None:
        return (None,) * 4
    return _psa_mask_backward(grad_output, *ctx.numbers), None, None, None


_psa_mask_backward = define(
    "psa_mask_backward(Tensor grad_output, int psa_type, int h_mask, int w_mask, "
    "bool channels_last) -> Tensor",
    kernel=_backward,
    fake=_backward_fake,
)
_psa_mask = define(
    "psa_mask(Tensor input, int psa_type, int h_mask, int w_mask) -> Tensor",
    kernel=_forward,
    fake=_forward_fake,
    setup_context=_setup_context,
    backward=_differentiate,
)

# ------------------------------------------------------------------------------ what users call


def psa_mask(input: Tensor, psa_type: int, mask_size: int | tuple[int, int]) -> Tensor:
    """Turn the mask of each pixel into an attention over the whole map.

    Parameters
    ----------
    input : Tensor
        (N, h_mask * w_mask, H, W), float32, float16, bfloat16 or float64.
    psa_type : int
        0, collect: channel ``th * W + tw`` of a pixel is its attention to pixel (th, tw). 1,
        distribute: channel ``h * W + w`` of a pixel is the attention of pixel (h, w) to it.
    mask_size : int or (int, int)
        (h_mask, w_mask), or one number for both.

    Returns
    -------
    Tensor
        (N, H * W, H, W), in the memory format of ``input``; 0 where no mask refers to.
    """
    result: Tensor = _psa_mask(input, psa_type, *pair("psa_mask", "mask_size", mask_size))
    return result


class PSAMask(nn.Module):
    """The operator :func:`psa_mask` as a module.

    Parameters
    ----------
    psa_type : {"collect", "distribute"}
        Whether the mask of a pixel is its attention to other pixels, or theirs to it.
    mask_size : int or (int, int)
        (h_mask, w_mask).
    """

    def __init__(self, psa_type: str, mask_size: int | tuple[int, int] | None = None) -> None:
        super().__init__()
        if psa_type not in _PSA_TYPES:
            message = f"PSAMask: psa_type is {psa_type!r}, expected 'collect' or 'distribute'"
            raise ValueError(message)
        self.psa_type_enum = _PSA_TYPES[psa_type]
        self.mask_size = mask_size
        self.psa_type = psa_type

    def forward(self, input: Tensor) -> Tensor:
        """Apply :func:`psa_mask`."""
        if self.mask_size is None:
            message = "PSAMask: mask_size is None, expected (h_mask, w_mask); give it to PSAMask()"
            raise ValueError(message)
        return psa_mask(input, self.psa_type_enum, self.mask_size)

    def extra_repr(self) -> str:
        """Return the parameters for ``repr``."""
        return f"psa_type={self.psa_type}, mask_size={self.mask_size}"

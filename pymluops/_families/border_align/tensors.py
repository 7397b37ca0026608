# SPDX-License-Identifier: Apache-2.0
"""BorderAlign: the strongest features along the borders of boxes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from pymluops._families.border_align import native
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
    require,
    spec,
    to_dense,
    to_nhwc,
)

# ------------------------------------------------------------------------------- the operators


@lru_cache(maxsize=256)
def _output_shape(input: Spec, boxes: Spec, pool_size: int) -> tuple[int, int, int, int]:
    op = "border_align"
    check_dims(op, "input", input, "N, 4 * C, H, W")
    check_dims(op, "boxes", boxes, "N, H * W, 4")
    check_coordinates(op, "boxes", boxes, "input", input)
    if pool_size < 1:
        message = f"{op}: pool_size is {pool_size}, expected 1 or more"
        raise ValueError(message)
    n, c, h, w = input[0]
    require(
        c % 4 == 0,
        lambda: (
            f"{op}: input has {c} channels, expected a multiple of 4: those of the top, left, "
            "bottom and right borders"
        ),
    )
    meaning = "(N, H * W, 4), a box (x1, y1, x2, y2) for each pixel of input"
    check_extents(op, "boxes", boxes, (n, h * w, 4), meaning)
    return n, c // 4, h * w, 4


def _new_argmax(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return new_memory(
        shape, dtype=torch.int32, device=like.device, memory_format=torch.channels_last
    )


def _forward(input: Tensor, boxes: Tensor, pool_size: int) -> tuple[Tensor, Tensor]:
    shape = _output_shape(spec(input), spec(boxes), pool_size)
    check_size(shape)
    argmax = _new_argmax(shape, input)
    if 0 in shape:
        return new_tensor(shape, input), argmax
    dtype = compute_dtype(input, boxes)
    output = new_result(shape, dtype, input)
    native.forward(to_nhwc(input, dtype), to_dense(boxes, dtype), output, argmax, pool_size)
    return as_input(output, input), argmax


def _forward_fake(input: Tensor, boxes: Tensor, pool_size: int) -> tuple[Tensor, Tensor]:
    shape = _output_shape.__wrapped__(spec(input), spec(boxes), pool_size)
    return new_tensor(shape, input), _new_argmax(shape, input)


def _backward(
    grad_output: Tensor, input: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int
) -> Tensor:
    if grad_output.numel() == 0:
        return new_zeros(input.shape, input)
    dtype = compute_dtype(input, boxes)
    grad_input = new_result(input.shape, dtype, input)
    native.backward(
        to_nhwc(grad_output, dtype),
        to_dense(boxes, dtype),
        to_nhwc(argmax, torch.int32),
        grad_input,
        pool_size,
    )
    return as_input(grad_input, input)


def _backward_fake(
    grad_output: Tensor, input: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int
) -> Tensor:
    return new_tensor(input.shape, input)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    features, boxes, ctx.pool_size = inputs
    _, argmax = output
    ctx.mark_non_differentiable(argmax)
    # Of them only shape, dtype and memory format are needed: they may change in place.
    ctx.save_for_backward(features.data, boxes, argmax)


def _differentiate(
    ctx: Any, grad_output: Tensor | None, _: Tensor | None
) -> tuple[Tensor | None, ...]:
    if grad_output is None:
        return (None,) * 3
    return _border_align_backward(grad_output, *ctx.saved_tensors, ctx.pool_size), None, None


_border_align_backward = define(
    "border_align_backward(Tensor grad_output, Tensor input, Tensor boxes, Tensor argmax, "
    "int pool_size) -> Tensor",
    kernel=_backward,
    fake=_backward_fake,
)
_border_align = define(
    "border_align(Tensor input, Tensor boxes, int pool_size) -> (Tensor, Tensor)",
    kernel=_forward,
    fake=_forward_fake,
    setup_context=_setup_context,
    backward=_differentiate,
)

# ------------------------------------------------------------------------------ what users call


def border_align(input: Tensor, boxes: Tensor, pool_size: int) -> Tensor:
    """Take the maximum of each border of each box, over points sampled along it.

    Parameters
    ----------
    input : Tensor
        (N, 4 * C, H, W), float32, float16, bfloat16 or float64; C channels each for the top, left,
        bottom and right border.
    boxes : Tensor
        (N, H * W, 4), a box (x1, y1, x2, y2) for each pixel. It gets no gradient. It may be float32
        while ``input`` is float16 or bfloat16; then coordinates are not rounded.
    pool_size : int
        A border is sampled at ``pool_size + 1`` points, including both ends.

    Returns
    -------
    Tensor
        (N, C, H * W, 4), in the memory format of ``input``.
    """
    result: Tensor = _border_align(input, boxes, pool_size)[0]
    return result


class BorderAlign(nn.Module):
    """The operator :func:`border_align` as a module.

    Parameters
    ----------
    pool_size : int
        A border is sampled at ``pool_size + 1`` points.
    """

    def __init__(self, pool_size: int) -> None:
        super().__init__()
        self.pool_size = pool_size

    def forward(self, input: Tensor, boxes: Tensor) -> Tensor:
        """Apply :func:`border_align`."""
        return border_align(input, boxes, self.pool_size)

    def extra_repr(self) -> str:
        """Return the parameter for ``repr``."""
        return f"pool_size={self.pool_size}"

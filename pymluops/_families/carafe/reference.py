# SPDX-License-Identifier: Apache-2.0
"""CARAFE, written from its definition in float64.

A tap outside the input is skipped, not multiplied: whatever its mask holds reaches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import takes_one_image

_Array = npt.NDArray[Any]


def _inside(extent: int, shift: int) -> tuple[slice, slice]:
    """Along one axis: the pixels whose neighbour at `shift` exists, and those neighbours."""
    begin, end = max(0, -shift), max(0, -shift, min(extent, extent - shift))
    return slice(begin, end), slice(begin + shift, end + shift)


def _taps(
    height: int, width: int, kernel_size: int
) -> Iterator[tuple[int, int, tuple[slice, slice], tuple[slice, slice]]]:
    """For each tap (kh, kw): the window centres for which it is on the map, and where it is."""
    r = (kernel_size - 1) // 2
    for kh in range(kernel_size):
        rows, from_rows = _inside(height, kh - r)
        for kw in range(kernel_size):
            cols, from_cols = _inside(width, kw - r)
            yield kh, kw, (rows, cols), (from_rows, from_cols)


def _split(array: npt.ArrayLike, scale: int, tail: tuple[int, ...]) -> _Array:
    """[N, s*H, s*W, channels] as [N, H, s, W, s, *tail], in float64."""
    array = np.asarray(array, np.float64)
    n, height, width, _ = array.shape
    return array.reshape(n, height // scale, scale, width // scale, scale, *tail)


@takes_one_image("input", "mask")
def carafe_forward(
    input: npt.ArrayLike,
    mask: npt.ArrayLike,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> _Array:
    """Reassemble an [N, H, W, C] input into [N, s*H, s*W, C] with a mask per output pixel.

    The mask is [N, s*H, s*W, G*k*k]: output pixel (p, q) is the sum, for each of the G groups of
    channels, of its k x k mask times the window of the input around (p // s, q // s).
    """
    k, g, s = kernel_size, group_size, scale_factor
    x = np.asarray(input, np.float64)
    n, height, width, channels = x.shape
    x = x.reshape(n, height, 1, width, 1, g, channels // g)
    weights = _split(mask, s, (g, k, k))
    output = np.zeros((n, height, s, width, s, g, channels // g))
    with np.errstate(all="ignore"):
        for kh, kw, (rows, cols), (from_rows, from_cols) in _taps(height, width, k):
            output[:, rows, :, cols] += (
                weights[:, rows, :, cols, :, :, kh, kw, None] * x[:, from_rows, :, from_cols]
            )
    return output.reshape(n, s * height, s * width, channels)


@takes_one_image("input", "mask", "grad_output", results=(0, 1))
def carafe_backward(
    input: npt.ArrayLike,
    mask: npt.ArrayLike,
    grad_output: npt.ArrayLike,
    kernel_size: int,
    group_size: int,
    scale_factor: int,
) -> tuple[_Array, _Array]:
    """The gradients of carafe_forward: (grad_input, grad_mask)."""
    k, g, s = kernel_size, group_size, scale_factor
    x = np.asarray(input, np.float64)
    n, height, width, channels = x.shape
    x = x.reshape(n, height, 1, width, 1, g, channels // g)
    weights = _split(mask, s, (g, k, k))
    grad = _split(grad_output, s, (g, channels // g))
    grad_input = np.zeros((n, height, width, g, channels // g))
    grad_mask = np.zeros_like(weights)
    with np.errstate(all="ignore"):
        for kh, kw, (rows, cols), (from_rows, from_cols) in _taps(height, width, k):
            here = grad[:, rows, :, cols]
            grad_mask[:, rows, :, cols, :, :, kh, kw] = (here * x[:, from_rows, :, from_cols]).sum(
                -1
            )
            grad_input[:, from_rows, from_cols] += (
                weights[:, rows, :, cols, :, :, kh, kw, None] * here
            ).sum((2, 4))
    return grad_input.reshape(n, height, width, channels), grad_mask.reshape(np.shape(mask))

# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution, written from its definition: one tap after the other, in float64.

Where a tap samples is computed in float32, one rounding per operation, as the operator defines it,
unless COORDINATES says otherwise; values are multiplied and summed in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import COORDINATES, takes_one_image

_Array = npt.NDArray[Any]
_Sizes = int | tuple[int, ...]


@dataclass(frozen=True)
class _Form:
    """The numbers of a call."""

    kernel: tuple[int, ...]
    pad: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    deformable_group: int
    conv_group: int

    def taps(self) -> Iterator[tuple[int, int]]:
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                yield i, j

    def positions(self, axis: int, tap: int, count: int) -> _Array:
        """Return where a tap would be without an offset, for each output row or column."""
        pixels: _Array = np.arange(count, dtype=np.int64)
        begin = tap * self.dilation[axis] - self.pad[2 * axis]
        return pixels * self.stride[axis] + begin

    def products(self, inputs: int, outputs: int) -> Iterator[tuple[slice, slice]]:
        """Yield the input and the output channels of each group of the convolution."""
        yield from zip(
            _parts(inputs, self.conv_group), _parts(outputs, self.conv_group), strict=True
        )


def _parts(extent: int, count: int) -> list[slice]:
    size = extent // count
    return [slice(part * size, (part + 1) * size) for part in range(count)]


def _form(
    kernel: tuple[int, ...],
    pad: _Sizes,
    stride: _Sizes,
    dilation: _Sizes,
    deformable_group: int,
    conv_group: int,
) -> _Form:
    pads = _two(pad)
    if len(pads) == 2:
        pads = (pads[0], pads[0], pads[1], pads[1])
    return _Form(kernel, pads, _two(stride), _two(dilation), deformable_group, conv_group)


def _two(value: _Sizes) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (int(value),) * 2


class _Axis:
    """Along one axis: which samples are inside, the pixel before each, the weights of both."""

    def __init__(self, at: _Array, extent: int) -> None:
        self.inside = (at > -1) & (at.astype(np.float64) < extent)
        at = np.where(self.inside, at, at.dtype.type(0))
        before = np.floor(at)
        after = at - before
        self.pixel = before.astype(np.int64)
        self.weights = (1 - after).astype(np.float64), after.astype(np.float64)


class _Samples:
    """Where a tap of a deformable group samples an image, for each output pixel."""

    def __init__(self, y: _Array, x: _Array, height: int, width: int) -> None:
        rows, columns = _Axis(y.reshape(-1), height), _Axis(x.reshape(-1), width)
        self.inside = (rows.inside & columns.inside)[:, None]
        self.pixels = rows.pixel, columns.pixel
        self.y = [weight[:, None] for weight in rows.weights]
        self.x = [weight[:, None] for weight in columns.weights]

    def corners(self) -> Iterator[tuple[tuple[_Array, _Array], _Array]]:
        """Yield places and weights: upper left, upper right, lower left, lower right.

        Places are those of an image in a frame of zeros, one pixel wide.
        """
        rows, columns = self.pixels
        for a in (0, 1):
            for b in (0, 1):
                yield (rows + 1 + a, columns + 1 + b), self.y[a] * self.x[b]

    def values(self, framed: _Array) -> list[_Array]:
        return [framed[place] for place, _ in self.corners()]


class _Image:
    """One image of a call: its pixels in a frame of zeros, its offsets and its mask."""

    def __init__(self, image: _Array, offset: _Array, mask: _Array | None, form: _Form) -> None:
        self.form = form
        self.height, self.width, self.channels = image.shape
        self.framed = np.pad(image.astype(np.float64), ((1, 1), (1, 1), (0, 0)))
        self.rows, self.columns = offset.shape[:2]
        group, (kh, kw) = form.deformable_group, form.kernel
        self.offset = offset.reshape(self.rows, self.columns, group, kh, kw, 2)
        if mask is None:
            mask = np.ones(self.offset.shape[:-1])
        self.mask = mask.reshape(-1, group, kh, kw, 1).astype(np.float64)

    def samples(self, i: int, j: int) -> Iterator[tuple[int, slice, _Samples]]:
        """Yield each deformable group, its channels, and where it samples for a tap."""
        dtype = COORDINATES.get()
        y: _Array = self.form.positions(0, i, self.rows).astype(dtype)[:, None]
        x: _Array = self.form.positions(1, j, self.columns).astype(dtype)
        for d, channels in enumerate(_parts(self.channels, self.form.deformable_group)):
            moved = self.offset[:, :, d, i, j].astype(dtype)
            where = _Samples(y + moved[..., 0], x + moved[..., 1], self.height, self.width)
            yield d, channels, where

    def column(self, i: int, j: int) -> _Array:
        """Return what a tap samples for each output pixel, times the mask, 0 outside."""
        column = np.zeros((self.rows * self.columns, self.channels))
        for d, channels, where in self.samples(i, j):
            framed = self.framed[..., channels]
            value = sum(weight * framed[place] for place, weight in where.corners())
            column[:, channels] = np.where(where.inside, value * self.mask[:, d, i, j], 0)
        return column


def _images(
    input: npt.ArrayLike, offset: npt.ArrayLike, mask: npt.ArrayLike | None, form: _Form
) -> Iterator[_Image]:
    masks = None if mask is None else np.asarray(mask)
    offsets = np.asarray(offset)
    for n, image in enumerate(np.asarray(input)):
        yield _Image(image, offsets[n], None if masks is None else masks[n], form)


@takes_one_image("input", "offset", "mask")
def deform_conv_forward(
    input: npt.ArrayLike,
    offset: npt.ArrayLike,
    filter: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    pad: _Sizes = 0,
    stride: _Sizes = 1,
    dilation: _Sizes = 1,
    deformable_group: int = 1,
    conv_group: int = 1,
    im2col_step: int = 1,
) -> _Array:
    """Convolve an [N, H, W, C] input with a [co, kh, kw, C/g] filter whose taps are moved."""
    weights = np.asarray(filter, np.float64)
    kernel = weights.shape[1:3]
    form = _form(kernel, pad, stride, dilation, deformable_group, conv_group)
    outputs = []
    with np.errstate(all="ignore"):
        for image in _images(input, offset, mask, form):
            output = np.zeros((image.rows * image.columns, len(weights)))
            for i, j in form.taps():
                column = image.column(i, j)
                for ins, outs in form.products(image.channels, len(weights)):
                    output[:, outs] += column[:, ins] @ weights[outs, i, j].T
            if bias is not None:
                output += np.asarray(bias, np.float64)
            outputs.append(output.reshape(image.rows, image.columns, -1))
    return np.stack(outputs)


@takes_one_image("input", "offset", "mask", "grad_output", results=(0, 1, 2))
def deform_conv_backward_data(
    input: npt.ArrayLike,
    offset: npt.ArrayLike,
    filter: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    grad_output: npt.ArrayLike,
    pad: _Sizes = 0,
    stride: _Sizes = 1,
    dilation: _Sizes = 1,
    deformable_group: int = 1,
    conv_group: int = 1,
    im2col_step: int = 1,
) -> tuple[_Array, _Array, _Array | None]:
    """(grad_input, grad_offset, grad_mask) of :func:`deform_conv_forward`; None without a mask."""
    weights, gradient = np.asarray(filter, np.float64), np.asarray(grad_output, np.float64)
    form = _form(weights.shape[1:3], pad, stride, dilation, deformable_group, conv_group)
    grads = []
    with np.errstate(all="ignore"):
        for image, grad in zip(_images(input, offset, mask, form), gradient, strict=True):
            grads.append(_image_gradients(image, grad.reshape(-1, len(weights)), weights))
    of_input, of_offset, of_mask = (np.stack(parts) for parts in zip(*grads, strict=True))
    return of_input, of_offset, None if mask is None else of_mask


def _image_gradients(image: _Image, grad: _Array, weights: _Array) -> tuple[_Array, ...]:
    of_framed = np.zeros(image.framed.shape)
    of_offset = np.zeros(image.offset.shape).reshape(-1, *image.offset.shape[2:])
    of_mask = np.zeros(image.mask.shape)
    for i, j in image.form.taps():
        of_column = np.zeros((len(grad), image.channels))
        for ins, outs in image.form.products(image.channels, len(weights)):
            of_column[:, ins] = grad[:, outs] @ weights[outs, i, j]
        for d, channels, where in image.samples(i, j):
            dcol, mask = of_column[:, channels], image.mask[:, d, i, j]
            v00, v01, v10, v11 = where.values(image.framed[..., channels])
            (hy, ly), (hx, lx) = where.y, where.x
            value = hy * hx * v00 + hy * lx * v01 + ly * hx * v10 + ly * lx * v11
            along_y = hx * (v10 - v00) + lx * (v11 - v01)
            along_x = hy * (v01 - v00) + ly * (v11 - v10)
            for slope, scale, target in (
                (value, 1.0, of_mask[:, d, i, j]),
                (along_y, mask, of_offset[:, d, i, j, :1]),
                (along_x, mask, of_offset[:, d, i, j, 1:]),
            ):
                sums = scale * (dcol * slope).sum(1, keepdims=True)
                target[...] = np.where(where.inside, sums, 0)
            for place, weight in where.corners():
                reached = (where.inside & (weight != 0))[:, 0]
                there = place[0][reached], place[1][reached]
                np.add.at(of_framed[..., channels], there, (weight * mask * dcol)[reached])
    return (
        of_framed[1:-1, 1:-1],
        of_offset.reshape(image.rows, image.columns, -1),
        of_mask.reshape(image.rows, image.columns, -1),
    )


@takes_one_image("input", "offset", "mask", "grad_output", results=())
def deform_conv_backward_weight(
    input: npt.ArrayLike,
    offset: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    grad_output: npt.ArrayLike,
    kernel_size: _Sizes,
    pad: _Sizes = 0,
    stride: _Sizes = 1,
    dilation: _Sizes = 1,
    deformable_group: int = 1,
    conv_group: int = 1,
    im2col_step: int = 1,
) -> tuple[_Array, _Array]:
    """(grad_filter, grad_bias) of :func:`deform_conv_forward`."""
    gradient, kernel = np.asarray(grad_output, np.float64), _two(kernel_size)
    form = _form(kernel, pad, stride, dilation, deformable_group, conv_group)
    outputs, inputs = gradient.shape[-1], np.shape(input)[-1]
    grad_filter = np.zeros((outputs, *kernel, inputs // conv_group))
    with np.errstate(all="ignore"):
        for image, grad in zip(_images(input, offset, mask, form), gradient, strict=True):
            flat = grad.reshape(-1, outputs)
            for i, j in form.taps():
                column = image.column(i, j)
                for ins, outs in form.products(inputs, outputs):
                    grad_filter[outs, i, j] += flat[:, outs].T @ column[:, ins]
        return grad_filter, gradient.reshape(-1, outputs).sum(0)

# SPDX-License-Identifier: Apache-2.0
"""Calls of deformable convolution, what they should give, and how near that is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import pymluops
from pymluops.reference import deform_conv as reference

FLOAT_BAR, HALF_BAR = 1e-6, 5e-4
Array = np.ndarray


@dataclass(frozen=True)
class Call:
    """The arguments of the forward; the gradient of its result makes those of the others."""

    x: Array
    offset: Array
    filter: Array
    mask: Array | None = None
    bias: Array | None = None
    numbers: dict[str, Any] = field(default_factory=dict)

    def forward(self, handle: pymluops.Handle, out: Array | None = None) -> Array:
        return pymluops.deform_conv_forward(
            self.x,
            self.offset,
            self.filter,
            self.mask,
            self.bias,
            **self.numbers,
            out=out,
            handle=handle,
        )

    def backward_data(
        self, handle: pymluops.Handle, grad: Array, out: Any = None
    ) -> tuple[Array, ...]:
        return pymluops.deform_conv_backward_data(
            self.x,
            self.offset,
            self.filter,
            self.mask,
            grad_output=grad,
            **self.numbers,
            out=out,
            handle=handle,
        )

    def backward_weight(
        self, handle: pymluops.Handle, grad: Array, out: Any = None
    ) -> tuple[Array, Array]:
        return pymluops.deform_conv_backward_weight(
            self.x,
            self.offset,
            self.mask,
            grad_output=grad,
            kernel_size=self.filter.shape[1:3],
            **self.numbers,
            out=out,
            handle=handle,
        )

    def results(self, handle: pymluops.Handle, grad: Array) -> list[Array]:
        """Return all that the three operators compute."""
        data, weight = self.backward_data(handle, grad), self.backward_weight(handle, grad)
        return [a for a in (self.forward(handle), *data, *weight) if a is not None]

    def expected(self, grad: Array) -> list[Array]:
        """Return what the references compute, in the order of `results`."""
        data = reference.deform_conv_backward_data(
            self.x, self.offset, self.filter, self.mask, grad_output=grad, **self.numbers
        )
        weight = self.expected_of_weight(grad)
        return [a for a in (self.expected_output(), *data, *weight) if a is not None]

    def expected_of_weight(self, grad: Array) -> tuple[Array, Array]:
        weights: tuple[Array, Array] = reference.deform_conv_backward_weight(
            self.x,
            self.offset,
            self.mask,
            grad_output=grad,
            kernel_size=self.filter.shape[1:3],
            **self.numbers,
        )
        return weights

    def expected_output(self) -> Array:
        return reference.deform_conv_forward(
            self.x, self.offset, self.filter, self.mask, self.bias, **self.numbers
        )

    def gradient(self, rng: np.random.Generator) -> Array:
        """Return a gradient of the result. Of one sign: sums must not cancel on tiny maps."""
        shape = (*self.offset.shape[:3], self.filter.shape[0])
        return rng.uniform(0.5, 1.5, shape).astype(self.x.dtype)


def random_call(
    rng: np.random.Generator,
    shape: tuple[int, int, int, int],
    outputs: int,
    kernel: tuple[int, int] = (3, 3),
    *,
    modulated: bool = True,
    moved: float = 2.0,
    **numbers: Any,
) -> Call:
    """Offsets of some pixels, some of them whole, and filters of one sign."""
    n, height, width, channels = shape
    pad, stride, dilation = (
        _four(numbers.get("pad", 0)),
        _two(numbers.get("stride", 1)),
        _two(numbers.get("dilation", 1)),
    )
    ho = (height + sum(pad[:2]) - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    wo = (width + sum(pad[2:]) - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    taps = numbers.get("deformable_group", 1) * kernel[0] * kernel[1]
    offset = rng.normal(0, moved, (n, ho, wo, 2 * taps))
    offset = np.where(rng.random(offset.shape) < 0.1, np.round(offset), offset)
    inputs = channels // numbers.get("conv_group", 1)
    return Call(
        rng.standard_normal(shape, np.float32),
        offset.astype(np.float32),
        rng.uniform(0.5, 1.5, (outputs, *kernel, inputs)).astype(np.float32),
        rng.uniform(0, 1, (n, ho, wo, taps)).astype(np.float32) if modulated else None,
        rng.standard_normal(outputs, np.float32) if modulated else None,
        numbers,
    )


def _two(value: Any) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _four(value: Any) -> tuple[int, int, int, int]:
    if isinstance(value, tuple) and len(value) == 4:
        return value
    rows, columns = _two(value)
    return rows, rows, columns, columns


def as_half(call: Call) -> Call:
    arrays = {name: getattr(call, name) for name in ("x", "offset", "filter", "mask", "bias")}
    return replace(
        call, **{k: None if a is None else a.astype(np.float16) for k, a in arrays.items()}
    )


def images(call: Call, part: slice) -> Call:
    """Return the same call for some of its images."""
    mask = None if call.mask is None else call.mask[part]
    return replace(call, x=call.x[part], offset=call.offset[part], mask=mask)


def check_accuracy(got: Array, expected: Array, bar: float) -> None:
    error = got.astype(np.float64) - expected
    assert np.abs(error).sum() <= bar * np.abs(expected).sum()
    assert np.square(error).sum() <= bar**2 * np.square(expected).sum()


def check_call(call: Call, handle: pymluops.Handle, rng: np.random.Generator, bar: float) -> None:
    grad = call.gradient(rng)
    for got, expected in zip(call.results(handle, grad), call.expected(grad), strict=True):
        assert got.shape == expected.shape
        check_accuracy(got, expected, bar)


def bits(arrays: list[Array]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


def dense(x: Array, weights: Array, pad: int = 0, stride: int = 1, dilation: int = 1) -> Array:
    """Convolve in float64, as everybody does: windows times weights."""
    kh, kw = weights.shape[1:3]
    padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    spans = dilation * (kh - 1) + 1, dilation * (kw - 1) + 1
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, (1, 2))
    windows = windows[:, ::stride, ::stride, :, ::dilation, ::dilation]
    return np.einsum("npqcij,oijc->npqo", windows, weights.astype(np.float64))


#: The example of the contract: four taps, of which one is between four pixels, one on a row, one
#: above the map, and one outside.
EXAMPLE = Call(
    np.float32([1, 2, 3, 4]).reshape(1, 2, 2, 1),
    np.float32([0.5, 0.25, 0, -0.5, -1.5, 0.5, 0, 1]).reshape(1, 1, 1, 8),
    np.float32([1, 2, 3, 4]).reshape(1, 2, 2, 1),
    np.float32([1, 0.5, 2, 3]).reshape(1, 1, 1, 4),
    np.float32([0.5]),
)
EXAMPLE_RESULTS = (
    [8.75],
    [4.75, 4.25, 0.75, 0.25],
    [4, 2, 4, 2, 18, 6, 0, 0],
    [4.5, 6, 4.5, 0],
    [4.5, 1.5, 3, 0],
    [2],
)

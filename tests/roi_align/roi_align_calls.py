# SPDX-License-Identifier: Apache-2.0
"""Calls of RoIAlign, what they should give, and how near that is."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import pymluops
from pymluops.reference import roi_align as reference

FLOAT_BAR, HALF_BAR = 1e-6, 5e-4
Array = np.ndarray


@dataclass(frozen=True)
class Call:
    """The arguments of the forward; the gradient of its result makes those of the backward."""

    x: Array
    rois: Array
    pooled: tuple[int, int] = (2, 3)
    scale: float = 0.5
    ratio: int = 0
    aligned: bool = True
    mode: str = "avg"

    def forward(self, handle: pymluops.Handle, out: Any = None) -> Any:
        """Return the result; for maxima the three of them."""
        return pymluops.roi_align_forward(
            self.x, self.rois, pooled=self.pooled, **self._numbers(), out=out, handle=handle
        )

    def backward(
        self, handle: pymluops.Handle, grad: Array, *argmax: Array, out: Array | None = None
    ) -> Array:
        arguments = {**self._size(), **self._numbers()}
        return pymluops.roi_align_backward(
            grad, self.rois, *argmax, **arguments, out=out, handle=handle
        )

    def expected(self) -> Any:
        return reference.roi_align_forward(self.x, self.rois, pooled=self.pooled, **self._numbers())

    def expected_gradient(self, grad: Array, *argmax: Array) -> Array:
        return reference.roi_align_backward(
            grad, self.rois, *argmax, **self._size(), **self._numbers()
        )

    def _numbers(self) -> dict[str, Any]:
        return {
            "spatial_scale": self.scale,
            "sampling_ratio": self.ratio,
            "aligned": self.aligned,
            "pool_mode": self.mode,
        }

    def _size(self) -> dict[str, int]:
        return dict(zip(("batch", "height", "width"), self.x.shape[:3], strict=True))


def random_rois(rng: np.random.Generator, shape: tuple, count: int, scale: float) -> Array:
    """RoIs anywhere around the map; some are inverted, some have whole numbers."""
    images, height, width, _ = shape
    corner = rng.uniform(-0.3, 0.9, (count, 2)) * [width, height]
    size = rng.uniform(-0.2, 0.8, (count, 2)) * [width, height]
    rois = np.concatenate([rng.integers(0, images, (count, 1)), corner, corner + size], 1)
    rois[:, 1:] /= scale
    return np.where(rng.random(rois.shape) < 0.1, np.round(rois), rois)


def random_call(rng: np.random.Generator, shape: tuple, rois: int, **parameters: Any) -> Call:
    call = Call(np.empty(0), np.empty(0), **parameters)
    return replace(
        call,
        x=rng.standard_normal(shape).astype(np.float32),
        rois=random_rois(rng, shape, rois, call.scale).astype(np.float32),
    )


def as_half(call: Call) -> Call:
    return replace(call, x=call.x.astype(np.float16), rois=call.rois.astype(np.float16))


def check_accuracy(got: Array, expected: Array, bar: float) -> None:
    assert got.shape == expected.shape
    expected = expected.astype(np.float64)
    error = got.astype(np.float64) - expected
    assert np.abs(error).sum() <= bar * np.abs(expected).sum()
    assert np.square(error).sum() <= bar**2 * np.square(expected).sum()


def check_same(got: tuple[Array, ...], expected: tuple[Array, ...]) -> None:
    """Maxima are exact, but for the rounding of half."""
    with np.errstate(over="ignore"):
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other.astype(one.dtype))


def check_call(call: Call, handle: pymluops.Handle, rng: np.random.Generator, bar: float) -> None:
    got = call.forward(handle)
    places = () if call.mode == "avg" else got[1:]
    if call.mode == "avg":
        check_accuracy(got, call.expected(), bar)
    else:
        check_same(got, call.expected())
        got = got[0]
    # Of one sign: on a map of one pixel all of it meets in one sum, which must not cancel.
    grad = rng.uniform(0.5, 1.5, got.shape).astype(got.dtype)
    check_accuracy(call.backward(handle, grad, *places), call.expected_gradient(grad, *places), bar)


def bits(arrays: object) -> list[bytes]:
    parts = arrays if isinstance(arrays, tuple) else (arrays,)
    return [part.tobytes() for part in parts]


#: The example of the contract.
EXAMPLE = np.float32([1, 2, 4, 8, 3, 5, 7, 9, 2, 0, 6, 1]).reshape(1, 3, 4, 1)

# SPDX-License-Identifier: Apache-2.0
"""Calls of deformable RoI pooling, what they should give, and how near that is."""

from dataclasses import dataclass, replace

import numpy as np

import pymluops
from pymluops.reference import deform_roi_pool as reference

FLOAT_BAR, HALF_BAR = 1e-6, 5e-4
Array = np.ndarray


@dataclass(frozen=True)
class Call:
    """The arguments of the forward; the gradient of its result makes those of the backward."""

    x: Array
    rois: Array
    offset: Array | None = None
    pooled: tuple[int, int] = (2, 3)
    scale: float = 0.5
    ratio: int = 0
    gamma: float = 0.1

    def forward(self, handle: pymluops.Handle, out: Array | None = None) -> Array:
        return pymluops.deform_roi_pool_forward(
            self.x, self.rois, self.offset, **self._numbers(), out=out, handle=handle
        )

    def backward(self, handle: pymluops.Handle, grad: Array) -> tuple[Array, Array | None]:
        return pymluops.deform_roi_pool_backward(
            grad, self.x, self.rois, self.offset, **self._numbers(), handle=handle
        )

    def expected(self) -> Array:
        return reference.deform_roi_pool_forward(self.x, self.rois, self.offset, *self._values())

    def expected_gradients(self, grad: Array) -> tuple[Array, Array | None]:
        return reference.deform_roi_pool_backward(
            grad, self.x, self.rois, self.offset, *self._values()
        )

    def _values(self) -> tuple[int, int, float, int, float]:
        return (*self.pooled, self.scale, self.ratio, self.gamma)

    def _numbers(self) -> dict[str, float]:
        names = ("pooled_height", "pooled_width", "spatial_scale", "sampling_ratio", "gamma")
        return dict(zip(names, self._values(), strict=True))


def random_rois(rng: np.random.Generator, shape: tuple, count: int, scale: float) -> Array:
    """RoIs anywhere around the map; some are inverted, some have whole numbers."""
    images, height, width, _ = shape
    corner = rng.uniform(-0.3, 0.9, (count, 2)) * [width, height]
    size = rng.uniform(-0.2, 0.8, (count, 2)) * [width, height]
    rois = np.concatenate([rng.integers(0, images, (count, 1)), corner, corner + size], 1)
    rois[:, 1:] /= scale
    return np.where(rng.random(rois.shape) < 0.1, np.round(rois), rois)


def random_call(rng: np.random.Generator, shape: tuple, rois: int, **parameters: object) -> Call:
    call = Call(np.empty(0), np.empty(0), **parameters)
    offset = rng.uniform(-1, 1, (rois, 2, *call.pooled)) if call.offset is not None else None
    return replace(
        call,
        x=rng.standard_normal(shape).astype(np.float32),
        rois=random_rois(rng, shape, rois, call.scale).astype(np.float32),
        offset=None if offset is None else offset.astype(np.float32),
    )


def as_half(call: Call) -> Call:
    offset = None if call.offset is None else call.offset.astype(np.float16)
    return replace(
        call, x=call.x.astype(np.float16), rois=call.rois.astype(np.float16), offset=offset
    )


def check_accuracy(got: Array, expected: Array, bar: float) -> None:
    error = got.astype(np.float64) - expected
    assert np.abs(error).sum() <= bar * np.abs(expected).sum()
    assert np.square(error).sum() <= bar**2 * np.square(expected).sum()


def check_call(call: Call, handle: pymluops.Handle, rng: np.random.Generator, bar: float) -> None:
    got = call.forward(handle)
    check_accuracy(got, call.expected(), bar)
    # Of one sign: on a map of one pixel all of it meets in one sum, which must not cancel.
    grad = rng.uniform(0.5, 1.5, got.shape).astype(got.dtype)
    for gradient, expected in zip(
        call.backward(handle, grad), call.expected_gradients(grad), strict=True
    ):
        if expected is None:
            assert gradient is None
        else:
            check_accuracy(gradient, expected, bar)


def bits(arrays: object) -> list[bytes]:
    parts = arrays if isinstance(arrays, tuple) else (arrays,)
    return [part.tobytes() for part in parts if part is not None]


GIVEN = np.empty(0)  # stands for an offset that is to be made
RAMP = np.arange(20, dtype=np.float32).reshape(1, 4, 5, 1)

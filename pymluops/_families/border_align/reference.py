# SPDX-License-Identifier: Apache-2.0
"""BorderAlign in NumPy, written from the formulas; slow, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import COORDINATES, floats, takes_one_image

Floats = npt.NDArray[np.floating]
Reals = npt.NDArray[Any]


def border_start_and_stride(boxes: Floats, pool_size: int) -> tuple[Reals, Reals, Reals, Reals]:
    """x, y and the steps dx, dy of every border, each [N, K, 4]."""
    real = COORDINATES.get()
    x1, y1, x2, y2 = np.moveaxis(boxes.astype(real), -1, 0)
    with np.errstate(all="ignore"):
        width = (x2 - x1) / real(pool_size)
        height = (y2 - y1) / real(pool_size)
    still = np.zeros_like(width)
    return (
        np.stack([x1, x1, x2, x2], -1),
        np.stack([y1, y1, y2, y2], -1),
        np.stack([width, still, -width, still], -1),
        np.stack([still, height, still, -height], -1),
    )


def _axis(
    at: Reals, extent: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], npt.NDArray[np.int64], Reals]:
    """Whether each coordinate is inside, the two pixels that it lies between, and the fraction."""
    with np.errstate(invalid="ignore"):
        inside = (at >= -1) & (at <= extent)
    real = at.dtype.type
    at = np.where(inside, np.maximum(at, real(0)), real(0))
    low = np.minimum(at.astype(np.int64), extent - 1)
    high = np.minimum(low + 1, extent - 1)
    fraction = np.where(low >= extent - 1, real(0), at - low.astype(real))
    return inside, low, high, fraction.astype(real)


def _corners(
    y: Reals, x: Reals, height: int, width: int
) -> tuple[npt.NDArray[np.bool_], list[tuple[npt.NDArray[np.int64], Reals]]]:
    """Whether each point is inside, and its four corners: pixel number in the map and weight."""
    inside_y, y0, y1, ly = _axis(y, height)
    inside_x, x0, x1, lx = _axis(x, width)
    one = y.dtype.type(1)
    return inside_y & inside_x, [
        (y0 * width + x0, (one - ly) * (one - lx)),
        (y0 * width + x1, (one - ly) * lx),
        (y1 * width + x0, ly * (one - lx)),
        (y1 * width + x1, ly * lx),
    ]


def _flat(boxes: npt.ArrayLike) -> Floats:
    """[N, H*W, 4], also of boxes [N, H, W, 4]."""
    array = floats(boxes)
    return array.reshape(array.shape[0], -1, array.shape[-1])


@takes_one_image("input", "boxes", results=(0, 1))
def border_align_forward(
    input: npt.ArrayLike, boxes: npt.ArrayLike, pool_size: int
) -> tuple[Reals, npt.NDArray[np.int32]]:
    """Largest sample of every border and the first step that reaches it.

    ``input`` is [N, H, W, 4C], ``boxes`` [N, H*W, 4]; the results are [N, H*W, 4, C]. Samples are
    computed and compared in float32, one rounding per operation, as the choice of the operator is.
    """
    features, boxes = floats(input), _flat(boxes)
    n, height, width, channels = features.shape
    real = COORDINATES.get()
    pixels = features.astype(real).reshape(n, height * width, 4, channels // 4)
    x, y, dx, dy = border_start_and_stride(boxes, pool_size)
    image = np.arange(n)[:, None, None]
    border = np.arange(4)
    best = np.zeros((*x.shape, channels // 4), real)
    argmax = np.zeros(best.shape, np.int32)
    with np.errstate(all="ignore"):
        for step in range(pool_size + 1):
            inside, corners = _corners(y, x, height, width)
            value = np.zeros_like(best)
            for index, (pixel, weight) in enumerate(corners):
                term = weight[..., None] * pixels[image, pixel, border]
                value = term if index == 0 else value + term
            value = np.where(inside[..., None], value, real(0))
            better = value > best if step > 0 else np.ones(best.shape, bool)
            best = np.where(better, value, best)
            argmax = np.where(better, np.int32(step), argmax)
            x, y = x + dx, y + dy
    return best, argmax


@takes_one_image("grad_output", "boxes", "argmax_idx")
def border_align_backward(
    grad_output: npt.ArrayLike,
    boxes: npt.ArrayLike,
    argmax_idx: npt.ArrayLike,
    pool_size: int,
    height: int,
    width: int,
) -> npt.NDArray[np.float64]:
    """Gradient of the map, [N, height, width, 4C]: each border's gradient goes to its best point.

    Points are computed in float32, sums in float64. A corner of weight 0 receives nothing.
    """
    gradient, boxes = np.asarray(grad_output, np.float64), _flat(boxes)
    n, boxes_per_image, _, channels = gradient.shape
    grad_input = np.zeros((n, height * width, 4, channels))
    start_x, start_y, dx, dy = (a[..., None] for a in border_start_and_stride(boxes, pool_size))
    image, _, border, channel = np.ogrid[:n, :boxes_per_image, :4, :channels]
    step = np.asarray(argmax_idx).astype(COORDINATES.get())
    with np.errstate(all="ignore"):
        inside, corners = _corners(start_y + dy * step, start_x + dx * step, height, width)
        for pixel, weight in corners:
            chosen = inside & (weight != 0)
            term = weight.astype(np.float64) * gradient
            where = tuple(
                np.broadcast_to(index, chosen.shape)[chosen]
                for index in (image, pixel, border, channel)
            )
            np.add.at(grad_input, where, term[chosen])
    return grad_input.reshape(n, height, width, 4 * channels)

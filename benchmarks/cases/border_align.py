# SPDX-License-Identifier: Apache-2.0
"""BorderDet sizes: a box around each pixel of a pyramid level; and a sweep of channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import NHWC, Case, Peer, Tensor, TorchCall


def _boxes(rng: np.random.Generator, batch: int, height: int, width: int) -> np.ndarray:
    """Sides from 1 to 50 pixels, evenly in the logarithm, clipped to the map."""
    ys, xs = np.mgrid[:height, :width].reshape(2, -1) + 0.5
    longest = math.log(max(1.0, min(50.0, width / 2)))
    sides = np.exp(rng.uniform(0, longest, (2, batch, height * width)))
    shift = rng.uniform(-0.2, 0.2, sides.shape)
    low = np.stack([xs, ys])[:, None] + sides * (shift - 0.5)
    limit = np.array([width - 1, height - 1]).reshape(2, 1, 1)
    corners = np.concatenate([low, low + sides]).reshape(2, 2, batch, -1)
    clipped = np.clip(corners, 0, limit)
    return np.moveaxis(clipped.reshape(4, batch, -1), 0, -1).astype(np.float32)


def _case(direction: str, size: tuple[int, int], channels: int, batch: int, group: str) -> Case:
    (height, width), pool_size = size, 10
    boxes_per_image = height * width
    forward = direction == "forward"

    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(boxes_per_image)
        shape = (batch, boxes_per_image, 4, channels)
        feature = rng.standard_normal((batch, height, width, 4 * channels))
        boxes = Tensor(_boxes(rng, batch, height, width).astype(dtype))
        rows = Tensor(rng.standard_normal(shape).astype(dtype), NHWC, output=forward)
        argmax = rng.integers(0, pool_size + 1, shape).astype(np.int32)
        steps = Tensor(argmax, NHWC, output=forward)
        image = Tensor(feature.astype(dtype), NHWC, output=not forward)
        if forward:
            return [image, boxes, pool_size, rows, steps]
        return [rows, boxes, steps, pool_size, image]

    elements = batch * boxes_per_image * 4 * channels
    return Case(
        f"border_align_{direction}/K{boxes_per_image}-C{channels}",
        f"mluOpBorderAlign{direction.capitalize()}",
        make,
        read=4 * elements * (1 if forward else 2),
        written=4 * elements * (2 if forward else 1),
        flops=elements * 8 * (pool_size + 1 if forward else 1),
        group=group,
    )


CASES = [
    _case(direction, size, channels, 2, group)
    for group, sizes in (
        ("table", [((7, 10), 256), ((25, 38), 256), ((100, 152), 256), ((100, 152), 128)]),
        ("sweep", [((1, 1), 1), ((1, 1), 2048), *(((25, 38), c) for c in (1, 4, 16, 24))]),
        ("sweep", [((100, 152), 1), ((100, 152), 64)]),
    )
    for size, channels in sizes
    for direction in ("forward", "backward")
]


def _border_align_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    boxes = Tensor(data["boxes"])
    if case.dir == "fwd":
        out, arg = new(data["go"].shape), np.zeros(data["go"].shape, np.int32)
        arguments = [
            Tensor(data["x"], NHWC),
            boxes,
            case.pool,
            Tensor(out, NHWC),
            Tensor(arg, NHWC),
        ]
        return "mluOpBorderAlignForward", arguments, {"out": out, "arg": arg}
    import numba_peer

    arg, gx = numba_peer.argmax_of(case), new(data["x"].shape)
    arguments = [
        Tensor(data["go"], NHWC),
        boxes,
        Tensor(arg, NHWC),
        case.pool,
        Tensor(gx, NHWC),
    ]
    return "mluOpBorderAlignBackward", arguments, {"gx": gx}


#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"border_align": _border_align_peer}


def in_torch() -> Iterator[TorchCall]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    import torch

    from pymluops import torch as ops

    boxes = torch.rand(1, 1024, 4).mul(16) + torch.tensor([0.0, 0.0, 16.0, 16.0])
    images = [torch.randn(1, 1024, 32, 32)]
    yield "border_align", lambda x: ops.border_align(x, boxes, 10), images

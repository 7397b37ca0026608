# SPDX-License-Identifier: Apache-2.0
"""Sizes of detection networks, odd ones, and a sweep of channels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import NHWC, Case, Descriptor, Peer, Tensor, TorchCall


def _descriptor(kernel_size: int, group_size: int, scale_factor: int) -> Descriptor:
    return Descriptor("Carafe", [4, kernel_size, group_size, scale_factor])


def _taps(extent: int, kernel: int) -> int:
    """Taps on the map along one axis, of all its windows."""
    r = kernel // 2
    return sum(min(extent, i + r + 1) - max(0, i - r) for i in range(extent))


def _case(
    direction: str, size: int, channels: int, kernel: int, groups: int, scale: int, group: str
) -> Case:
    forward = direction == "forward"
    shape, upscaled = (1, size, size, channels), (1, scale * size, scale * size, channels)
    masks = (*upscaled[:3], groups * kernel * kernel)
    x, m, y = (4 * int(np.prod(s)) for s in (shape, masks, upscaled))
    taps = _taps(size, kernel) ** 2 * scale * scale

    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(size + channels)
        weights = np.exp(rng.standard_normal((*upscaled[:3], groups, kernel * kernel)))
        weights /= weights.sum(-1, keepdims=True)
        inputs = [
            _descriptor(kernel, groups, scale),
            Tensor(rng.standard_normal(shape).astype(dtype), NHWC),
            Tensor(weights.reshape(masks).astype(dtype), NHWC),
        ]
        if forward:
            return [*inputs, Tensor(np.zeros(upscaled, dtype), NHWC, output=True)]
        return [
            *inputs,
            Tensor(rng.standard_normal(upscaled).astype(dtype), NHWC),
            Tensor(np.zeros(shape, dtype), NHWC, output=True),
            Tensor(np.zeros(masks, dtype), NHWC, output=True),
        ]

    return Case(
        f"carafe_{direction}/{size}x{size}x{channels}-k{kernel}-g{groups}-s{scale}",
        f"mluOpCarafe{direction.capitalize()}",
        make,
        read=x + m if forward else x + m + y,
        written=y if forward else x + m,
        flops=(2 if forward else 4) * taps * channels,
        group=group,
        notes={"multiply_adds": (1 if forward else 2) * taps * channels},
    )


NETWORKS = [(32, 256, 5, 1, 2), (64, 256, 5, 1, 2), (64, 1024, 5, 1, 2), (128, 256, 5, 1, 2)]
ODD = [
    (64, 256, 3, 1, 2),
    (64, 256, 7, 1, 2),
    (48, 64, 45, 1, 1),
    (64, 256, 5, 2, 2),
    (64, 256, 5, 4, 2),
    (64, 256, 5, 64, 2),
    (64, 256, 5, 16, 2),
    (64, 256, 5, 64, 1),
    (64, 256, 5, 256, 2),
    (64, 256, 5, 1, 1),
    (64, 256, 5, 1, 3),
    (32, 256, 5, 1, 5),
    (7, 2048, 5, 1, 2),
]
CHANNELS = (1, 2, 3, 4, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 192)
SWEEP = [(32, c, 5, 1, 2) for c in (*CHANNELS, 255, 256, 257, 384, 511, 512)]
# Channels of 16 groups, and 4 channels of some groups.
SWEEP += [(32, 16 * c, 5, 16, 2) for c in (1, 2, 3, 4, 5, 7, 8, 9, 12, 15)]
SWEEP += [(32, 4 * g, 5, g, 2) for g in (1, 2, 3, 4, 5, 8, 17, 33)]

CASES = [
    _case(direction, *sizes, group)
    for group, shapes in (("table", NETWORKS), ("odd", ODD), ("sweep", SWEEP))
    for sizes in shapes
    for direction in ("forward", "backward")
]


def _carafe_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    carafe = _descriptor(case.k, case.G, case.s)
    inputs = [carafe, Tensor(data["x"], NHWC), Tensor(data["mask"], NHWC)]
    if case.dir == "fwd":
        out = new(data["go"].shape)
        return "mluOpCarafeForward", [*inputs, Tensor(out, NHWC)], {"out": out}
    gx, gm = new(data["x"].shape), new(data["mask"].shape)
    grads = [Tensor(data["go"], NHWC), Tensor(gx, NHWC), Tensor(gm, NHWC)]
    return "mluOpCarafeBackward", [*inputs, *grads], {"gx": gx, "gm": gm}


#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"carafe": _carafe_peer}


def in_torch() -> Iterator[TorchCall]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    import torch

    from pymluops import torch as ops

    for size in (32, 64, 128):
        features = torch.randn(1, 256, size, size)
        masks = torch.randn(1, 25, 2 * size, 2 * size).softmax(1)
        yield f"carafe {size}", lambda x, m: ops.carafe(x, m, 5, 1, 2), [features, masks]

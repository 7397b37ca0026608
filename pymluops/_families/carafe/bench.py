# SPDX-License-Identifier: Apache-2.0
"""Sizes of detection networks, odd ones, and a sweep of channels."""

from typing import Any, NamedTuple

import numpy as np

from pymluops.bench._case import NHWC, Arguments, Case, Descriptor, Tensor


class _Size(NamedTuple):
    size: int
    channels: int
    kernel: int = 5
    groups: int = 1
    scale: int = 2

    @property
    def name(self) -> str:
        size = f"{self.size}x{self.size}x{self.channels}"
        return f"{size}-k{self.kernel}-g{self.groups}-s{self.scale}"


def _taps(extent: int, kernel: int) -> int:
    """Taps on the map along one axis, of all its windows."""
    r = kernel // 2
    return sum(min(extent, i + r + 1) - max(0, i - r) for i in range(extent))


def _case(direction: str, of: _Size, group: str) -> Case:
    forward = direction == "forward"
    size, channels, kernel, groups, scale = of
    shape, upscaled = (1, size, size, channels), (1, scale * size, scale * size, channels)
    masks = (*upscaled[:3], groups * kernel * kernel)
    x, m, y = (4 * int(np.prod(s)) for s in (shape, masks, upscaled))
    taps = _taps(size, kernel) ** 2 * scale * scale

    def make(dtype: np.dtype[Any]) -> Arguments:
        rng = np.random.default_rng(size + channels)

        def normal(shape: tuple[int, ...]) -> Any:
            return rng.standard_normal(shape, np.float32)

        weights = np.exp(normal((*upscaled[:3], groups, kernel * kernel)))
        weights /= weights.sum(-1, keepdims=True)
        inputs: Arguments = {
            "parameters": Descriptor("Carafe", [4, kernel, groups, scale]),
            "x": Tensor(normal(shape).astype(dtype), NHWC),
            "mask": Tensor(weights.reshape(masks).astype(dtype), NHWC),
        }
        if forward:
            return {**inputs, "out": Tensor(np.zeros(upscaled, dtype), NHWC, output=True)}
        return {
            **inputs,
            "grad": Tensor(normal(upscaled).astype(dtype), NHWC),
            "grad_x": Tensor(np.zeros(shape, dtype), NHWC, output=True),
            "grad_mask": Tensor(np.zeros(masks, dtype), NHWC, output=True),
        }

    return Case(
        f"carafe_{direction}/{of.name}",
        f"mluOpCarafe{direction.capitalize()}",
        make,
        {"kernel": kernel, "groups": groups, "scale": scale},
        read=x + m if forward else x + m + y,
        written=y if forward else x + m,
        flops=(2 if forward else 4) * taps * channels,
        group=group,
    )


NETWORKS = [_Size(64, 256), _Size(32, 256), _Size(64, 1024), _Size(128, 256)]
SIZES = [_Size(size, 256) for size in (4, 8, 16, 24, 96)]
ODD = [
    _Size(64, 256, 3),
    _Size(64, 256, 7),
    _Size(48, 64, 45, scale=1),
    *(_Size(64, 256, groups=groups) for groups in (2, 4, 64, 16)),
    _Size(64, 256, groups=64, scale=1),
    _Size(64, 256, groups=256),
    _Size(64, 256, scale=1),
    _Size(64, 256, scale=3),
    _Size(32, 256, scale=5),
    _Size(7, 2048),
]
CHANNELS = (1, 2, 3, 4, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 192)
SWEEP = [_Size(32, c) for c in (*CHANNELS, 255, 256, 257, 384, 511, 512)]
# Channels of 16 groups, and 4 channels of some groups.
SWEEP += [_Size(32, 16 * c, groups=16) for c in (1, 2, 3, 4, 5, 7, 8, 9, 12, 15)]
SWEEP += [_Size(32, 4 * g, groups=g) for g in (1, 2, 3, 4, 5, 8, 17, 33)]

CASES = [
    _case(direction, size, group)
    for group, sizes in (
        ("networks", NETWORKS),
        ("sizes", SIZES),
        ("odd", ODD),
        ("sweep", SWEEP),
    )
    for size in sizes
    for direction in ("forward", "backward")
]

# SPDX-License-Identifier: Apache-2.0
"""The stages of a ResNet-50 for an image of 800 x 1216, a level of a pyramid, and odd sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pymluops._tensor import Array
from pymluops.bench._case import NHWC, Arguments, Case, Descriptor, Pointer, Tensor


@dataclass(frozen=True)
class _Size:
    """A 3 x 3 convolution with as many channels out as in, and a padding of 1."""

    c: int
    h: int
    w: int
    stride: int = 1
    dg: int = 1
    modulated: bool = True
    n: int = 1
    groups: int = 1
    moved: float = 2.0
    group: str = "more"

    @property
    def name(self) -> str:
        parts = [f"c{self.c}-{self.h}x{self.w}"]
        parts += [f"s{self.stride}"] if self.stride > 1 else []
        parts += [f"dg{self.dg}"] if self.dg > 1 else []
        parts += [f"g{self.groups}"] if self.groups > 1 else []
        parts += [] if self.modulated else ["v1"]
        parts += [f"n{self.n}"] if self.n > 1 else []
        parts += [f"moved{self.moved:g}"] if self.moved != 2 else []
        return "-".join(parts)

    @property
    def result(self) -> tuple[int, int, int]:
        return self.n, (self.h - 1) // self.stride + 1, (self.w - 1) // self.stride + 1


def _make(size: _Size, direction: str, dtype: np.dtype[Any]) -> Arguments:
    rng = np.random.default_rng(1700 + size.c)

    def normal(*shape: int) -> Array:
        return rng.standard_normal(shape, dtype=np.float32)

    def tensor(array: Array | None, *, output: bool = False) -> Tensor:
        return Tensor(None if array is None else array.astype(dtype), NHWC, output)

    def like(given: Tensor) -> Tensor:
        found = None if given.array is None else np.zeros_like(given.array)
        return Tensor(found, NHWC, output=True)

    taps = size.dg * 9
    x = tensor(normal(size.n, size.h, size.w, size.c))
    offset = tensor(size.moved * normal(*size.result, 2 * taps))
    modulation = 1 / (1 + np.exp(-normal(*size.result, taps))) if size.modulated else None
    mask = tensor(modulation)
    weights = tensor(normal(size.c, 3, 3, size.c // size.groups) / np.float32(3 * np.sqrt(size.c)))
    grad = tensor(normal(*size.result, size.c))
    pairs = [1, 1, 1, 1], [size.stride, size.stride], [1, 1]
    settings = [4, *pairs, size.dg, size.groups, 1, 2]
    given: Arguments = {
        "parameters": Descriptor("DCN", settings),
        "x": x,
        "offset": offset,
        "mask": mask,
    }
    nowhere: Arguments = {"workspace": Pointer(None), "workspace_size": 0}
    if direction == "forward":
        out = like(grad)
        return {**given, "weights": weights, "bias": Tensor(None), **nowhere, "out": out}
    if direction == "backward_data":
        found: Arguments = {
            "grad_x": like(x),
            "grad_offset": like(offset),
            "grad_mask": like(mask),
        }
        return {**given, "weights": weights, "grad": grad, **nowhere, **found}
    of_weights = {"grad_weights": like(weights), "grad_bias": Tensor(None)}
    return {**given, "grad": grad, **nowhere, **of_weights}


def _case(size: _Size, direction: str) -> Case:
    def make(dtype: np.dtype[Any]) -> Arguments:
        return _make(size, direction, dtype)

    n, ho, wo = size.result
    pixels, taps = n * ho * wo, 9 * size.dg
    image, result = 4 * n * size.h * size.w * size.c, 4 * pixels * size.c
    moves = 4 * pixels * taps * (3 if size.modulated else 2)
    weights = 36 * size.c * size.c // size.groups
    read, written = {
        "forward": (image + moves + weights, result),
        "backward_data": (image + moves + weights + result, image + moves),
        "backward_weight": (image + moves + result, weights),
    }[direction]
    return Case(
        f"deform_conv_{direction}/{size.name}",
        f"mluOpDCN{direction.title().replace('_', '')}",
        make,
        {
            "stride": size.stride,
            "deformable_groups": size.dg,
            "groups": size.groups,
            "channels": size.c,
        },
        read=read,
        written=written,
        flops=2 * pixels * 9 * size.c * size.c // size.groups,
        group=size.group,
    )


SIZES = [
    _Size(256, 50, 76, group="networks"),
    _Size(64, 200, 304, group="networks"),
    _Size(512, 25, 38, group="networks"),
    *(_Size(256, h, w, group="sizes") for h, w in ((4, 5), (7, 10), (13, 19), (25, 38))),
    _Size(256, 100, 152, group="sizes"),
    _Size(128, 100, 152),
    _Size(128, 200, 304, stride=2),
    _Size(256, 100, 152, stride=2),
    _Size(512, 50, 76, stride=2),
    _Size(64, 200, 304, dg=4),
    _Size(256, 50, 76, dg=4),
    _Size(64, 200, 304, modulated=False),
    _Size(256, 50, 76, modulated=False),
    _Size(128, 100, 152, n=2),
    _Size(256, 50, 76, n=2),
    *(_Size(c, 40, 40, group="sweep") for c in (1, 3, 8, 16, 17, 24, 32, 48, 65, 96, 130, 1024)),
    *(_Size(128, 50, 76, groups=g, group="sweep") for g in (2, 8, 32, 128)),
    *(_Size(128, 50, 76, moved=m, group="sweep") for m in (0.0, 20.0, 1e30)),
    _Size(16, 1, 1, group="sweep"),
    _Size(256, 7, 7, n=64, group="sweep"),
]

CASES = [
    _case(size, direction)
    for size in SIZES
    for direction in ("forward", "backward_data", "backward_weight")
]

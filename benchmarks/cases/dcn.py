# SPDX-License-Identifier: Apache-2.0
"""The stages of a ResNet-50 for an image of 800 x 1216, a level of a pyramid, and odd sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import NHWC, Case, Descriptor, Peer, Pointer, Tensor, TorchCall


@dataclass(frozen=True)
class Size:
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
    group: str = "table"

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


def _descriptor(stride: int, deformable_group: int, conv_group: int) -> Descriptor:
    pairs = [1, 1, 1, 1], [stride, stride], [1, 1]
    return Descriptor("DCN", [4, *pairs, deformable_group, conv_group, 1, 2])


def _arrays(size: Size, dtype: np.dtype) -> dict[str, np.ndarray | None]:
    rng = np.random.default_rng(1700 + size.c)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    taps = size.dg * 9
    arrays = {
        "x": normal(size.n, size.h, size.w, size.c),
        "off": size.moved * normal(*size.result, 2 * taps),
        "m": 1 / (1 + np.exp(-normal(*size.result, taps))) if size.modulated else None,
        "f": normal(size.c, 3, 3, size.c // size.groups) / np.float32(3 * np.sqrt(size.c)),
        "go": normal(*size.result, size.c),
    }
    return {name: None if a is None else a.astype(dtype) for name, a in arrays.items()}


def _like(array: np.ndarray | None, new: Callable[..., Any]) -> np.ndarray | None:
    return None if array is None else new(array.shape)


def _call(direction: str, made: Descriptor, data: dict[str, Any], new: Callable[..., Any]) -> Peer:
    """The function of a direction, its arguments, and its results by their names."""
    moved = [Tensor(data["x"], NHWC), Tensor(data["off"], NHWC), Tensor(data["m"], NHWC)]
    weights, grad, nowhere = Tensor(data["f"], NHWC), Tensor(data["go"], NHWC), [Pointer(None), 0]
    if direction == "fwd":
        results = {"out": new(data["go"].shape)}
        inputs = [made, *moved, weights, Tensor(None)]
    elif direction == "bwd_data":
        results = {"gx": new(data["x"].shape), "goff": new(data["off"].shape)}
        results["gm"] = _like(data["m"], new)
        inputs = [made, *moved, weights, grad]
    else:
        results = {"gf": new(data["f"].shape)}
        inputs = [made, *moved, grad]
    outputs = [Tensor(array, NHWC, output=True) for array in results.values()]
    outputs += [Tensor(None)] if direction == "bwd_weight" else []
    api = {"fwd": "Forward", "bwd_data": "BackwardData", "bwd_weight": "BackwardWeight"}
    found = {name: array for name, array in results.items() if array is not None}
    return f"mluOpDCN{api[direction]}", [*inputs, *nowhere, *outputs], found


def _case(size: Size, direction: str) -> Case:
    made = _descriptor(size.stride, size.dg, size.groups)

    def make(dtype: np.dtype) -> list[Any]:
        arrays = _arrays(size, dtype)
        return _call(direction, made, arrays, lambda shape: np.zeros(shape, dtype))[1]

    n, ho, wo = size.result
    pixels, taps = n * ho * wo, 9 * size.dg
    image, result = 4 * n * size.h * size.w * size.c, 4 * pixels * size.c
    moves = 4 * pixels * taps * (3 if size.modulated else 2)
    weights = 36 * size.c * size.c // size.groups
    read, written = {
        "fwd": (image + moves + weights, result),
        "bwd_data": (image + moves + weights + result, image + moves),
        "bwd_weight": (image + moves + result, weights),
    }[direction]
    api = {"fwd": "forward", "bwd_data": "backward_data", "bwd_weight": "backward_weight"}
    return Case(
        f"deform_conv_{api[direction]}/{size.name}",
        _call(direction, made, _arrays(Size(1, 1, 1), np.dtype(np.float32)), np.zeros)[0],
        make,
        read=read,
        written=written,
        flops=2 * pixels * 9 * size.c * size.c // size.groups,
        group=size.group,
    )


SIZES = [
    Size(64, 200, 304),
    Size(128, 100, 152),
    Size(256, 50, 76),
    Size(512, 25, 38),
    Size(256, 100, 152),
    Size(128, 200, 304, stride=2),
    Size(256, 100, 152, stride=2),
    Size(512, 50, 76, stride=2),
    Size(64, 200, 304, dg=4),
    Size(256, 50, 76, dg=4),
    Size(64, 200, 304, modulated=False),
    Size(256, 50, 76, modulated=False),
    Size(128, 100, 152, n=2),
    Size(256, 50, 76, n=2),
]
SIZES += [Size(c, 40, 40, group="sweep") for c in (1, 3, 8, 16, 17, 24, 32, 48, 65, 96, 130, 1024)]
SIZES += [Size(128, 50, 76, groups=g, group="sweep") for g in (2, 8, 32, 128)]
SIZES += [Size(128, 50, 76, moved=m, group="sweep") for m in (0.0, 20.0, 1e30)]
SIZES += [Size(16, 1, 1, group="sweep"), Size(256, 7, 7, n=64, group="sweep")]

CASES = [
    _case(size, direction) for size in SIZES for direction in ("fwd", "bwd_data", "bwd_weight")
]


def _peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    return _call(case.dir, _descriptor(case.stride, case.dg, 1), data, new)


#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"dcn": _peer}


def in_torch() -> Iterator[TorchCall]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    import torch

    from pymluops import torch as ops

    for c, h, w in ((64, 100, 152), (256, 50, 76)):
        weight, bias = torch.randn(c, c, 3, 3) / 50, torch.zeros(c)
        images = [torch.randn(1, c, h, w), torch.randn(1, 18, h, w), torch.rand(1, 9, h, w)]
        yield (
            f"modulated_deform_conv2d {c}",
            lambda x, o, m, f=weight, b=bias: ops.modulated_deform_conv2d(x, o, m, f, b, 1, 1),
            images,
        )

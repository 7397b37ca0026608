# SPDX-License-Identifier: Apache-2.0
"""The levels of a feature pyramid, and a sweep over what makes RoIs differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import NHWC, Case, Peer, Tensor, TorchCall


@dataclass(frozen=True)
class Size:
    """A map, its RoIs, and how they are sampled. `side` is the range of RoI sizes in map pixels."""

    name: str
    map: tuple[int, int, int, int]
    rois: int
    pooled: int = 7
    ratio: int = 2
    offset: bool = True
    side: tuple[float, float] = (6.0, 100.0)
    group: str = "table"


GAMMA = 0.1
SCALE = 0.25


def _rois(size: Size, rng: np.random.Generator) -> np.ndarray:
    """Sorted by image, of log-uniform area and aspect ratio, inside the map if they fit."""
    images, height, width, _ = size.map
    low, high = size.side
    side = np.exp(rng.uniform(math.log(low), math.log(min(high, max(low, height / 2))), size.rois))
    aspect = np.exp(rng.uniform(math.log(0.5), math.log(2.0), size.rois))
    w, h = side * np.sqrt(aspect), side / np.sqrt(aspect)
    x = 0.2 * w + rng.random(size.rois) * np.maximum(width - 1.4 * w, 0)
    y = 0.2 * h + rng.random(size.rois) * np.maximum(height - 1.4 * h, 0)
    image = np.sort(rng.integers(0, images, size.rois))
    corners = np.stack([x, y, x + w, y + h], 1) / SCALE
    return np.concatenate([image[:, None], corners], 1)


def _case(size: Size, direction: str) -> Case:
    forward = direction == "forward"
    plane = (size.pooled, size.pooled)
    pooled_shape = (size.rois, *plane, size.map[3])

    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(size.rois)
        pooled = rng.standard_normal(pooled_shape).astype(dtype)
        offset = grad_offset = None
        if size.offset:
            offset = np.clip(rng.standard_normal((size.rois, 2, *plane)) * 0.3, -1, 1).astype(dtype)
            grad_offset = np.empty_like(offset)
        image = rng.standard_normal(size.map, np.float32).astype(dtype)
        inputs = [Tensor(image, NHWC), Tensor(_rois(size, rng).astype(dtype)), Tensor(offset)]
        numbers = [*plane, SCALE, size.ratio, GAMMA]
        if forward:
            return [*inputs, *numbers, Tensor(pooled, NHWC, output=True)]
        return [
            Tensor(pooled, NHWC),
            *inputs,
            *numbers,
            Tensor(np.empty_like(image), NHWC, output=True),
            Tensor(grad_offset, output=True),
        ]

    map_bytes, pooled_bytes = 4 * math.prod(size.map), 4 * math.prod(pooled_shape)
    return Case(
        f"deform_roi_pool_{direction}/{size.name}",
        f"mluOpDeformRoiPool{direction.capitalize()}",
        make,
        read=min(map_bytes, 4 * pooled_bytes) if forward else pooled_bytes,
        written=pooled_bytes if forward else map_bytes,
        group=size.group,
    )


P2, P3, P4, P5 = (2, 200, 304, 256), (2, 100, 152, 256), (2, 50, 76, 256), (2, 25, 38, 256)

SIZES = [
    Size("998-sr2", P2, 998),
    Size("998-sr0", P2, 998, ratio=0),
    Size("998-sr2-nooffset", P2, 998, offset=False),
    Size("13-sr2", P3, 13, side=(3.0, 50.0)),
    Size("13-sr0", P3, 13, ratio=0, side=(3.0, 50.0)),
    Size("11-sr2", P4, 11, side=(3.0, 25.0)),
    Size("2-sr2", P5, 2, side=(3.0, 12.0)),
]
SIZES += [
    Size(f"channels-{c}", (1, 64, 64, c), 200, group="sweep") for c in (1, 3, 16, 100, 256, 2048)
]
SIZES += [
    Size("smallest", (1, 1, 1, 1), 1, pooled=1, side=(1.0, 1.0), group="sweep"),
    Size("one-bin", (1, 200, 304, 256), 1, pooled=1, ratio=0, side=(200.0, 200.0), group="sweep"),
    Size("whole-map", (1, 100, 152, 256), 50, ratio=0, side=(100.0, 100.0), group="sweep"),
    Size("huge", (1, 100, 152, 256), 50, ratio=0, side=(1e30, 1e30), group="sweep"),
    Size("many-on-small", (1, 7, 7, 256), 10000, side=(1.0, 7.0), group="sweep"),
    Size("dense-samples", (1, 50, 50, 64), 50, ratio=2**31 - 1, side=(5.0, 40.0), group="sweep"),
]

CASES = [_case(size, direction) for size in SIZES for direction in ("forward", "backward")]


def _deform_roi_pool_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    inputs = [Tensor(data["x"], NHWC), Tensor(data["rois"]), Tensor(data["offset"])]
    numbers = [case.P, case.P, case.scale, case.sr, case.gamma]
    if case.dir == "fwd":
        out = new(data["go"].shape)
        return (
            "mluOpDeformRoiPoolForward",
            [*inputs, *numbers, Tensor(out, NHWC)],
            {"out": out},
        )
    results = {"gx": new(data["x"].shape)}
    goff = None
    if data["offset"] is not None:
        goff = results["goff"] = new(data["offset"].shape)
    arguments = [
        Tensor(data["go"], NHWC),
        *inputs,
        *numbers,
        Tensor(results["gx"], NHWC),
    ]
    return "mluOpDeformRoiPoolBackward", [*arguments, Tensor(goff)], results


#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"deform_roi_pool": _deform_roi_pool_peer}


def in_torch() -> Iterator[TorchCall]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    import torch

    from pymluops import torch as ops

    corners = torch.rand(200, 2) * 100
    rois = torch.cat([torch.zeros(200, 1), corners, corners + 50], 1)
    images = [torch.randn(1, 256, 100, 100)]
    yield "deform_roi_pool", lambda x: ops.deform_roi_pool(x, rois, None, 7, 0.5, 2, 0.1), images

# SPDX-License-Identifier: Apache-2.0
"""The levels of a feature pyramid, and a sweep over what makes boxes differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import NHWC, Case, Descriptor, Peer, Tensor


@dataclass(frozen=True)
class Size:
    """A map, its boxes, and how they are sampled. `side` is the range of their sizes in pixels."""

    name: str
    map: tuple[int, int, int, int]
    boxes: int
    pooled: int = 7
    ratio: int = 2
    maximum: bool = False
    side: tuple[float, float] = (6.0, 100.0)
    group: str = "table"


SCALE = 0.25
MAXIMUM, MEAN = 0, 1


def _boxes(size: Size, rng: np.random.Generator) -> np.ndarray:
    """Sorted by image, of log-uniform area and aspect ratio, inside the map if they fit."""
    images, height, width, _ = size.map
    low, high = size.side
    side = np.exp(rng.uniform(math.log(low), math.log(min(high, max(low, height / 2))), size.boxes))
    aspect = np.exp(rng.uniform(math.log(0.5), math.log(2.0), size.boxes))
    w, h = side * np.sqrt(aspect), side / np.sqrt(aspect)
    x = 0.2 * w + rng.random(size.boxes) * np.maximum(width - 1.4 * w, 0)
    y = 0.2 * h + rng.random(size.boxes) * np.maximum(height - 1.4 * h, 0)
    image = np.sort(rng.integers(0, images, size.boxes))
    corners = np.stack([x, y, x + w, y + h], 1) / SCALE
    return np.concatenate([image[:, None], corners], 1)


def _descriptor(size: Any, ratio: int, scale: float, mode: int) -> Descriptor:
    values = [size, size, ratio, scale, mode, True]
    return Descriptor("RoiAlignForward", values, version="_v2")


def _places(size: Size, boxes: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Where the maxima may be: one of the samples of each bin, x and y."""
    found = []
    samples = max(size.ratio, 1)
    for low, high, axis in ((1, 3, 2), (2, 4, 1)):
        start, extent = boxes[:, low] * SCALE - 0.5, (boxes[:, high] - boxes[:, low]) * SCALE
        shape = [1, 1, 1, 1]
        shape[axis] = size.pooled
        bins = np.arange(size.pooled).reshape(shape)
        pick = rng.integers(0, samples, (size.boxes, size.pooled, size.pooled, size.map[3]))
        step = (extent / size.pooled).reshape(-1, 1, 1, 1)
        found.append(start.reshape(-1, 1, 1, 1) + (bins + (pick + 0.5) / samples) * step)
    return found


def _case(size: Size, direction: str) -> Case:
    forward = direction == "forward"
    pooled_shape = (size.boxes, size.pooled, size.pooled, size.map[3])
    mode = MAXIMUM if size.maximum else MEAN

    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(size.boxes)
        pooled = rng.standard_normal(pooled_shape, np.float32).astype(dtype)
        image = rng.standard_normal(size.map, np.float32).astype(dtype)
        boxes = _boxes(size, rng)
        rows = Tensor(boxes.astype(dtype))
        if forward:
            argmax = [Tensor(None), Tensor(None)]
            if size.maximum:
                argmax = [Tensor(np.empty_like(pooled), NHWC, output=True) for _ in range(2)]
            made = _descriptor(size.pooled, size.ratio, SCALE, mode)
            return [made, Tensor(image, NHWC), rows, Tensor(pooled, NHWC, output=True), *argmax]
        of_map = Tensor(np.empty_like(image), NHWC, output=True)
        if not size.maximum:
            return [SCALE, size.ratio, True, Tensor(pooled, NHWC), rows, of_map]
        places = [Tensor(place.astype(dtype), NHWC) for place in _places(size, boxes, rng)]
        return [Tensor(pooled, NHWC), rows, *places, SCALE, size.ratio, True, mode, of_map]

    map_bytes, pooled_bytes = 4 * math.prod(size.map), 4 * math.prod(pooled_shape)
    tensors = 3 if size.maximum else 1
    api = "Forward_v2" if forward else "Backward_v2" if size.maximum else "Backward"
    return Case(
        f"roi_align_{direction}/{size.name}",
        f"mluOpRoiAlign{api}",
        make,
        read=min(map_bytes, 4 * pooled_bytes) if forward else tensors * pooled_bytes,
        written=tensors * pooled_bytes if forward else map_bytes,
        group=size.group,
    )


P2, P3, P5 = (2, 200, 304, 256), (2, 100, 152, 256), (2, 25, 38, 256)

SIZES = [
    Size("p2-1000-sr2", P2, 1000),
    Size("p2-1000-sr0", P2, 1000, ratio=0),
    Size("p2-1000-14x14-sr2", P2, 1000, pooled=14),
    Size("p3-500-sr0", P3, 500, ratio=0, side=(3.0, 50.0)),
    Size("p5-200-sr2", P5, 200, side=(3.0, 12.0)),
    Size("p2-1000-sr2-max", P2, 1000, maximum=True),
    Size("p2-1000-sr0-max", P2, 1000, ratio=0, maximum=True),
]
SIZES += [
    Size(f"channels-{c}{'-max' * maximum}", (1, 64, 64, c), 200, maximum=maximum, group="sweep")
    for c in (1, 3, 16, 100, 2048)
    for maximum in (False, True)
]
SIZES += [
    Size("smallest", (1, 1, 1, 1), 1, pooled=1, side=(1.0, 1.0), group="sweep"),
    Size("whole-map", (1, 100, 152, 256), 50, ratio=0, side=(100.0, 100.0), group="sweep"),
    Size("huge", (1, 100, 152, 256), 50, ratio=0, side=(1e30, 1e30), group="sweep"),
    Size("many-on-small", (1, 7, 7, 256), 10000, side=(1.0, 7.0), group="sweep"),
]

CASES = [_case(size, direction) for size in SIZES for direction in ("forward", "backward")]


def _roi_align_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    maximum = bool(case.maximum)
    rows = Tensor(data["rois"])
    if case.dir != "fwd":
        of_map = new(data["x"].shape)
        settings = [case.scale, case.sr, True]
        arguments = [*settings, Tensor(data["go"], NHWC), rows, Tensor(of_map, NHWC)]
        return "mluOpRoiAlignBackward", arguments, {"gx": of_map}
    shape = data["go"].shape
    names = ("out", "argx", "argy") if maximum else ("out",)
    results = {name: new(shape) for name in names}
    tensors = [Tensor(result, NHWC) for result in results.values()]
    tensors += [Tensor(None)] * (3 - len(tensors))
    made = _descriptor(case.P, case.sr, case.scale, MAXIMUM if maximum else MEAN)
    arguments = [made, Tensor(data["x"], NHWC), rows, *tensors]
    return "mluOpRoiAlignForward_v2", arguments, dict(results)


#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"roi_align": _roi_align_peer}

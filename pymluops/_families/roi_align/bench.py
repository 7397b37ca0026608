# SPDX-License-Identifier: Apache-2.0
"""The levels of a feature pyramid, and a sweep over what makes boxes differ."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymluops._families._regions import regions
from pymluops._tensor import Array
from pymluops.bench._case import NHWC, Arguments, Case, Descriptor, Tensor


@dataclass(frozen=True)
class _Size:
    """A map, its boxes, and how they are sampled. `side` is their size in pixels of the map."""

    name: str
    map: tuple[int, int, int, int]
    boxes: int
    pooled: int = 7
    ratio: int = 2
    maximum: bool = False
    side: tuple[float, float] = (6.0, 100.0)
    group: str = "networks"


SCALE = 0.25
MAXIMUM, MEAN = 0, 1


def _places(size: _Size, boxes: Array, rng: np.random.Generator) -> list[Array]:
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


def _pooled_shape(size: _Size) -> tuple[int, ...]:
    return size.boxes, size.pooled, size.pooled, size.map[3]


def _make(size: _Size, direction: str, dtype: np.dtype[Any]) -> Arguments:
    rng = np.random.default_rng(size.boxes)
    mode = MAXIMUM if size.maximum else MEAN
    pooled = rng.standard_normal(_pooled_shape(size), np.float32).astype(dtype)
    image = rng.standard_normal(size.map, np.float32).astype(dtype)
    boxes = regions(rng, size.boxes, size.map, size.side, SCALE)
    rois = Tensor(boxes.astype(dtype))
    if direction == "forward":
        places = [np.empty_like(pooled) if size.maximum else None for _ in range(2)]
        values = [size.pooled, size.pooled, size.ratio, SCALE, mode, True]
        return {
            "parameters": Descriptor("RoiAlignForward", values, version="_v2"),
            "x": Tensor(image, NHWC),
            "rois": rois,
            "out": Tensor(pooled, NHWC, output=True),
            "argmax_x": Tensor(places[0], NHWC, output=True),
            "argmax_y": Tensor(places[1], NHWC, output=True),
        }
    grad, of_map = Tensor(pooled, NHWC), Tensor(np.empty_like(image), NHWC, output=True)
    settings: Arguments = {
        "spatial_scale": SCALE,
        "sampling_ratio": size.ratio,
        "aligned": True,
    }
    if not size.maximum:
        return {**settings, "grad": grad, "rois": rois, "grad_x": of_map}
    x, y = (Tensor(place.astype(dtype), NHWC) for place in _places(size, boxes, rng))
    given: Arguments = {"grad": grad, "rois": rois, "argmax_x": x, "argmax_y": y}
    return {**given, **settings, "pool_mode": mode, "grad_x": of_map}


def _case(size: _Size, direction: str) -> Case:
    forward = direction == "forward"

    def make(dtype: np.dtype[Any]) -> Arguments:
        return _make(size, direction, dtype)

    map_bytes, pooled_bytes = 4 * math.prod(size.map), 4 * math.prod(_pooled_shape(size))
    tensors = 3 if size.maximum else 1
    api = "Forward_v2" if forward else "Backward_v2" if size.maximum else "Backward"
    return Case(
        f"roi_align_{direction}/{size.name}",
        f"mluOpRoiAlign{api}",
        make,
        {
            "pooled": size.pooled,
            "scale": SCALE,
            "ratio": size.ratio,
            "maximum": size.maximum,
            "map": size.map,
        },
        read=min(map_bytes, 4 * pooled_bytes) if forward else tensors * pooled_bytes,
        written=tensors * pooled_bytes if forward else map_bytes,
        group=size.group,
    )


P2, P3, P5 = (2, 200, 304, 256), (2, 100, 152, 256), (2, 25, 38, 256)

SIZES = [
    _Size("p2-1000-sr2", P2, 1000),
    _Size("p2-1000-sr0", P2, 1000, ratio=0),
    _Size("p5-200-sr2", P5, 200, side=(3.0, 12.0)),
    _Size("p2-1000-sr2-max", P2, 1000, maximum=True),
    *(_Size(f"p3-{n}-sr2", P3, n, side=(3.0, 50.0), group="sizes") for n in (1, 10, 50, 200, 500)),
    _Size("p2-1000-14x14-sr2", P2, 1000, pooled=14, group="more"),
    _Size("p3-500-sr0", P3, 500, ratio=0, side=(3.0, 50.0), group="more"),
    _Size("p2-1000-sr0-max", P2, 1000, ratio=0, maximum=True, group="more"),
    *(
        _Size(
            f"channels-{c}{'-max' * maximum}", (1, 64, 64, c), 200, maximum=maximum, group="sweep"
        )
        for c in (1, 3, 16, 100, 2048)
        for maximum in (False, True)
    ),
    _Size("smallest", (1, 1, 1, 1), 1, pooled=1, side=(1.0, 1.0), group="sweep"),
    _Size("whole-map", (1, 100, 152, 256), 50, ratio=0, side=(100.0, 100.0), group="sweep"),
    _Size("huge", (1, 100, 152, 256), 50, ratio=0, side=(1e30, 1e30), group="sweep"),
    _Size("many-on-small", (1, 7, 7, 256), 10000, side=(1.0, 7.0), group="sweep"),
]

CASES = [_case(size, direction) for size in SIZES for direction in ("forward", "backward")]

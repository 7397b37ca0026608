# SPDX-License-Identifier: Apache-2.0
"""The levels of a feature pyramid, and a sweep over what makes regions differ."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymluops._families._regions import regions
from pymluops.bench._case import NHWC, Arguments, Case, Tensor


@dataclass(frozen=True)
class _Size:
    """A map, its regions, and how they are sampled. `side` is their size in pixels of the map."""

    name: str
    map: tuple[int, int, int, int]
    rois: int
    pooled: int = 7
    ratio: int = 2
    offset: bool = True
    side: tuple[float, float] = (6.0, 100.0)
    group: str = "networks"


GAMMA = 0.1
SCALE = 0.25


def _case(size: _Size, direction: str) -> Case:
    forward = direction == "forward"
    plane = (size.pooled, size.pooled)
    pooled_shape = (size.rois, *plane, size.map[3])

    def make(dtype: np.dtype[Any]) -> Arguments:
        rng = np.random.default_rng(size.rois)
        pooled = rng.standard_normal(pooled_shape, np.float32).astype(dtype)
        offset = grad_offset = None
        if size.offset:
            offset = np.clip(rng.standard_normal((size.rois, 2, *plane)) * 0.3, -1, 1).astype(dtype)
            grad_offset = np.empty_like(offset)
        image = rng.standard_normal(size.map, np.float32).astype(dtype)
        rois = regions(rng, size.rois, size.map, size.side, SCALE).astype(dtype)
        given: Arguments = {
            "x": Tensor(image, NHWC),
            "rois": Tensor(rois),
            "offset": Tensor(offset),
            "pooled_height": size.pooled,
            "pooled_width": size.pooled,
            "spatial_scale": SCALE,
            "sampling_ratio": size.ratio,
            "gamma": GAMMA,
        }
        if forward:
            return {**given, "out": Tensor(pooled, NHWC, output=True)}
        return {
            "grad": Tensor(pooled, NHWC),
            **given,
            "grad_x": Tensor(np.empty_like(image), NHWC, output=True),
            "grad_offset": Tensor(grad_offset, output=True),
        }

    map_bytes, pooled_bytes = 4 * math.prod(size.map), 4 * math.prod(pooled_shape)
    return Case(
        f"deform_roi_pool_{direction}/{size.name}",
        f"mluOpDeformRoiPool{direction.capitalize()}",
        make,
        {"pooled": size.pooled, "scale": SCALE, "ratio": size.ratio, "gamma": GAMMA},
        read=min(map_bytes, 4 * pooled_bytes) if forward else pooled_bytes,
        written=pooled_bytes if forward else map_bytes,
        group=size.group,
    )


P2, P3, P4, P5 = (2, 200, 304, 256), (2, 100, 152, 256), (2, 50, 76, 256), (2, 25, 38, 256)

SIZES = [
    _Size("998-sr2", P2, 998),
    _Size("998-sr0", P2, 998, ratio=0),
    _Size("13-sr2", P3, 13, side=(3.0, 50.0)),
    *(_Size(f"{n}-p3-sr2", P3, n, side=(3.0, 50.0), group="sizes") for n in (1, 50, 200, 500)),
    _Size("998-sr2-nooffset", P2, 998, offset=False, group="more"),
    _Size("13-sr0", P3, 13, ratio=0, side=(3.0, 50.0), group="more"),
    _Size("11-sr2", P4, 11, side=(3.0, 25.0), group="more"),
    _Size("2-sr2", P5, 2, side=(3.0, 12.0), group="more"),
    *(
        _Size(f"channels-{c}", (1, 64, 64, c), 200, group="sweep")
        for c in (1, 3, 16, 100, 256, 2048)
    ),
    _Size("smallest", (1, 1, 1, 1), 1, pooled=1, side=(1.0, 1.0), group="sweep"),
    _Size("one-bin", (1, 200, 304, 256), 1, pooled=1, ratio=0, side=(200.0, 200.0), group="sweep"),
    _Size("whole-map", (1, 100, 152, 256), 50, ratio=0, side=(100.0, 100.0), group="sweep"),
    _Size("huge", (1, 100, 152, 256), 50, ratio=0, side=(1e30, 1e30), group="sweep"),
    _Size("many-on-small", (1, 7, 7, 256), 10000, side=(1.0, 7.0), group="sweep"),
    _Size("dense-samples", (1, 50, 50, 64), 50, ratio=2**31 - 1, side=(5.0, 40.0), group="sweep"),
]

CASES = [_case(size, direction) for size in SIZES for direction in ("forward", "backward")]

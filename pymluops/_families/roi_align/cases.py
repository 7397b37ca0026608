# SPDX-License-Identifier: Apache-2.0
"""Calls of RoIAlign: a small one of each operator, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial, normal, values
from pymluops._families.roi_align import reference

_ROIS = np.array([[0, 0, 0, 2, 3], [1, 1, 0.5, 3, 3]], np.float32)
_BINS = {"pooled_height": 2, "pooled_width": 3, "sampling_ratio": 2}
_MAP = {"height": 4, "width": 5, "batch": 2, "sampling_ratio": 2}

SMALL = (
    SmallCall(
        "roi_align_forward",
        "mluOpRoiAlignForward_v2",
        "arithmetic",
        {"input": values(2, 4, 5, 3), "rois": _ROIS},
        _BINS,
    ),
    SmallCall(
        "roi_align_backward",
        "mluOpRoiAlignBackward",
        "arithmetic",
        {"grad_output": values(2, 2, 3, 3), "rois": _ROIS},
        _MAP,
    ),
    SmallCall(
        "roi_align_backward",
        "mluOpRoiAlignBackward_v2",
        "arithmetic",
        {
            "grad_output": values(2, 2, 3, 3),
            "rois": _ROIS,
            "argmax_x": values(2, 2, 3, 3) / 2,
            "argmax_y": values(2, 2, 3, 3) / 4,
        },
        {**_MAP, "pool_mode": "max"},
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: sizes that no vector divides, work for several threads."""
    size = {"height": 13, "width": 17, "batch": 2}
    bins = {"pooled_height": 3, "pooled_width": 4}
    x, dy = normal(rng, dtype, 2, 13, 17, 21), normal(rng, dtype, 20, 3, 4, 21)
    corners = rng.uniform(-3, 36, (20, 2, 2))
    rois = np.column_stack(
        (rng.integers(0, 2, 20), corners.min(axis=1), corners.max(axis=1))
    ).astype(dtype)
    for ratio, aligned, variant in ((0, False, "adaptive"), (2, True, "2x2 samples")):
        numbers: dict[str, Any] = {
            "spatial_scale": 0.5,
            "sampling_ratio": ratio,
            "aligned": aligned,
        }
        yield Trial("roi_align_forward", (x, rois), {**bins, **numbers}, variant)
        yield Trial("roi_align_backward", (dy, rois), {**size, **numbers}, variant)
        numbers["pool_mode"] = "max"
        yield Trial("roi_align_forward", (x, rois), {**bins, **numbers}, f"max, {variant}")
        places = reference.roi_align_forward(x, rois, **bins, **numbers)[1:]
        arrays = (dy, rois, *(place.astype(dtype) for place in places))
        yield Trial("roi_align_backward", arrays, {**size, **numbers}, f"max, {variant}")

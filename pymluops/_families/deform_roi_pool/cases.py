# SPDX-License-Identifier: Apache-2.0
"""Calls of deformable RoI pooling: a small one of each operator, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial, normal, values

_ROIS = np.array([[0, 0, 0, 2, 3], [1, 1, 0.5, 3, 3]], np.float32)
_NUMBERS = {"pooled_height": 2, "pooled_width": 3, "sampling_ratio": 2}

SMALL = (
    SmallCall(
        "deform_roi_pool_forward",
        "mluOpDeformRoiPoolForward",
        "arithmetic",
        {"input": values(2, 4, 5, 3), "rois": _ROIS, "offset": values(2, 2, 2, 3)},
        _NUMBERS,
    ),
    SmallCall(
        "deform_roi_pool_backward",
        "mluOpDeformRoiPoolBackward",
        "arithmetic",
        {
            "grad_output": values(2, 2, 3, 3),
            "input": values(2, 4, 5, 3),
            "rois": _ROIS,
            "offset": values(2, 2, 2, 3),
        },
        _NUMBERS,
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: sizes that no vector divides, work for several threads."""
    numbers = {"pooled_height": 3, "pooled_width": 4, "spatial_scale": 0.5, "gamma": 0.2}
    x, dy = normal(rng, dtype, 2, 13, 17, 21), normal(rng, dtype, 20, 3, 4, 21)
    corners = rng.uniform(-3, 36, (20, 2, 2))
    rois = np.column_stack(
        (rng.integers(0, 2, 20), corners.min(axis=1), corners.max(axis=1))
    ).astype(dtype)
    offset = normal(rng, dtype, 20, 2, 3, 4)
    for ratio, variant in ((0, "adaptive"), (2, "2x2 samples")):
        settings = {**numbers, "sampling_ratio": ratio}
        yield Trial(
            "deform_roi_pool_forward",
            (x, rois, offset),
            settings,
            variant,
        )
        yield Trial(
            "deform_roi_pool_backward",
            (dy, x, rois, offset),
            settings,
            variant,
        )

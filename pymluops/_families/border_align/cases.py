# SPDX-License-Identifier: Apache-2.0
"""Calls of BorderAlign: a small one of each operator, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial, normal, values

_BOXES = np.tile(np.array([0, 0.5, 2, 1.5], np.float32), (2, 6, 1))

SMALL = (
    SmallCall(
        "border_align_forward",
        "mluOpBorderAlignForward",
        "arithmetic",
        {"input": values(2, 2, 3, 8), "boxes": _BOXES},
        {"pool_size": 2},
    ),
    SmallCall(
        "border_align_backward",
        "mluOpBorderAlignBackward",
        "arithmetic",
        {
            "grad_output": values(2, 6, 4, 2),
            "boxes": _BOXES,
            "argmax_idx": (np.arange(96) % 3).reshape(2, 6, 4, 2).astype(np.int32),
        },
        {"pool_size": 2, "height": 2, "width": 3},
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: sizes that no vector divides, work for several threads."""
    x = normal(rng, dtype, 2, 7, 9, 4 * 19)
    corners = rng.uniform(-1, 9, (2, 63, 2, 2))
    boxes = np.concatenate((corners.min(axis=2), corners.max(axis=2)), axis=2).astype(dtype)
    yield Trial(
        "border_align_forward",
        (x, boxes),
        {"pool_size": 6},
    )
    yield Trial(
        "border_align_backward",
        (
            normal(rng, dtype, 2, 63, 4, 19),
            boxes,
            rng.integers(0, 7, (2, 63, 4, 19), dtype=np.int32),
        ),
        {"pool_size": 6, "height": 7, "width": 9},
    )

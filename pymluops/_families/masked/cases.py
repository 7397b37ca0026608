# SPDX-License-Identifier: Apache-2.0
"""Calls of masked im2col and col2im: a small one of each operator, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial, normal, values

_ROWS, _COLUMNS = np.array([0, 1, 3], np.int32), np.array([1, 0, 2], np.int32)

SMALL = (
    SmallCall(
        "masked_im2col_forward",
        "mluOpMaskedIm2colForward",
        "movement",
        {"feature": values(1, 2, 4, 3), "mask_h_idx": _ROWS, "mask_w_idx": _COLUMNS},
        {"kernel_h": 3, "kernel_w": 2, "pad_h": 1, "pad_w": 0},
    ),
    SmallCall(
        "masked_col2im_forward",
        "mluOpMaskedCol2imForward",
        "movement",
        {"col": values(2, 3), "mask_h_idx": _ROWS, "mask_w_idx": _COLUMNS},
        {"height": 4, "width": 3},
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: sizes that no vector divides, work for several threads."""
    rows, columns = np.nonzero(rng.random((23, 31)) < 0.3)
    positions = rows.astype(np.int32), columns.astype(np.int32)
    feature, col = normal(rng, dtype, 1, 7, 23, 31), normal(rng, dtype, 7, len(rows))
    yield Trial(
        "masked_im2col_forward",
        (feature, *positions),
        {"kernel_h": 3, "kernel_w": 5, "pad_h": 1, "pad_w": 2},
    )
    yield Trial(
        "masked_col2im_forward",
        (col, *positions),
        {"height": 23, "width": 31},
    )

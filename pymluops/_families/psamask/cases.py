# SPDX-License-Identifier: Apache-2.0
"""Calls of PSAMask: a small one of each operator, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial, normal, values
from pymluops._tensor import FLOAT

_NUMBERS = {"psa_type": 0, "h_mask": 3, "w_mask": 1}

SMALL = (
    SmallCall(
        "psamask_forward",
        "mluOpPsamaskForward",
        "movement",
        {"x": values(2, 2, 3, 3)},
        _NUMBERS,
        dtypes=FLOAT,
    ),
    SmallCall(
        "psamask_backward",
        "mluOpPsamaskBackward",
        "movement",
        {"dy": values(2, 2, 3, 6)},
        _NUMBERS,
        dtypes=FLOAT,
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: sizes that no vector divides, work for several threads."""
    for variant in ("collect", "distribute"):
        numbers = {"psa_type": ("collect", "distribute").index(variant), "h_mask": 9, "w_mask": 13}
        x, dy = normal(rng, dtype, 2, 11, 10, 117), normal(rng, dtype, 2, 11, 10, 110)
        yield Trial("psamask_forward", (x,), numbers, variant)
        yield Trial("psamask_backward", (dy,), numbers, variant)

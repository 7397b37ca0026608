# SPDX-License-Identifier: Apache-2.0
"""Calls of CARAFE: a small one of each operator, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial, normal, values

_NUMBERS = {"kernel_size": 3, "group_size": 2, "scale_factor": 2}

SMALL = (
    SmallCall(
        "carafe_forward",
        "mluOpCarafeForward",
        "arithmetic",
        {"input": values(1, 2, 3, 4), "mask": values(1, 4, 6, 18)},
        _NUMBERS,
    ),
    SmallCall(
        "carafe_backward",
        "mluOpCarafeBackward",
        "arithmetic",
        {
            "input": values(1, 2, 3, 4),
            "mask": values(1, 4, 6, 18),
            "grad_output": values(1, 4, 6, 4),
        },
        _NUMBERS,
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: sizes that no vector divides, work for several threads."""
    numbers = {"kernel_size": 5, "group_size": 2, "scale_factor": 2}
    x, mask = normal(rng, dtype, 2, 9, 11, 38), normal(rng, dtype, 2, 18, 22, 50)
    dy = normal(rng, dtype, 2, 18, 22, 38)
    yield Trial("carafe_forward", (x, mask), numbers)
    yield Trial("carafe_backward", (x, mask), {"grad_output": dy, **numbers})

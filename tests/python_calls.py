# SPDX-License-Identifier: Apache-2.0
"""The small valid call of each NumPy function (cases.py of its family), ready to be bent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pymluops
from pymluops._cases import small_calls


@dataclass(frozen=True)
class BaseCall:
    function: Callable[..., Any]
    arrays: dict[str, np.ndarray]
    numbers: dict[str, Any]
    outputs: dict[str, tuple[tuple[int, ...], type]]  # how errors name them: shape, dtype
    c_function: str
    dtypes: tuple[np.dtype, ...]

    def __call__(self, **changes: Any) -> Any:
        return self.function(**{**self.arrays, **self.numbers, **changes})

    def results(self, **changes: Any) -> tuple[np.ndarray, ...]:
        return as_tuple(self(**changes))

    def new_outputs(self, fill: float = 7) -> Any:
        """Return arrays for ``out=``, filled with a number."""
        made = tuple(np.full(shape, fill, dtype) for shape, dtype in self.outputs.values())
        return made if len(made) > 1 else made[0]


def as_tuple(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


CALLS = {
    name: BaseCall(
        call.function, call.arrays, call.numbers, call.outputs, call.c_function, call.dtypes
    )
    for name, call in small_calls().items()
}


def assert_blames(error: pymluops.MluOpError, call: str, argument: str) -> None:
    """The text says "[function] argument: ..." with the argument that was wrong."""
    assert str(error) == error.message
    assert error.message.startswith(f"[{CALLS[call].c_function}] {argument}"), error.message
    assert error.function == CALLS[call].c_function
    assert error.status == pymluops.capi.Status.BAD_PARAM

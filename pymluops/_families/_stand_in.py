# SPDX-License-Identifier: Apache-2.0
"""What makes a NumPy reference take the arguments that its operator takes."""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from pymluops._tensor import Array
from pymluops.errors import bad_type, bad_value

#: What references compute coordinates and comparisons in: float32 as the operators do, unless a
#: caller wants the formula itself in float64.
COORDINATES: ContextVar[type[np.float32] | type[np.float64]] = ContextVar(
    "COORDINATES", default=np.float32
)


def floats(values: Any) -> Array:
    """Return an array of floats as it is; lists and all other numbers as float64."""
    array = np.asarray(values)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def pair(
    function: str,
    both: tuple[str, Any],
    first: tuple[str, int | None],
    second: tuple[str, int | None],
    default: int | None = None,
) -> tuple[int, int]:
    """Return two sizes, given by name each, or together as one number or two."""
    name, value = both
    if value is None:
        for other, number in (first, second):
            if number is None:
                advice = f"pass {first[0]} and {second[0]}, or {name}"
                raise bad_type(function, other, f"missing; {advice}")
        return int(first[1] or 0), int(second[1] or 0)
    for other, number in (first, second):
        if number is not default:
            raise bad_value(function, name, f"given beside {other}, expected one of them")
    height, width = value if isinstance(value, tuple | list) else (value, value)
    return int(height), int(width)


def takes_one_image(
    *names: str, results: tuple[int, ...] = (0,)
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function of batches take one image without that dim.

    Parameters
    ----------
    names : str
        The arguments with a dim of images; the first has four dims in a batch.
    results : tuple of int
        Which results have it too.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            if np.ndim(given[names[0]]) != 3:
                return function(**given)
            for name in names:
                if given.get(name) is not None:
                    given[name] = np.asarray(given[name])[None]
            made = function(**given)
            if not isinstance(made, tuple):
                return made[0] if results else made
            batches = (i in results and r is not None for i, r in enumerate(made))
            return tuple(r[0] if batch else r for r, batch in zip(made, batches, strict=True))

        return wrapped

    return decorate

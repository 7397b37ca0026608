# SPDX-License-Identifier: Apache-2.0
"""Calls like an earlier one, which differ from it in nothing but the numbers in their arrays.

What a call does before C follows from shapes, dtypes and plain numbers alone. So all of it is kept
but for pointers and new results. Half of the time of a call on small arrays is saved by that. What
is not as plain goes the long way each time, and finds its errors there.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from math import copysign
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from pymluops._arguments import new_array, pointer_to
from pymluops._call import ABSENT, Run, Tensor, recording, renamed
from pymluops._handle import Handle
from pymluops._tensor import Array
from pymluops._threads import resolve
from pymluops.errors import MluOpError

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Equal values of one of these types mean the same. (0.0 equals -0.0: numbers have their sign, too.)
_PLAIN = frozenset((int, bool, str, type(None)))


class _Plan(NamedTuple):
    """What is left to do of a call."""

    function: str
    names: dict[str, str]
    arguments: list[Any]  # of the C function
    pointers: list[tuple[int, int]]  # where one is missing, and that of which array
    made: list[tuple[str, tuple[int, ...], np.dtype[Any]]]  # arrays besides those that are given
    results: list[int | None]  # which arrays
    is_tuple: bool


def repeatable(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function of arrays that ends in one call of C."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        key: list[Any] = [function, len(args), *kwargs]
        arrays: list[Array] = []
        if not (_read(args, key, arrays) and _read(kwargs.values(), key, arrays)):
            return function(*args, **kwargs)
        known = _known(tuple(key))
        if known and known[0] is not None:
            again: _R = _repeat(known[0], arrays, kwargs.get("handle"))
            return again
        if known or len({*map(id, arrays)}) < len(arrays):
            return function(*args, **kwargs)
        outer, recording.runs = recording.runs, []
        try:
            result = function(*args, **kwargs)
            known.append(_plan(recording.runs, arrays, result))
        finally:
            recording.runs = outer
        return result

    return call


@lru_cache(maxsize=1024)
def _known(key: tuple[Any, ...]) -> list[_Plan | None]:
    """Return where the plan for such calls is or will be; None if they cannot be repeated."""
    return []


def _read(values: Iterable[Any], key: list[Any], arrays: list[Array]) -> bool:
    """Find arrays, and what else decides what a call does; False if that is not plain."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            if not value.flags.carray:
                return False
            key += (value.shape, value.dtype)
            arrays.append(value)
        elif kind in _PLAIN:
            key += (kind, value)
        elif kind is float:
            key += (kind, value, copysign(1, value))
        elif kind is tuple:
            key += (kind, len(value))
            if not _read(value, key, arrays):
                return False
        elif kind is not Handle:
            return False
    return True


def _repeat(plan: _Plan, arrays: list[Array], handle: Any) -> Any:
    arrays += [new_array(plan.function, *made) for made in plan.made]
    arguments = plan.arguments.copy()
    for place, index in plan.pointers:
        arguments[place] = pointer_to(arrays[index])
    try:
        resolve(plan.function, handle).invoke(plan.function, arguments)
    except MluOpError as error:
        raise renamed(error, plan.function, plan.names) from None
    results = tuple([None if index is None else arrays[index] for index in plan.results])
    return results if plan.is_tuple else results[0]


def _plan(runs: list[Run], arrays: list[Array], result: Any) -> _Plan | None:
    """Return the plan of what has been done: one call of C, with each array as it is, once."""
    if len(runs) != 1 or not runs[0].call.is_plain:
        return None
    call, given, arguments = runs[0]
    indices = {id(array): index for index, array in enumerate(arrays)}
    made: list[tuple[str, tuple[int, ...], np.dtype[Any]]] = []
    pointers, place = [], 0
    for each in given:
        place += 1
        if type(each) is not Tensor:
            continue
        if each is not ABSENT:
            array = each.result
            if each in call.outputs and id(array) not in indices:
                indices[id(array)] = len(arrays) + len(made)
                made.append((each.name, array.shape, each.dtype))
            pointers.append((place, indices.get(id(array), -1)))
            arguments[place] = None
        place += 1
    is_tuple = isinstance(result, tuple)
    results = result if is_tuple else (result,)
    returned = [None if each is None else indices.get(id(each), -1) for each in results]
    if sorted(index for _, index in pointers) != list(range(len(arrays) + len(made))):
        return None
    if -1 in returned:
        return None
    return _Plan(call.function, call.names, arguments, pointers, made, returned, is_tuple)

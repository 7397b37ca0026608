# SPDX-License-Identifier: Apache-2.0
"""The small valid call of each operator (cases.py of its family), ready to be bent."""

import inspect
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
from families import family_files

import pymluops
from pymluops._cases import SmallCall, small_calls


class BaseCall(SmallCall):
    def __call__(self, **changes: Any) -> Any:
        return self.function(**{**self.arrays, **self.numbers, **changes})

    def results(self, **changes: Any) -> tuple[np.ndarray, ...]:
        return as_tuple(self(**changes))

    @property
    def takes_out(self) -> bool:
        """Whether it has ``out=``: what is as long as the data says, it makes itself."""
        return "out" in inspect.signature(self.function).parameters

    @cached_property
    def outputs(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Return shape and dtype of each result, as the formula has it, by its name in errors."""
        results = as_tuple(self.reference(**self.arrays, **self.numbers))
        names = [f"out[{i}]" for i in range(len(results))] if len(results) > 1 else ["out"]
        return {
            name: (result.shape, np.float32 if result.dtype.kind == "f" else result.dtype.type)
            for name, result in zip(names, results, strict=True)
        }

    def new_outputs(self, fill: float = 7) -> Any:
        """Return arrays for ``out=``, filled with a number."""
        made = tuple(np.full(shape, fill, dtype) for shape, dtype in self.outputs.values())
        return made if len(made) > 1 else made[0]


def as_tuple(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


CALLS = {name: BaseCall(**vars(call)) for name, call in small_calls().items()}

#: Those with ``out=``.
WITH_OUT = {name: call for name, call in CALLS.items() if call.takes_out}

#: A call with one array of float32 and one result, where any will do; and the array's name.
ONE = next(call for call in WITH_OUT.values() if len(call.arrays) == len(call.outputs) == 1)
(ONE_ARRAY,) = ONE.arrays


def same(one, two):
    for a, b in zip(as_tuple(one), as_tuple(two), strict=True):
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
    return True


def facts(name: str) -> Any:
    """Return what families say in tests/<family>/binding_facts.py, joined.

    FREE                 extents of an argument that no other argument fixes
    BATCHED              arguments that may come without the dim of images, the leading one first
    UNBATCHED_RESULTS    results that have no such dim
    SIZES                two numbers that may be given as one
    FLOAT32_COORDINATES  the argument that may be float32 beside float16
    EARLY                calls with nothing to compute, and the shapes of their results
    EMPTY_FOR_ZERO       the result where a number may be 0
    GRADIENT_BY_NAME     functions whose gradient does not come first
    WAYS                 other ways to say what the small call says
    """
    found = [
        vars(module)[name] for _, module in family_files("binding_facts") if name in vars(module)
    ]
    return reduce(or_, found)


def assert_blames(error: pymluops.MluOpError, call: str, argument: str) -> None:
    """The text says "[function] argument: ..." with the argument that was wrong."""
    assert str(error) == error.message
    assert error.message.startswith(f"[{CALLS[call].c_function}] {argument}"), error.message
    assert error.function == CALLS[call].c_function
    assert error.status == pymluops.capi.Status.BAD_PARAM

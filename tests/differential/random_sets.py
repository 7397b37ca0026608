# SPDX-License-Identifier: Apache-2.0
"""Random calls of the functions that set an operator's descriptor, judged as in random_calls.py.

A call that is refused changes nothing: the operator finds the descriptor as it was, or never set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from base_calls import Base, bases
from defects import another
from families import family_file
from order_words import Call
from random_calls import DIFFERENCES, RUNS, STATUSES, Caller, Difference, blamed, value_of

from pymluops.capi import ffi, lib


def setters() -> Iterator[tuple[str, str, Base]]:
    """Yield each function, the kind of its descriptors, and the first operator that takes one."""
    seen = set()
    for base in bases():
        for kind in base.table.base["objects"]:
            function = base.table.objects[kind]["set"]
            if function not in seen:
                seen.add(function)
                yield function, kind, base


class Setter:
    """Makes calls of one function."""

    def __init__(self, function: str, kind: str, base: Base, seed: int) -> None:
        orders = family_file(base.family, "check_order").ORDER
        self.order = orders[function]
        self.name, self.kind = function, kind
        self.table = base.table.objects[kind]
        self.operator = Caller(base, orders[base.function], seed)
        self.random, self.counts = self.operator.random, self.operator.counts
        self.types = dict(
            zip(self.table["with"], ffi.typeof(getattr(lib, function)).args[1:], strict=True)
        )
        self.valid = [self._numbers(state.objects[kind]) for state in base.valid]

    def __enter__(self) -> Self:
        self.operator.__enter__()
        state = self.operator.base.valid[0]
        room = self.operator.workspace(state, self.operator.room[0])
        self.arguments = self.operator.values(state, self.operator.arguments, *room)
        self.position = self.operator.arguments.index(f"{self.kind}_desc")
        self.made = self.arguments[self.position]
        self.result = self._operate(self.made)
        return self

    def __exit__(self, *error: object) -> None:
        self.operator.__exit__(*error)

    def _numbers(self, settings: dict) -> dict[str, Any]:
        """The settings, each as a number of its type."""
        numbers = {name: value_of(value) for name, value in settings.items()}
        for name, kind in self.types.items():
            if kind.cname == "float":
                numbers[name] = float(numbers[name])
        return numbers

    def _operate(self, descriptor: Any) -> tuple[int, bytes]:
        """What the operator does with a descriptor: its status, and what it writes."""
        self.arguments[self.position] = descriptor
        status = self.operator.function(*self.arguments)
        written = bytes(self.operator.memory.outputs)
        self.operator.memory.restore()
        return status, written

    def _set(self, descriptor: Any, numbers: dict, null: set[str]) -> str:
        arguments = []
        for name, kind in self.types.items():
            value = ffi.NULL if name in null else numbers[name]
            if kind.kind == "enum" or kind.cname == "_Bool":
                value = ffi.cast(kind, value)
            arguments.append(value)
        return STATUSES[getattr(lib, self.name)(descriptor, *arguments)]

    def run(self, calls: int) -> list[Difference]:
        """Make so many calls; return the first differences."""
        found: list[Difference] = []
        for _ in range(calls):
            made = self.one()
            if made.expected != made.found and len(found) < DIFFERENCES:
                found.append(made)
        return found

    def one(self) -> Difference:
        numbers, null = self.random.choice(self.valid).copy(), set()
        for _ in range(int(self.random.random() * 4)):
            name = self.random.choice(list(numbers))
            if self.random.random() < 0.8:
                numbers[name] = another(numbers[name], self.random)
            else:
                null.add(name if isinstance(numbers[name], list) else f"{self.kind}_desc")
        call = Call({}, numbers, null, set(), 0, 0, None, None)
        expected = next(self.order(call), (RUNS, ""))
        descriptor = self.made if self.random.random() < 0.8 else self._new()
        before = self.result if descriptor == self.made else self._operate(descriptor)
        given = ffi.NULL if f"{self.kind}_desc" in null else descriptor
        status = self._set(given, numbers, null)
        message = ffi.string(lib.mluOpCpuGetLastErrorMessage()).decode()
        found = (RUNS, "") if status == "SUCCESS" else (status, blamed(self.name, message))
        if status != "SUCCESS" and self._operate(descriptor) != before:
            found = (status, "the descriptor has changed")
        if descriptor != self.made:
            getattr(lib, self.table["end"])(descriptor)
        elif status == "SUCCESS":
            self._set(self.made, self.valid[0], set())
        self.counts[expected] += 1
        return Difference(expected, found, message, (numbers, null))

    def _new(self) -> Any:
        """A descriptor that was never set."""
        (place,) = ffi.typeof(getattr(lib, self.table["make"])).args
        out = ffi.new(place)
        assert getattr(lib, self.table["make"])(out) == 0
        return out[0]

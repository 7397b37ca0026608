# SPDX-License-Identifier: Apache-2.0
"""Random calls of one function, made with the library and judged by the naive order of checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple, Self

import numpy as np
from base_calls import Base, Descriptor, State
from defects import spoil
from order_words import NUMBERS, Call, Faults, Tensor
from slots import Memory

from pymluops import capi

ffi, lib = capi.ffi, capi.lib

SIZE_BEFORE = 0xABCD
RUNS = "SUCCESS, computed"  # nothing is wrong with the call
TYPES = {"float": float, "_Bool": bool}
DIFFERENCES = 20  # enough to see what is wrong
WORD = re.compile(r"\w*")
STATUSES = {
    value: name.removeprefix("MLUOP_STATUS_")
    for value, name in ffi.typeof("mluOpStatus_t").elements.items()
}
KEPT = 20_000  # descriptors that are kept for the next calls


class Difference(NamedTuple):
    expected: tuple[str, str]
    found: tuple[str, str]
    message: str
    call: Any


def value_of(value: Any) -> Any:
    """A number, or an enumerator by its name."""
    if isinstance(value, str):
        return getattr(lib, value)
    return [value_of(item) for item in value] if isinstance(value, list) else value


def blamed(function: str, message: str) -> str:
    """The argument that a message names."""
    prefix = f"[{function}] "
    return WORD.match(message.removeprefix(prefix))[0] if message.startswith(prefix) else "?"


def _set(made: Any, table: dict, settings: dict) -> bool:
    try:
        return (
            getattr(lib, table["set"])(made, *(value_of(settings[n]) for n in table["with"])) == 0
        )
    except OverflowError:  # no value of the enumeration, nor a bool
        return False


class Caller:
    """Makes calls of one function."""

    def __init__(self, base: Base, order: Callable[[Call], Faults], seed: int) -> None:
        self.base = base
        self.order = order
        self.random = Random(seed)
        self.memory = Memory(base.outputs)
        self.descriptors: dict[Descriptor, Any] = {}
        self.objects: dict[tuple[str, str], Any] = {}
        out = ffi.new("mluOpHandle_t *")
        assert lib.mluOpCreate(out) == 0
        assert lib.mluOpCpuSetNumThreads(out[0], 1) == 0
        self.handle = out[0]
        self.size = ffi.new("size_t *", SIZE_BEFORE)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.function = getattr(lib, base.function)
        self.arguments = base.table.arguments
        kinds = (ffi.typeof(self.function).args[i].cname for i in range(len(self.arguments)))
        named = zip(self.arguments, kinds, strict=True)
        self.types = {name: TYPES.get(kind, int) for name, kind in named}
        self.without_descriptor = [
            name for name in base.table.base["tensors"] if f"{name}_desc" not in self.arguments
        ]
        query = base.table.base["workspace"]
        self.query = (getattr(lib, query["call"]), query["with"]) if query else None
        self.pointers: dict[int, Any] = {}
        self.room = [self._needed(state.copy()) for state in base.valid]

    def __enter__(self) -> Self:
        self.level = lib.mluOpCpuGetLogLevel()
        lib.mluOpCpuSetLogLevel(lib.MLUOP_CPU_LOG_OFF)  # most calls fail
        return self

    def __exit__(self, *error: object) -> None:
        lib.mluOpCpuSetLogLevel(self.level)
        self._forget_descriptors()
        for (kind, _), made in self.objects.items():
            if made is not None:
                getattr(lib, self.base.table.objects[kind]["end"])(made)
        lib.mluOpDestroy(self.handle)

    def _forget_descriptors(self) -> None:
        for made in self.descriptors.values():
            if made is not None:
                lib.mluOpDestroyTensorDescriptor(made)
        self.descriptors.clear()

    # ------------------------------------------------------------------------ making arguments

    def descriptor(self, wanted: Descriptor) -> Any:
        """Return such a descriptor, or None where there can be none: its extents overflow."""
        if not wanted.given:
            return ffi.NULL
        if wanted not in self.descriptors:
            if len(self.descriptors) > KEPT:
                self._forget_descriptors()
            self.descriptors[wanted] = self._new_descriptor(wanted)
        return self.descriptors[wanted]

    def _new_descriptor(self, wanted: Descriptor) -> Any:
        out = ffi.new("mluOpTensorDescriptor_t *")
        assert lib.mluOpCreateTensorDescriptor(out) == 0
        layout = getattr(lib, f"MLUOP_LAYOUT_{wanted.layout}")
        dtype = getattr(lib, f"MLUOP_DTYPE_{wanted.dtype}")
        dims = wanted.dims
        if wanted.strides is None:
            status = lib.mluOpSetTensorDescriptor_v2(out[0], layout, dtype, len(dims), dims)
        else:
            strides = [min(stride, 2**63 - 1) for stride in wanted.strides]
            status = lib.mluOpSetTensorDescriptorEx_v2(
                out[0], layout, dtype, len(dims), dims, strides
            )
        if status == 0 and wanted.onchip != "INVALID":
            onchip = getattr(lib, f"MLUOP_DTYPE_{wanted.onchip}")
            status = lib.mluOpSetTensorDescriptorOnchipDataType(out[0], onchip)
        if status == 0:
            return out[0]
        lib.mluOpDestroyTensorDescriptor(out[0])
        return None

    def object(self, kind: str, settings: dict | None) -> Any:
        """Return an operator's descriptor, or None if it cannot be set to that."""
        key = (kind, repr(settings))
        if key not in self.objects:
            table = self.base.table.objects[kind]
            (out,) = ffi.typeof(getattr(lib, table["make"])).args
            made = ffi.new(out)
            assert getattr(lib, table["make"])(made) == 0
            self.objects[key] = made[0]
            if settings is not None and not _set(made[0], table, settings):
                getattr(lib, table["end"])(made[0])
                self.objects[key] = None
        return self.objects[key]

    def address(self, state: State, name: str) -> int:
        place = state.places[name]
        if not place.owner:
            return 0
        dtype = state.descriptors[name].dtype
        return self.memory.slot(place.owner, place.content, dtype) + place.start

    def workspace(self, state: State, needed: int) -> tuple[int, int]:
        """Return address and size: what is needed, but for what the state says."""
        said = state.workspace
        size = max(needed - 1, 0) if said.get("short") else needed
        size = max(size, said.get("size", 0))
        if said.get("pointer") == "NULL" or size == 0:
            return 0, size
        if "shares" in said:
            return self.address(state, said["shares"]), size
        return self.memory.slot("workspace", "", ""), size

    def _needed(self, state: State) -> int:
        """The size that the function for it gives, or -1 if it refuses."""
        if self.query is None:
            return 0
        function, names = self.query
        status = function(*self.values(state, names, 0, 0), self.size)
        size, self.size[0] = self.size[0], SIZE_BEFORE
        return size if status == 0 else -1

    def values(self, state: State, names: list[str], workspace: int, size: int) -> list:
        return [self._argument(state, name, workspace, size) for name in names]

    def _argument(self, state: State, name: str, workspace: int, size: int) -> Any:
        if name in state.null:
            return ffi.NULL
        if name in state.places:
            return self._pointer(self.address(state, name))
        if name in state.numbers:
            return self.types[name](value_of(state.numbers[name]))
        if name == "handle":
            return self.handle
        if name == "workspace":
            return self._pointer(workspace)
        if name == "workspace_size":
            return size
        if name == "&workspace_size":
            return self.size
        kind = name.removesuffix("_desc")
        if kind in state.objects:
            return self.object(kind, state.objects[kind])
        return self.descriptor(state.descriptors[kind])

    def _pointer(self, address: int) -> Any:
        if address not in self.pointers:
            self.pointers[address] = ffi.cast("void *", address)
        return self.pointers[address]

    # ------------------------------------------------------------------------------- the calls

    def run(self, calls: int) -> list[Difference]:
        """Make so many calls; return the first differences."""
        found: list[Difference] = []
        while calls > 0 and len(found) < DIFFERENCES:
            made = self.one()
            if made is None:
                continue
            calls -= 1
            if made.expected != made.found:
                found.append(made)
        return found

    def one(self) -> Difference | None:
        """Make one call and judge it; None if there can be no such call."""
        self.memory.make_room()
        which = int(self.random.random() * len(self.base.valid))
        state = self.base.valid[which].copy()
        for _ in range(int(self.random.random() * 4)):
            spoil(state, self.base, self.random)
        for name in self.without_descriptor:
            state.descriptors[name] = self.base.valid[which].descriptors[name]
        possible = all(self.descriptor(d) is not None for d in state.descriptors.values())
        possible &= all(self.object(k, s) is not None for k, s in state.objects.items())
        if not possible:
            return None
        workspace, size = self.workspace(state, self.room[which])
        call = self._as_the_contract_sees_it(state, workspace, size)
        expected = next(self.order(call), (RUNS, ""))
        if expected[0] == RUNS and not self._fits(call):
            return None
        status = self.function(*self.values(state, self.arguments, workspace, size))
        self.counts[expected] += 1
        return self._judge(expected, STATUSES[status], state)

    def _as_the_contract_sees_it(self, state: State, workspace: int, size: int) -> Call:
        tensors, null = {}, set(state.null)
        for name, d in state.descriptors.items():
            address = self.address(state, name)
            tensors[name] = Tensor(
                name, d.given, d.layout, d.dtype, d.dims, d.strides, d.onchip, address
            )
            if not d.given:
                null.add(f"{name}_desc")
            if address == 0:
                null.add(name)
        numbers = dict(state.numbers)
        for settings in state.objects.values():
            numbers |= {name: value_of(value) for name, value in (settings or {}).items()}
        unset = {f"{name}_desc" for name, settings in state.objects.items() if settings is None}
        return Call(
            tensors,
            numbers,
            null,
            unset,
            workspace,
            size,
            self._read,
            lambda: self._needed(state),
        )

    def _read(self, tensor: Tensor) -> np.ndarray:
        begin = tensor.address - self.memory.address
        kind = NUMBERS[tensor.dtype]
        return self.memory.bytes[begin : begin + tensor.bytes].view(kind).reshape(tensor.dims)

    def _fits(self, call: Call) -> bool:
        """Whether all that the call may touch is within the slots."""
        return all(self.memory.holds(t.address, t.bytes) for t in call.tensors.values() if t.given)

    def _judge(self, expected: tuple[str, str], status: str, state: State) -> Difference:
        message = argument = ""
        if status != "SUCCESS":
            message = ffi.string(lib.mluOpCpuGetLastErrorMessage()).decode()
            argument = blamed(self.base.function, message)
        found = (status, argument)
        if expected[0] == RUNS:
            found = (RUNS, "") if status == "SUCCESS" else found
            self.memory.restore()
            self.size[0] = SIZE_BEFORE
        elif not self.memory.untouched() or self.size[0] != SIZE_BEFORE:
            found = (status, f"{argument}, but outputs have changed")
            self.memory.restore()
        return Difference(expected, found, message, state)

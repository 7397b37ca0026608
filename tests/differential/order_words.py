# SPDX-License-Identifier: Apache-2.0
"""A call as a contract sees it, and the words that contracts are written in.

The check_order.py of a family says the contract of each of its functions again, as a generator:
what is wrong with a call, in the contract's order, each as a status and the argument to blame. The
first that it yields decides. It is written from the contract alone and does everything the plain
way, so that it shares no mistake with the rule tables of the library. Of several arguments that one
check of the contract finds at fault, the contract does not say which is named: it is the first one
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

BAD = "BAD_PARAM"
UNSUPPORTED = "NOT_SUPPORTED"
DONE = "SUCCESS"  # the call ends early and has written nothing

Fault = tuple[str, str]  # the status, the argument to blame
Faults = Iterator[Fault]
NOTHING_TO_DO = (DONE, "")

SIZES = {"HALF": 2, "BFLOAT16": 2, "INT16": 2, "UINT16": 2, "BOOL": 1, "INT8": 1, "UINT8": 1}
SIZES |= {"FLOAT": 4, "INT32": 4, "UINT32": 4, "DOUBLE": 8, "INT64": 8, "UINT64": 8}
NUMBERS = {"HALF": np.float16, "FLOAT": np.float32, "INT32": np.int32}


@dataclass(slots=True)
class Tensor:
    """A tensor argument: its descriptor, and its data."""

    name: str
    given: bool  # the descriptor is not NULL
    layout: str
    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...] | None  # None: as a packed tensor has them
    onchip: str
    address: int

    @property
    def elements(self) -> int:
        return prod(self.dims)

    @property
    def packed(self) -> bool:
        """Each dim other than 1 has the stride of a packed tensor; an empty tensor is packed."""
        if self.strides is None or 0 in self.dims:
            return True
        stride = 1
        for dim, given in zip(self.dims[::-1], self.strides[::-1], strict=True):
            if dim != 1 and given != stride:
                return False
            stride *= dim
        return True

    @property
    def bytes(self) -> int:
        """From the first element to the end of the last one."""
        reach = self.elements
        if self.strides is not None and reach > 0:
            reach = 1 + sum((d - 1) * s for d, s in zip(self.dims, self.strides, strict=True))
        return reach * SIZES[self.dtype]


@dataclass(slots=True)
class Call:
    """The arguments of one call, by their names."""

    tensors: dict[str, Tensor]
    numbers: dict[str, Any]  # also those of operators' descriptors
    null: set[str]  # arguments that are NULL
    unset: set[str]  # operators' descriptors that were never set
    workspace: int
    workspace_size: int
    read: Any  # read(tensor) is its data
    needed: Any  # needed() is what the function for the size of the workspace says

    def __getitem__(self, names: str) -> list[Tensor]:
        return [self.tensors[name] for name in names.split()]


def nulls(call: Call, arguments: str) -> Faults:
    for name in arguments.split():
        if name in call.null:
            yield BAD, name


def descriptors(tensors: list[Tensor]) -> Faults:
    for tensor in tensors:
        if not tensor.given:
            yield BAD, f"{tensor.name}_desc"


def place_of_size(call: Call) -> Faults:
    if "&workspace_size" in call.null:
        yield BAD, "workspace_size"


def was_set(call: Call, name: str) -> Faults:
    if name in call.unset:
        yield BAD, name


def rank(dims: int, tensors: list[Tensor]) -> Faults:
    for tensor in tensors:
        if len(tensor.dims) != dims:
            yield BAD, tensor.name


def layout(name: str, tensors: list[Tensor]) -> Faults:
    for tensor in tensors:
        if tensor.layout != name:
            yield BAD, tensor.name


def dtype(names: str, tensors: list[Tensor]) -> Faults:
    """One of these types."""
    for tensor in tensors:
        if tensor.dtype not in names.split():
            yield BAD, tensor.name


def floating(tensors: list[Tensor]) -> Faults:
    """The first is half or float, the others are the same."""
    yield from dtype("HALF FLOAT", tensors[:1])
    yield from dtype(tensors[0].dtype, tensors[1:])


def packed(status: str, tensors: list[Tensor]) -> Faults:
    for tensor in tensors:
        if not tensor.packed:
            yield status, tensor.name


def countable(status: str, tensors: list[Tensor]) -> Faults:
    for tensor in tensors:
        if tensor.elements >= 2**31:
            yield status, tensor.name


def shape(tensor: Tensor, *dims: int) -> Faults:
    if tensor.dims != dims:
        yield BAD, tensor.name


def at_least(call: Call, least: int, names: str) -> Faults:
    for name in names.split():
        if np.min(call.numbers[name]) < least:
            yield BAD, name


def at_most(call: Call, status: str, most: int, name: str) -> Faults:
    if call.numbers[name] > most:
        yield status, name


def one_of(call: Call, values: str, names: str) -> Faults:
    for name in names.split():
        if str(call.numbers[name]) not in values.split():
            yield BAD, name


def no_nan(call: Call, name: str) -> Faults:
    if np.isnan(call.numbers[name]):
        yield BAD, name


def any_empty(tensors: list[Tensor]) -> bool:
    return any(tensor.elements == 0 for tensor in tensors)


def data(tensors: list[Tensor]) -> Faults:
    """Each pointer is there, and aligned to its element."""
    for tensor in tensors:
        if tensor.address == 0 or tensor.address % SIZES[tensor.dtype] != 0:
            yield BAD, tensor.name


def data_given(tensors: list[Tensor]) -> Faults:
    for tensor in tensors:
        if tensor.address == 0:
            yield BAD, tensor.name


def workspace(call: Call) -> Faults:
    if call.workspace == 0 and call.workspace_size > 0:
        yield BAD, "workspace"
    if call.workspace_size < call.needed():
        yield BAD, "workspace_size"


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[1] > 0 and b[1] > 0 and a[0] < b[0] + b[1] and b[0] < a[0] + a[1]


def apart(call: Call, outputs: list[Tensor], inputs: list[Tensor]) -> Faults:
    """No output shares bytes with an input, the workspace or another output."""
    others = [(tensor.address, tensor.bytes) for tensor in inputs]
    others.append((call.workspace, call.workspace_size if call.workspace else 0))
    places = [(tensor.address, tensor.bytes) for tensor in outputs]
    for i, place in enumerate(places):
        if any(_meet(place, other) for other in others + places[:i] + places[i + 1 :]):
            yield BAD, outputs[i].name


def workspace_meets(call: Call, tensors: list[Tensor]) -> bool:
    size = call.workspace_size if call.workspace else 0
    return any(_meet((t.address, t.bytes), (call.workspace, size)) for t in tensors)


def images(call: Call, boxes: Tensor, count: int) -> Faults:
    """The first number of each row, truncated toward zero, is an image."""
    first = call.read(boxes)[:, 0].astype(np.float64)  # there may be more than half can say
    if not ((first > -1) & (first < count)).all():  # also of NaN
        yield BAD, boxes.name

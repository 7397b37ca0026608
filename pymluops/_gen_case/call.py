# SPDX-License-Identifier: Apache-2.0
"""The call of a case, through the C API with the descriptors that the file describes."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import pymluops
from pymluops._descriptor import object_descriptor
from pymluops._gen_case.case import Case
from pymluops._gen_case.operators import Numbers, Operator, Values
from pymluops._gen_case.tensors import Tensor, tensors_of
from pymluops._tensor import Array
from pymluops.capi import CData, ffi, lib
from pymluops.errors import check


@dataclass
class Result:
    """What an operator did with a case."""

    values: Values
    outputs: list[Tensor]
    """As the file describes them, in the order of `values.outputs`."""
    seconds: float


def numbers_of(case: Case, operator: Operator) -> Numbers:
    """Return the parameters, by the names of the C function."""
    found: Numbers = {}
    if operator.parameters is None:
        return found
    block = operator.parameters.name
    if not case.node.HasField(block):
        raise case.fail("missing", block)
    message = getattr(case.node, block)
    for name in operator.scalars():
        field = operator.field_of(name)
        descriptor = message.DESCRIPTOR.fields_by_name[field]
        value = getattr(message, field)
        if descriptor.is_repeated:
            found[name] = tuple(value)
        elif not message.HasField(field) and not descriptor.has_default_value:
            raise case.fail("missing", f"{block}.{field}")
        else:
            found[name] = value
    return found


class _Call:
    """The arguments in the order of C."""

    def __init__(self, operator: Operator, tensors: list[Tensor], numbers: Numbers) -> None:
        self.operator, self.numbers = operator, numbers
        self.tensors = {tensor.name: tensor for tensor in tensors}
        self.descriptors = {name: tensor.descriptor() for name, tensor in self.tensors.items()}
        self.memory: dict[str, Array] = {}

    def object(self, name: str) -> CData:
        kind, *words = self.operator.objects[name].split()
        kind, _, version = kind.partition("_")
        values = [self.numbers[word] for word in words]
        return object_descriptor(kind, *values, version=f"_{version}" if version else "")

    def descriptor(self, name: str) -> CData:
        return self.descriptors.get(name, ffi.NULL)

    def pointer(self, name: str) -> CData:
        array = self.memory.get(name)
        return ffi.NULL if array is None else ffi.from_buffer("char[]", array)

    def arguments(self, workspace: tuple[CData, int]) -> list[Any]:
        found: list[Any] = []
        for word in self.operator.arguments.split():
            if word in self.operator.objects:
                found.append(self.object(word))
            elif word in ("workspace", "workspace_size"):
                found.append(workspace[word == "workspace_size"])
            elif word.startswith("*"):
                found.append(self.pointer(word[1:]))
            elif word in self.operator.inputs or word in self.operator.outputs:
                found += (self.descriptor(word), self.pointer(word))
            else:
                found.append(self.numbers[word])
        return found

    def workspace(self, handle: CData) -> tuple[CData, int]:
        if not self.operator.workspace:
            return ffi.NULL, 0
        function, *words = self.operator.workspace.split()
        arguments = [
            self.object(word)
            if word in self.operator.objects
            else self.descriptor(word.removesuffix("_desc"))
            if word.endswith("_desc")
            else self.numbers[word]
            for word in words
        ]
        size = ffi.new("size_t *")
        check(getattr(lib, function)(handle, *arguments, size), function)
        if size[0] == 0:
            return ffi.NULL, 0
        self.memory["workspace"] = np.empty(size[0], np.uint8)
        return self.pointer("workspace"), size[0]


def _spread(tensor: Tensor, values: Array) -> Array:
    """Return memory that holds values as the tensor's strides say."""
    if tensor.strides is None and values.size:
        return values
    memory = tensor.memory()
    tensor.view(memory)[...] = values
    return memory


def run(case: Case, handle: pymluops.Handle) -> Result:
    """Run a case; raises CaseError, and MluOpError where the operator refuses the call."""
    operator = case.operator
    assert operator is not None
    inputs, outputs = tensors_of(case)
    numbers = numbers_of(case, operator)
    arrays = {tensor.name: tensor.values() for tensor in inputs}
    if operator.unused is not None:
        unused = operator.unused(arrays, numbers)
        inputs = [tensor for tensor in inputs if tensor.name not in unused]
        arrays = {tensor.name: arrays[tensor.name] for tensor in inputs}
    call = _Call(operator, inputs + outputs, numbers)
    for tensor in inputs:
        call.memory[tensor.name] = _spread(tensor, arrays[tensor.name])
    for tensor in outputs:
        call.memory[tensor.name] = tensor.memory()
    with handle.lock:
        made = handle.cdata
        check(lib.mluOpSetQuantizeRoundMode(made, _round_mode(case)), operator.function)
        arguments = call.arguments(call.workspace(made))
        begin = time.perf_counter()
        status = getattr(lib, operator.function)(made, *arguments)
        seconds = time.perf_counter() - begin
    check(status, operator.function)
    written = {tensor.name: tensor.view(call.memory[tensor.name]) for tensor in outputs}
    return Result(Values(arrays, written, numbers), outputs, seconds)


def _round_mode(case: Case) -> int:
    """Return the handle's; 0, to nearest even, without a handle_param."""
    return int(case.node.handle_param.round_mode) if case.node.HasField("handle_param") else 0

# SPDX-License-Identifier: Apache-2.0
"""Make the arguments of one operator call from their description, call, and look at the memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np
import pytest
from mluop_library import NUMPY_TYPES, UNTOUCHED_BYTE, Buffer, Library

if TYPE_CHECKING:
    from operator_cases import Table

LARGEST_BUFFER = 1 << 16  # elements; tensors beyond are refused before their data is looked at
UNTOUCHED_SIZE = 0xABCD  # what an out-parameter holds before a call
ANY = object()


class Call:
    """The arguments of one call, made from their description."""

    def __init__(self, library: Library, table: Table, description: dict) -> None:
        self.library = library
        self.table = table
        self.description = description
        self.buffers: dict[str, Buffer] = {}
        self.pointers: dict[str, object] = {}
        self.regions: dict[str, tuple] = {}  # owner, start and bytes, data type
        self.descriptors: dict[str, object] = {}
        self.objects: dict[str, object] = {}  # descriptors that are not of tensors
        self.workspace_size = 0

    def __enter__(self) -> Self:
        for name, tensor in self.description["tensors"].items():
            self.descriptors[name] = self._make_descriptor(tensor)
            self._make_data(name, tensor)
        for name, settings in self.description["objects"].items():
            self.objects[name] = self._make_object(self.table.objects[name], settings)
        if self.description["workspace"]:
            self._make_workspace(self.description["workspace"])
        return self

    def __exit__(self, *error) -> None:
        for buffer in self.buffers.values():
            buffer.free()
        for descriptor in self.descriptors.values():
            if descriptor != self.library.ffi.NULL:
                self.library.mluop.mluOpDestroyTensorDescriptor(descriptor)
        for name, made in self.objects.items():
            if made != self.library.ffi.NULL:
                assert self.library.function(self.table.objects[name]["end"])(made) == 0

    # ------------------------------------------------------------------ making the arguments

    def _make_descriptor(self, tensor: dict):
        lib = self.library
        if tensor.get("desc") == "NULL":
            return lib.ffi.NULL
        descriptor = lib.make("mluOpCreateTensorDescriptor")
        layout = lib.constant("MLUOP_LAYOUT_" + tensor["layout"])
        dtype = lib.constant("MLUOP_DTYPE_" + tensor["dtype"])
        dims = tensor["dims"]
        if "strides" in tensor:
            status = lib.mluop.mluOpSetTensorDescriptorEx_v2(
                descriptor, layout, dtype, len(dims), dims, tensor["strides"]
            )
        else:
            status = lib.mluop.mluOpSetTensorDescriptor_v2(
                descriptor, layout, dtype, len(dims), dims
            )
        if "onchip" in tensor and status == 0:
            status = lib.mluop.mluOpSetTensorDescriptorOnchipDataType(
                descriptor, lib.constant("MLUOP_DTYPE_" + tensor["onchip"])
            )
        assert status == 0, f"the descriptor of a case cannot be set: {tensor}"
        return descriptor

    def _make_data(self, name: str, tensor: dict) -> None:
        """Make the memory of a tensor, or place it in that of an earlier one ("shares")."""
        dtype = np.dtype(NUMPY_TYPES.get(tensor["dtype"], np.uint8))
        size = extent(tensor)
        if "result" in tensor or tensor.get("output"):
            content = np.full(size * dtype.itemsize, UNTOUCHED_BYTE, np.uint8)
        else:
            content = filled(tensor.get("data", [0]), size, dtype).view(np.uint8)
        if tensor.get("data") == "NULL":
            self.pointers[name] = self.library.ffi.NULL
        elif "shares" in tensor:
            owner, start = tensor["shares"]
            self.pointers[name] = self.pointers[owner] + start
            self.regions[name] = (owner, start, content.size, dtype)
        else:
            start = tensor.get("start", 0)
            before = np.full(start, UNTOUCHED_BYTE, np.uint8)
            room = np.full(tensor.get("room", 0), UNTOUCHED_BYTE, np.uint8)
            self.buffers[name] = Buffer(self.library, np.concatenate([before, content, room]))
            self.pointers[name] = self.buffers[name].pointer + start
            self.regions[name] = (name, start, content.size, dtype)

    def _make_object(self, kind: dict, settings: dict):
        if settings.get("desc") == "NULL":
            return self.library.ffi.NULL
        made = self.library.make(kind["make"])
        if settings.get("desc") != "unset":
            values = [self.scalar(settings[name]) for name in kind["with"]]
            assert self.library.function(kind["set"])(made, *values) == 0, "an object cannot be set"
        return made

    def _make_workspace(self, workspace: dict) -> None:
        """Ask the library how much it needs, by the table's own query; then apply the changes."""
        if "call" in workspace:
            place = self.library.ffi.new("size_t *")
            query = getattr(self.library.mluop, workspace["call"])
            # A broken call is broken for the query too: the size is that of the base call.
            with Call(self.library, self.table, self._without_workspace()) as base:
                arguments = base.values_of(workspace["with"])
                assert query(*arguments, place) == 0, "the workspace query fails"
            self.workspace_size = place[0]
        if workspace.get("short"):
            if self.workspace_size == 0:
                pytest.skip("this library needs no workspace")
            self.workspace_size -= 1
        if "size" in workspace:
            self.workspace_size = max(self.workspace_size, workspace["size"])
        pointer = self.library.ffi.NULL
        if workspace.get("pointer") != "NULL" and "shares" not in workspace:
            content = np.zeros(max(self.workspace_size, 1), np.uint8)
            self.buffers["workspace"] = Buffer(self.library, content)
            if self.workspace_size > 0:
                pointer = self.buffers["workspace"].pointer
        elif "shares" in workspace:
            pointer = self.pointers[workspace["shares"]]
        self.pointers["workspace"] = pointer

    def _without_workspace(self) -> dict:
        return {**self.table.base, "workspace": {}}

    # ------------------------------------------------------------------------- making the call

    def value_of(self, argument: str):
        if argument == "handle":
            null = self.description["handle"].get("pointer") == "NULL"
            return self.library.ffi.NULL if null else self.library.handle
        if argument == "workspace_size":
            return self.workspace_size
        if argument == "&workspace_size":
            null = self.description["handle"].get("out") == "NULL"
            self.size_place = self.library.ffi.new("size_t *", UNTOUCHED_SIZE)
            return self.library.ffi.NULL if null else self.size_place
        if argument in self.pointers:
            return self.pointers[argument]
        name = argument.removesuffix("_desc")
        for made in (self.descriptors, self.objects):
            if name in made:
                return made[name]
        return self.scalar(self.description["scalars"][argument])

    def scalar(self, value):
        """Return a number, an enumerator by its name, or a list of them."""
        if isinstance(value, str):
            found = self.library.constant(value)
            assert found is not None, f"unknown enumerator {value}"
            return found
        return [self.scalar(item) for item in value] if isinstance(value, list) else value

    def values_of(self, arguments: list[str]) -> list:
        return [self.value_of(argument) for argument in arguments]

    def run(self) -> int:
        function = getattr(self.library.mluop, self.table.function)
        return function(*self.values_of(self.table.arguments))

    def check_outputs(self, results: dict | None) -> None:
        """Compare outputs with their results; all other memory is as it was."""
        results = dict(results or {})
        size = results.pop("workspace_size", UNTOUCHED_SIZE)
        if "&workspace_size" in self.table.arguments and (size is not ANY):
            assert self.size_place[0] == size, f"workspace_size is {self.size_place[0]}"
        for name, buffer in self.buffers.items():
            now = buffer.read()
            if name == "workspace" and results:
                continue
            expected = buffer.content.copy()
            for tensor, (owner, start, size, dtype) in self.regions.items():
                if owner != name or tensor not in results:
                    continue
                part = slice(start, start + size)
                compare(tensor, now[part].view(dtype), results[tensor])
                expected[part] = now[part]
            assert np.array_equal(now, expected), f"memory of {name} has been written to"


def compare(name: str, now: np.ndarray, wanted) -> None:
    """Numbers are equal, or both NaN; text is equal bit for bit."""
    expected = filled(wanted, now.size, now.dtype)
    if isinstance(wanted, str):
        equal = now.tobytes() == expected.tobytes()
    else:
        equal = np.array_equal(now, expected, equal_nan=now.dtype.kind == "f")
    assert equal, f"{name} is {now}, expected {expected}"


def extent(tensor: dict) -> int:
    """Return how many elements the data of a tensor spans."""
    dims = tensor["dims"]
    if "strides" in tensor and prod(dims) > 0:
        size = 1 + sum((d - 1) * s for d, s in zip(dims, tensor["strides"], strict=True))
    else:
        size = prod(dims)
    return size if size <= LARGEST_BUFFER else 1


def filled(data, size: int, dtype: np.dtype) -> np.ndarray:
    """Return the listed numbers, repeated to the size that is asked for.

    Text is the bits of each number in hexadecimal, for values that a conversion could change. A
    table is one number everywhere but at some places: {fill = 0, at = {"5" = 1}}.
    """
    if data == "NULL":
        return np.zeros(size, dtype)
    if isinstance(data, str):
        bits = [int(word, 16) for word in data.split()]
        return np.resize(np.array(bits, f"u{dtype.itemsize}").view(dtype), size)
    if isinstance(data, dict):
        numbers = np.full(size, data["fill"], dtype)
        for place, value in data["at"].items():
            numbers[int(place)] = value
        return numbers
    return np.resize(np.array(data).astype(dtype), size)

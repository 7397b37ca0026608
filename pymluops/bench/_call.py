# SPDX-License-Identifier: Apache-2.0
"""How a case is called through the C API: with memory and descriptors that are there."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from pymluops import capi
from pymluops._tensor import Array
from pymluops.bench._case import Argument, Arguments, Descriptor, Pointer, Tensor, Workspace
from pymluops.capi import DataType

_DTYPES = {"float16": DataType.HALF, "float32": DataType.FLOAT, "int32": DataType.INT32}


class Library:
    """The library that the package runs; another one is loaded by benchmarks/bench.py."""

    def __init__(self, ffi: Any = capi.ffi, lib: Any = capi.lib) -> None:
        self.ffi = ffi
        self.lib = lib

    def check(self, status: int) -> None:
        """Raise if a call has failed."""
        if status != 0:
            message = self.ffi.string(self.lib.mluOpCpuGetLastErrorMessage()).decode()
            raise RuntimeError(f"status {status}: {message}")

    @contextmanager
    def handle(self, isa: str, threads: int, **variables: str) -> Iterator[Any]:
        """Make a handle for an instruction set ("": the best) and a number of threads.

        Other environment variables hold while the handle is made, as it reads them then.
        """
        pointer = self.ffi.new("mluOpHandle_t *")
        with mock.patch.dict(os.environ, {"MLUOP_CPU_ISA": isa, **variables}):
            self.check(self.lib.mluOpCreate(pointer))
        try:
            self.check(self.lib.mluOpCpuSetNumThreads(pointer[0], threads))
            yield pointer[0]
        finally:
            self.lib.mluOpDestroy(pointer[0])


class Call:
    """A call bound to a library, a handle and its arguments; calling it does the work once."""

    def __init__(self, library: Library, handle: Any, api: str, arguments: Arguments) -> None:
        self._library = library
        self._keep: list[Any] = []
        self._undo: list[tuple[Any, Any]] = []
        self._function = getattr(library.lib, api)
        self._bound = [handle]
        sizes = [handle]  # what the query of the workspace takes
        workspace: tuple[int, Workspace] | None = None
        for argument in arguments.values():
            if isinstance(argument, Workspace):
                workspace = len(self._bound), argument
                self._bound += [None, None]
                continue
            values = self._values(argument)
            self._bound += values
            if not isinstance(argument, Pointer | Descriptor):
                sizes.append(values[0])
        if workspace is not None:
            at, argument = workspace
            pair = self._workspace(api, sizes)
            self._bound[at : at + 2] = pair[::-1] if argument.size_first else pair

    def __call__(self) -> None:
        status = self._function(*self._bound)
        if status != 0:
            self._library.check(status)

    def close(self) -> None:
        """Destroy the descriptors that are not of tensors."""
        for destroy, descriptor in self._undo:
            destroy(descriptor)
        self._undo.clear()

    def _values(self, argument: Argument) -> list[Any]:
        """Return what C gets for an argument."""
        if isinstance(argument, Tensor):
            return [self._descriptor(argument), self._pointer(argument.array)]
        if isinstance(argument, Pointer):
            return [self._pointer(argument.array)]
        if isinstance(argument, Descriptor):
            return [self._object(argument)]
        return [argument]

    def _pointer(self, array: Array | None) -> Any:
        if array is None:
            return self._library.ffi.NULL
        if not array.flags.c_contiguous:
            raise ValueError(f"strides {array.strides} given, expected a C-contiguous array")
        self._keep.append(array)
        return self._library.ffi.cast("void *", array.ctypes.data)

    def _descriptor(self, tensor: Tensor) -> Any:
        ffi, lib = self._library.ffi, self._library.lib
        if tensor.array is None:
            return ffi.NULL
        pointer = ffi.new("mluOpTensorDescriptor_t *")
        self._library.check(lib.mluOpCreateTensorDescriptor(pointer))
        self._keep.append(ffi.gc(pointer[0], lib.mluOpDestroyTensorDescriptor))
        dtype, shape = _DTYPES[tensor.array.dtype.name], tensor.array.shape
        self._library.check(
            lib.mluOpSetTensorDescriptor(pointer[0], tensor.layout, dtype, len(shape), shape)
        )
        return pointer[0]

    def _object(self, wanted: Descriptor) -> Any:
        ffi, lib = self._library.ffi, self._library.lib
        name = f"{wanted.name}Descriptor"
        pointer = ffi.new(f"mluOp{name}_t *")
        self._library.check(getattr(lib, f"mluOpCreate{name}")(pointer))
        self._undo.append((getattr(lib, f"mluOpDestroy{name}"), pointer[0]))
        set_values = getattr(lib, f"mluOpSet{name}{wanted.version}")
        self._library.check(set_values(pointer[0], *wanted.values))
        return pointer[0]

    def _workspace(self, api: str, sizes: list[Any]) -> list[Any]:
        """Ask for the size with the arguments that the query takes: no padding."""
        ffi, lib = self._library.ffi, self._library.lib
        query = getattr(lib, api.replace("mluOp", "mluOpGet", 1) + "WorkspaceSize")
        count = len(ffi.typeof(query).args)
        size = ffi.new("size_t *")
        self._library.check(query(*sizes[: count - 2], sizes[-1], size))
        buffer = ctypes.create_string_buffer(max(1, size[0]))
        self._keep.append(buffer)
        return [ffi.cast("void *", ctypes.addressof(buffer)), size[0]]

# SPDX-License-Identifier: Apache-2.0
"""How a benchmark case is described, and how it is called through the C API.

A case names an API function and makes its arguments in the order of the C prototype, after the
handle. A tensor stands for its two C parameters, the descriptor and the data pointer.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import cffi
import numpy as np

ROOT = Path(__file__).resolve().parents[1]

NCHW, NHWC, ARRAY = 0, 1, 4
DTYPES = {"float16": 1, "float32": 2, "int32": 6}


@dataclass
class Tensor:
    """A tensor argument; `output` marks those that the call writes."""

    array: np.ndarray | None
    layout: int = ARRAY
    output: bool = False


@dataclass
class Pointer:
    """An array without a descriptor, or NULL."""

    array: np.ndarray | None


@dataclass
class Descriptor:
    """A descriptor that is not of a tensor: its name in the API, and what it is set to."""

    name: str
    values: list[Any]
    version: str = ""  # "_v2" where the function that sets it ends so


@dataclass
class Workspace:
    """The workspace: pointer and size, or size and pointer."""

    size_first: bool = False


#: What a call for the peers is: the API function, its arguments, its results by their names there,
#: or what gives a result as long as the call makes it.
Peer = tuple[str, list[Any], dict[str, np.ndarray | Callable[[], np.ndarray]]]

#: A name, a function of PyTorch and the images that it takes.
TorchCall = tuple[str, Callable[..., Any], list[Any]]


@dataclass
class Case:
    """One timed call. `read` and `written` are the fewest bytes that the operator must move, of
    float32 tensors; `flops` the fewest floating-point operations."""

    name: str
    api: str
    make: Callable[[np.dtype], list[Any]]
    read: int = 0
    written: int = 0
    flops: int = 0
    dtypes: tuple[str, ...] = ("float32", "float16")
    group: str = "table"
    notes: dict[str, Any] = field(default_factory=dict)


def declarations() -> str:
    """The C declarations of the public headers, as cffi reads them."""
    text = "typedef struct cnrtQueue *cnrtQueue_t;\n"
    for header in ("mlu_op.h", "mlu_op_cpu.h"):
        source = (ROOT / "include" / header).read_text()
        text += source.split("/* cdef begin", 1)[1].split("*/", 1)[1].split("/* cdef end", 1)[0]
    return re.sub(r"\bMLUOP_WIN_API\b", "", text)


class Library:
    """A build of the library, loaded from a path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.ffi = cffi.FFI()
        self.ffi.cdef(declarations())
        self.lib = self.ffi.dlopen(path)

    def check(self, status: int) -> None:
        if status != 0:
            message = self.ffi.string(self.lib.mluOpCpuGetLastErrorMessage()).decode()
            raise RuntimeError(f"status {status}: {message}")

    @contextmanager
    def handle(self, isa: str, threads: int, cache: str = "", kernel: str = "") -> Iterator[Any]:
        """A handle whose kernels are those of `isa` ("": the best), for a last-level cache of so
        many bytes ("": the machine's), with ways of operators that are taken by name."""
        wanted = {
            "MLUOP_CPU_ISA": isa,
            "MLUOP_CPU_CACHE_BYTES": cache,
            "MLUOP_CPU_KERNEL": kernel,
        }
        pointer = self.ffi.new("mluOpHandle_t *")
        with mock.patch.dict(os.environ, wanted):
            self.check(self.lib.mluOpCreate(pointer))
        self.check(self.lib.mluOpCpuSetNumThreads(pointer[0], threads))
        try:
            yield pointer[0]
        finally:
            self.lib.mluOpDestroy(pointer[0])


class Call:
    """A case bound to a library and a handle: calling it does the work once."""

    def __init__(self, library: Library, handle: Any, api: str, arguments: list[Any]) -> None:
        self.library = library
        ffi, lib = library.ffi, library.lib
        self._keep: list[Any] = []
        self._undo: list[tuple[Any, Any]] = []
        sizes = [handle]
        bound = [handle]
        for argument in arguments:
            if isinstance(argument, Tensor):
                desc = self._descriptor(argument)
                array = argument.array
                data = ffi.NULL if array is None else ffi.cast("void *", array.ctypes.data)
                bound += [desc, data]
                sizes.append(desc)
            elif isinstance(argument, Pointer):
                self._keep.append(argument.array)
                address = 0 if argument.array is None else argument.array.ctypes.data
                bound.append(ffi.cast("void *", address))
            elif isinstance(argument, Descriptor):
                bound.append(self._object(argument))
            elif isinstance(argument, Workspace):
                workspace_at = len(bound)
                bound += [None, None]
            else:
                bound.append(argument)
                sizes.append(argument)
        for argument in arguments:
            if isinstance(argument, Workspace):
                pair = self._workspace(api, sizes)
                bound[workspace_at : workspace_at + 2] = pair[::-1] if argument.size_first else pair
        self._function = getattr(lib, api)
        self._bound = bound

    def __call__(self) -> None:
        status = self._function(*self._bound)
        if status != 0:
            self.library.check(status)

    def close(self) -> None:
        for destroy, descriptor in self._undo:
            destroy(descriptor)
        self._undo.clear()

    def _descriptor(self, tensor: Tensor) -> Any:
        ffi, lib = self.library.ffi, self.library.lib
        if tensor.array is None:
            return ffi.NULL
        pointer = ffi.new("mluOpTensorDescriptor_t *")
        self.library.check(lib.mluOpCreateTensorDescriptor(pointer))
        self._keep += [
            tensor.array,
            ffi.gc(pointer[0], lib.mluOpDestroyTensorDescriptor),
        ]
        dtype, shape = DTYPES[tensor.array.dtype.name], tensor.array.shape
        self.library.check(
            lib.mluOpSetTensorDescriptor(pointer[0], tensor.layout, dtype, len(shape), shape)
        )
        return pointer[0]

    def _object(self, wanted: Descriptor) -> Any:
        ffi, lib = self.library.ffi, self.library.lib
        name = f"{wanted.name}Descriptor"
        pointer = ffi.new(f"mluOp{name}_t *")
        self.library.check(getattr(lib, f"mluOpCreate{name}")(pointer))
        self._undo.append((getattr(lib, f"mluOpDestroy{name}"), pointer[0]))
        set_values = getattr(lib, f"mluOpSet{name}{wanted.version}")
        self.library.check(set_values(pointer[0], *wanted.values))
        return pointer[0]

    def _workspace(self, api: str, sizes: list[Any]) -> list[Any]:
        """Asks for the size with the arguments that the query takes: no padding."""
        ffi, lib = self.library.ffi, self.library.lib
        query = api.replace("mluOp", "mluOpGet", 1) + "WorkspaceSize"
        count = len(ffi.typeof(getattr(lib, query)).args)
        tensors_and_kernel = [*sizes[: count - 2], sizes[-1]]
        size = ffi.new("size_t *")
        self.library.check(getattr(lib, query)(*tensors_and_kernel, size))
        buffer = ctypes.create_string_buffer(max(1, size[0]))
        self._keep.append(buffer)
        return [ffi.cast("void *", ctypes.addressof(buffer)), size[0]]

# SPDX-License-Identifier: Apache-2.0
"""Load any shared library that claims to be mluOp, and work with its memory and its errors."""

from __future__ import annotations

import re
from pathlib import Path

import cffi
import numpy as np

INCLUDE = Path(__file__).resolve().parents[2] / "include"
GUARD = 64  # bytes on both sides of every buffer; they must survive every call
GUARD_BYTE = 0xC3
UNTOUCHED_BYTE = 0x5A  # what outputs are filled with before a call

NUMPY_TYPES = {
    "HALF": np.float16,
    "FLOAT": np.float32,
    "DOUBLE": np.float64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "UINT32": np.uint32,
    "UINT8": np.uint8,
    "BOOL": np.uint8,
}


def declarations(header: str) -> str:
    """Return what a header says between "cdef begin" and "cdef end"."""
    text = (INCLUDE / header).read_text()
    found = re.search(r"/\* cdef begin.*?\*/(.*?)/\* cdef end \*/", text, re.DOTALL)
    assert found is not None, f"{header} has no declarations to read"
    return found[1].replace("MLUOP_WIN_API", "")


class Library:
    """An mluOp library, the runtime that its memory comes from, and its enumerators."""

    def __init__(self, mluop_path: Path, cnrt_path: Path | None = None) -> None:
        self.ffi = cffi.FFI()
        self.ffi.cdef("".join(map(declarations, ("cnrt.h", "mlu_op.h", "mlu_op_cpu.h"))))
        self.mluop = self.ffi.dlopen(str(mluop_path))
        self.cnrt = self._load_runtime(mluop_path, cnrt_path)
        self.handle = self.make("mluOpCreate")

    def _load_runtime(self, mluop_path: Path, cnrt_path: Path | None):
        if cnrt_path is None and not hasattr(self.mluop, "cnrtMalloc"):
            cnrt_path = mluop_path.with_name("libcnrt.so")
        return self.mluop if cnrt_path is None else self.ffi.dlopen(str(cnrt_path))

    def close(self) -> None:
        assert self.mluop.mluOpDestroy(self.handle) == 0

    def function(self, name: str):
        """Return a function of the library, or of its runtime."""
        return getattr(self.cnrt if name.startswith("cnrt") else self.mluop, name)

    def has(self, name: str) -> bool:
        """Tell whether the library has a function: those of mlu_op_cpu.h are its own affair."""
        return hasattr(self.mluop, name)

    def parameters(self, name: str) -> tuple:
        """Return the types of the parameters of a function."""
        return self.ffi.typeof(self.function(name)).args

    def make(self, create: str):
        """Call one of the functions that make an object."""
        (out,) = self.parameters(create)
        place = self.ffi.new(out)
        assert self.function(create)(place) == 0, f"{create} fails"
        return place[0]

    def constant(self, name: str):
        """Return the value of an enumerator, or None for another name."""
        return getattr(self.mluop, name, None) if re.fullmatch(r"MLUOP_[A-Z0-9_]+", name) else None

    def status_name(self, value: int) -> str:
        names = self.ffi.typeof("mluOpStatus_t").elements
        return names.get(value, str(value)).removeprefix("MLUOP_STATUS_")

    def message(self) -> str | None:
        """Return the text of the last error, or None if the library has no such texts."""
        if not self.has("mluOpCpuGetLastErrorMessage"):
            return None
        return self.ffi.string(self.mluop.mluOpCpuGetLastErrorMessage()).decode()

    def address(self, value: int):
        return self.ffi.cast("void *", value)


class Buffer:
    """Device memory with guards around it, filled with known bytes."""

    def __init__(self, library: Library, content: np.ndarray) -> None:
        self.library = library
        self.content = content
        guard = np.full(GUARD, GUARD_BYTE, np.uint8)
        self.image = np.concatenate([guard, content.reshape(-1).view(np.uint8), guard])
        place = library.ffi.new("void **")
        assert library.cnrt.cnrtMalloc(place, self.image.size) == 0, "no device memory"
        self.base = place[0]
        self._copy(self.base, library.ffi.from_buffer(self.image), "HOST2DEV")

    def _copy(self, dst, src, direction: str) -> None:
        value = getattr(self.library.cnrt, f"CNRT_MEM_TRANS_DIR_{direction}")
        assert self.library.cnrt.cnrtMemcpy(dst, src, self.image.size, value) == 0

    @property
    def pointer(self):
        return self.library.ffi.cast("char *", self.base) + GUARD

    def read(self) -> np.ndarray:
        """Return what is in the memory now; the guards must be as they were."""
        now = np.empty_like(self.image)
        self._copy(self.library.ffi.from_buffer(now), self.base, "DEV2HOST")
        for part in (slice(None, GUARD), slice(-GUARD, None)):
            assert np.array_equal(now[part], self.image[part]), "written outside a tensor"
        return now[GUARD:-GUARD].view(self.content.dtype).reshape(self.content.shape)

    def untouched(self) -> bool:
        return self.read().tobytes() == self.content.tobytes()

    def free(self) -> None:
        assert self.library.cnrt.cnrtFree(self.base) == 0

# SPDX-License-Identifier: Apache-2.0
"""The one way to call an operator of the C library.

A `Call` turns the arguments of a Python function into those of the C function, keeps everything
alive until C returns, and turns a failing status into an exception. Shapes and values are judged by
C alone; Python refuses only what cannot be handed over.
"""

import math
from typing import Any, NoReturn, SupportsFloat, SupportsIndex

import numpy as np

from pymluops._descriptor import packed_descriptor
from pymluops._handle import Handle, resolve
from pymluops._scalars import c_extent, c_float, c_int, shown
from pymluops._tensor import (
    HALF_OR_FLOAT,
    Array,
    ArrayLike,
    Dtypes,
    as_input,
    as_output,
)
from pymluops.capi import CData, Layout, Status, ffi, lib
from pymluops.errors import (
    AllocFailedError,
    BadParamError,
    NotSupportedError,
    bad_type,
    bad_value,
    check,
)

# The library refuses tensors of this many elements or more.
_TOO_MANY = 2**31
# Where such a tensor is said to be: C refuses it by its descriptor, and does not look.
_NOWHERE = ffi.new("char[64]")

_BYTES = ffi.typeof("char[]")
# Plain numbers: hashing an enumerator takes longer than the rest of the look-up.
_ARRAY = int(Layout.ARRAY)
_from_buffer = ffi.from_buffer


class Tensor:
    """An array as C gets it: a descriptor and a pointer."""

    __slots__ = ("array", "descriptor", "pointer", "result")

    def __init__(
        self, array: Array, descriptor: CData, pointer: CData | None = None, result: Any = None
    ) -> None:
        self.array = array  # kept alive for the pointer
        self.descriptor = descriptor
        self.pointer = _from_buffer(_BYTES, array) if pointer is None else pointer
        self.result = array if result is None else result  # what the caller gets

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the array."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of the array."""
        return self.array.dtype


# An optional tensor that is not given.
ABSENT = Tensor(np.empty(0, np.float32), ffi.NULL, ffi.NULL)


class Call:
    """One call of an operator.

    Parameters
    ----------
    function : str
        The name of the C function.
    handle : Handle, optional
        What the caller gave.
    layout : Layout
        The layout of tensors of four dims.
    """

    __slots__ = ("_empty_input", "_function", "_handle", "_layout", "_outputs", "_too_large")

    def __init__(self, function: str, handle: Handle | None, layout: Layout) -> None:
        self._function = function
        self._handle = resolve(function, handle)
        self._layout = int(layout)
        self._outputs: list[Array] = []
        self._empty_input = False
        self._too_large = ""  # the name of an output that was not made

    def integer(self, name: str, value: SupportsIndex) -> int:
        """Return a whole number for an int parameter."""
        return c_int(self._function, name, value)

    def extent(self, name: str, value: SupportsIndex) -> int:
        """Return the size of a dim that the C function does not ask for."""
        return c_extent(self._function, name, value)

    def real(self, name: str, value: SupportsFloat) -> float:
        """Return a number for a float parameter."""
        return c_float(self._function, name, value)

    def input(
        self, name: str, value: ArrayLike, ndim: int = 4, dtypes: Dtypes = HALF_OR_FLOAT
    ) -> Tensor:
        """Return what the operator reads."""
        array = as_input(self._function, name, value, dtypes, ndim)
        if array.size == 0:
            self._empty_input = True
        layout = self._layout if ndim == 4 else _ARRAY
        return Tensor(array, packed_descriptor(array.shape, array.dtype, layout))

    def output(self, name: str, given: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """Return what the operator writes: the array that the caller gave, or a new one."""
        if given is not None:
            array = as_output(self._function, name, given, shape, dtype)
        elif math.prod(shape) >= _TOO_MANY:
            self._too_large = name
            nothing = np.empty(0, dtype)
            return Tensor(nothing, self._planned(name, shape, dtype), _NOWHERE)
        else:
            array = self._new(name, shape, dtype)
        self._outputs.append(array)
        layout = self._layout if len(shape) == 4 else _ARRAY
        return Tensor(array, packed_descriptor(shape, dtype, layout), result=given)

    def several(self, names: tuple[str, ...], given: Any) -> tuple[Any, ...]:
        """Return the arrays in an ``out=`` for several outputs."""
        if given is None:
            return (None,) * len(names)
        if not isinstance(given, tuple | list) or len(given) != len(names):
            what = f"{len(given)} arrays" if isinstance(given, tuple | list) else shown(given)
            expected = f"a tuple of {len(names)}: {', '.join(names)}"
            raise bad_type(self._function, "out", f"{what} given, expected {expected}")
        return tuple(given)

    def refuse(self, name: str, problem: str) -> NoReturn:
        """Raise for an argument that contradicts another one, where C sees only one of them."""
        raise bad_value(self._function, name, problem)

    def workspace(self, size_function: str, *arguments: Any) -> tuple[CData, int]:
        """Return working memory of the size that a function of the C API asks for."""
        size = ffi.new("size_t *")
        self._run(size_function, [*arguments, size])
        if size[0] == 0:
            return ffi.NULL, 0
        return _from_buffer(_BYTES, self._new("workspace", (size[0],), np.dtype(np.uint8))), size[0]

    def run(self, *arguments: Any) -> None:
        """Call the C function; a tensor stands for its descriptor and its pointer."""
        flat: list[Any] = []
        for argument in arguments:
            if type(argument) is Tensor:
                flat += (argument.descriptor, argument.pointer)
            else:
                flat.append(argument)
        self._run(self._function, flat)
        if self._too_large:
            # Nothing to read came first.
            message = f"[{self._function}] {self._too_large}: 2**31 elements or more"
            raise NotSupportedError(Status.NOT_SUPPORTED, self._function, message)
        if self._empty_input:
            # With nothing to read some functions succeed without writing.
            for array in self._outputs:
                array.fill(0)

    def _run(self, function: str, arguments: list[Any]) -> None:
        handle = self._handle
        with handle.lock:
            status = getattr(lib, function)(handle.cdata, *arguments)
        if status:
            check(status, function)

    def _planned(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> CData:
        """Return the descriptor of a tensor that does not exist."""
        try:
            return packed_descriptor(shape, dtype, self._layout if len(shape) == 4 else _ARRAY)
        except (OverflowError, BadParamError):
            raise bad_value(self._function, name, f"shape {shape} is too large") from None

    def _new(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        try:
            return np.empty(shape, dtype)
        except MemoryError as error:
            message = f"[{self._function}] {name}: no memory for shape {shape}"
            raise AllocFailedError(Status.ALLOC_FAILED, self._function, message) from error
        except (OverflowError, ValueError):
            raise bad_value(self._function, name, f"shape {shape} is too large") from None

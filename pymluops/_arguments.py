# SPDX-License-Identifier: Apache-2.0
"""The arguments of a call: from those of a Python function to those of the C function.

Rank, dtype and size are checked here, before anything is copied. C checks everything else.
"""

import math
from typing import Any, NoReturn, SupportsFloat, SupportsIndex, TypeAlias, cast

import numpy as np

from pymluops._descriptor import packed_descriptor
from pymluops._scalars import c_extent, c_flag, c_float, c_int, shown
from pymluops._tensor import (
    FLOAT,
    HALF_OR_FLOAT,
    Array,
    ArrayLike,
    Dtypes,
    as_input,
    as_output,
    is_readable,
)
from pymluops.capi import CData, Layout, Status, ffi
from pymluops.errors import AllocFailedError, BadParamError, bad_type, bad_value

# Two sizes: one number for both, or two.
Size: TypeAlias = SupportsIndex | tuple[SupportsIndex, SupportsIndex] | None
# One number for all sizes, or a number for each.
Sizes: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...]

# The library refuses tensors of this many elements or more.
TOO_MANY = 2**31
# Where such a tensor is said to be: C refuses it by its descriptor, and does not look.
NOWHERE = ffi.new("char[64]")
_NOTHING = np.empty(0, np.float32)

_BYTES = ffi.typeof("char[]")
# Plain numbers: hashing an enumerator takes longer than the rest of the look-up.
_ARRAY = int(Layout.ARRAY)
_from_buffer = ffi.from_buffer


def pointer_to(array: Array) -> CData:
    """Return a pointer to the memory of an array; the caller keeps the array alive."""
    return _from_buffer(_BYTES, array)


def new_array(function: str, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Allocate what a call writes."""
    try:
        return np.empty(shape, dtype)
    except MemoryError as error:
        raise no_memory(function, name, shape) from error
    except (OverflowError, ValueError):
        raise bad_value(function, name, f"shape {shape} is too large") from None


def no_memory(function: str, name: str, shape: tuple[int, ...]) -> AllocFailedError:
    """Return the error for an array that does not fit into memory."""
    message = f"[{function}] {name}: no memory for shape {shape}"
    return AllocFailedError(Status.ALLOC_FAILED, function, message)


class Tensor:
    """An array as it is passed to C: a descriptor and a pointer."""

    __slots__ = ("array", "descriptor", "dtype", "name", "narrow", "pointer", "result", "shape")

    def __init__(
        self,
        name: str,
        array: Array,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        descriptor: CData,
        pointer: CData | None,
    ) -> None:
        self.name = name
        self.array = array  # kept alive for the pointer
        self.shape = shape
        self.dtype = dtype
        self.descriptor = descriptor
        self.pointer = pointer  # None: not yet where C can read it
        self.result = array  # what the caller gets: `out=` itself
        self.narrow: Array | None = None  # where the result goes that `array` has in float32


# An optional tensor that is not given.
ABSENT = Tensor("", np.empty(0, np.float32), (0,), FLOAT[0], ffi.NULL, ffi.NULL)


class Arguments:
    """The arguments of one call.

    Parameters
    ----------
    function : str
        The name of the C function, for messages.
    layout : Layout
        The layout of tensors of four dims.
    """

    def __init__(self, function: str, layout: Layout) -> None:
        self.function = function
        self._layout = int(layout)
        self.outputs: list[Tensor] = []
        self._leader: Tensor | None = None  # the first array of floats: others have its dtype
        self._single: bool | None = None  # whether an image came without the dim of images
        self._unready = False  # whether C cannot read every input where it is
        self._wide = False  # whether float16 values meet float32 coordinates
        self._empty_input = False
        self._too_large = ""  # the name of an output that was not made

    # -------------------------------------------------------------------------------- numbers

    def integer(self, name: str, value: SupportsIndex | None) -> int:
        """Return a whole number for an int parameter."""
        return c_int(self.function, name, value)

    def extent(self, name: str, value: SupportsIndex | None) -> int:
        """Return the size of a dim that the C function does not ask for."""
        return c_extent(self.function, name, value)

    def real(self, name: str, value: SupportsFloat) -> float:
        """Return a number for a float parameter."""
        return c_float(self.function, name, value)

    def flag(self, name: str, value: object) -> bool:
        """Return a truth value for a bool parameter."""
        return c_flag(self.function, name, value)

    def word(self, name: str, value: str, known: dict[str, int]) -> int:
        """Return the number that C has for a word."""
        if not isinstance(value, str) or value not in known:
            self.refuse(name, f"{shown(value)} given, expected {' or '.join(map(repr, known))}")
        return known[value]

    def pair(
        self,
        both: tuple[str, Size],
        first: tuple[str, SupportsIndex | None],
        second: tuple[str, SupportsIndex | None],
        default: int | None = None,
    ) -> tuple[int, int]:
        """Return two sizes, given by two arguments, or by one that is a number or a pair."""
        name, value = both
        if value is None:
            for one, number in (first, second):
                if number is None:
                    advice = f"pass {first[0]} and {second[0]}, or {name}"
                    raise bad_type(self.function, one, f"missing; {advice}")
            return self.integer(*first), self.integer(*second)
        for other, given in (first, second):
            if given is not default:
                self.refuse(name, f"given beside {other}, expected one of them")
        height, width = self.sizes(name, value)
        return height, width

    def sizes(self, name: str, value: Sizes, counts: tuple[int, ...] = (2,)) -> tuple[int, ...]:
        """Return sizes that are given as one number for all, or as one of these counts."""
        if not isinstance(value, tuple | list):
            return (self.integer(name, value),) * counts[0]
        if len(value) not in counts:
            expected = " or ".join({2: "two", 4: "four"}[count] for count in counts)
            self.refuse(name, f"{len(value)} numbers given, expected one or {expected}")
        return tuple(self.integer(name, each) for each in value)

    # --------------------------------------------------------------------------------- arrays

    def input(
        self,
        name: str,
        value: ArrayLike,
        ndim: int = 4,
        dtypes: Dtypes = HALF_OR_FLOAT,
        *,
        batch: bool = False,
    ) -> Tensor:
        """Return an input tensor; a `batch` is images, or one image without the first dim."""
        leader = self._leader if dtypes is HALF_OR_FLOAT else None
        if leader is not None:
            dtypes = (leader.dtype,)
        ndims = self._ndims(ndim) if batch else (ndim,)
        array, dtype = as_input(self.function, name, value, dtypes, ndims, leader)
        shape = array.shape
        if batch:
            self._single = len(shape) < ndim
            if self._single:
                shape = (1, *shape)
        tensor = self._input(name, array, shape, dtype)
        if dtypes is HALF_OR_FLOAT:
            self._leader = tensor
        return tensor

    def rois(self, name: str, value: ArrayLike) -> Tensor:
        """Return regions, whose coordinates may be float32 where values are float16."""
        array, dtype = self._coordinates(name, value, (2,))
        return self._input(name, array, array.shape, dtype)

    def boxes(self, name: str, value: ArrayLike) -> Tensor:
        """Return a box for each pixel, whose coordinates may be float32 as those of `rois`."""
        array, dtype = self._coordinates(name, value, (2, 3) if self._single else (3, 4))
        images = 1 if self._single else array.shape[0]
        pixels = math.prod(array.shape[0 if self._single else 1 : -1])
        return self._input(name, array, (images, pixels, array.shape[-1]), dtype)

    def check_pixels(self, boxes: Tensor, size: tuple[int, ...]) -> None:
        """Refuse boxes [N, H, W, 4] of another map: C sees only how many they are."""
        given = boxes.array.shape
        if len(given) == (3 if self._single else 4) and given[-3:-1] != size:
            expected = (*given[:-3], *size, 4)
            self.refuse(boxes.name, f"shape {given} given, expected {expected} as the map")

    def _ndims(self, ndim: int) -> tuple[int, ...]:
        if self._single is None:
            return ndim, ndim - 1
        return (ndim - 1,) if self._single else (ndim,)

    def _coordinates(
        self, name: str, value: ArrayLike, ndims: tuple[int, ...]
    ) -> tuple[Array, np.dtype[Any]]:
        leader = cast(Tensor, self._leader)
        dtypes = FLOAT if leader.dtype == FLOAT[0] else (leader.dtype, *FLOAT)
        array, dtype = as_input(self.function, name, value, dtypes, ndims, leader)
        if dtype != leader.dtype:
            self._wide = self._unready = True
        return array, dtype

    def _input(
        self, name: str, array: Array, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Tensor:
        if array.size == 0:
            self._empty_input = True
        pointer = pointer_to(array) if is_readable(array, dtype) else None
        if pointer is None:
            self._unready = True
        return Tensor(name, array, shape, dtype, self._descriptor(name, shape, dtype), pointer)

    def output(
        self,
        name: str,
        given: Any,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        batch: bool = False,
        layout: Layout | None = None,
    ) -> Tensor:
        """Return an output tensor: the array that the caller gave, or a new one.

        With four dims it has the layout of the call, or `layout`.
        """
        single = batch and bool(self._single)
        descriptor = self._descriptor(name, shape, dtype, layout)
        if given is not None:
            array = as_output(self.function, name, given, shape[1:] if single else shape, dtype)
        elif math.prod(shape) >= TOO_MANY:
            self._too_large = name
            return Tensor(name, _NOTHING, shape, dtype, descriptor, NOWHERE)
        else:
            array = new_array(self.function, name, shape, dtype)
        tensor = Tensor(name, array, shape, dtype, descriptor, pointer_to(array))
        if given is not None:
            tensor.result = given
        elif single:
            tensor.result = array[0]
        self.outputs.append(tensor)
        return tensor

    def several(self, names: tuple[str, ...], given: Any) -> tuple[Any, ...]:
        """Return the arrays in an ``out=`` for several outputs."""
        if given is None:
            return (None,) * len(names)
        if not isinstance(given, tuple | list) or len(given) != len(names):
            what = f"{len(given)} arrays" if isinstance(given, tuple | list) else shown(given)
            expected = f"a tuple of {len(names)}: {', '.join(names)}"
            raise bad_type(self.function, "out", f"{what} given, expected {expected}")
        return tuple(given)

    def refuse(self, name: str, problem: str) -> NoReturn:
        """Raise for an argument that contradicts another one, where C sees only one of them."""
        raise bad_value(self.function, name, problem)

    def _descriptor(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        layout: Layout | None = None,
    ) -> CData:
        of_four = self._layout if layout is None else int(layout)
        try:
            return packed_descriptor(shape, dtype, of_four if len(shape) == 4 else _ARRAY)
        except (OverflowError, BadParamError):
            raise bad_value(self.function, name, f"shape {shape} is too large") from None

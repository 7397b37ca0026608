# SPDX-License-Identifier: Apache-2.0
"""Arrays in and out: what counts as an array for an operator."""

import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pymluops._scalars import shown
from pymluops.errors import bad_type, bad_value

Array: TypeAlias = npt.NDArray[Any]


class SupportsDLPack(Protocol):
    """What a tensor of another library is: PyTorch, JAX, CuPy and others."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


ArrayLike: TypeAlias = npt.ArrayLike | SupportsDLPack
Output: TypeAlias = Array | SupportsDLPack | memoryview

# The dtypes that an argument may have; lists of numbers become the first.
Dtypes: TypeAlias = tuple[np.dtype[Any], ...]
FLOAT: Dtypes = (np.dtype(np.float32),)
HALF_OR_FLOAT: Dtypes = (*FLOAT, np.dtype(np.float16))
INT32: Dtypes = (np.dtype(np.int32),)  # int64 is taken for it, as np.nonzero returns that
_INT64 = np.dtype(np.int64)


# ------------------------------------------------------------------------------------- inputs


def as_input(
    function: str,
    name: str,
    value: ArrayLike,
    dtypes: Dtypes,
    ndims: tuple[int, ...],
    leader: Any = None,
) -> tuple[Array, np.dtype[Any]]:
    """Return an argument as an array, and the dtype in which C is to read it.

    Only rank and dtype are judged: nothing is copied, whatever the strides and the byte order.
    `leader` is the tensor whose dtype decides. Values are never converted, but for int64 indices.
    """
    array = value if type(value) is np.ndarray else _as_array(function, name, value, dtypes)
    dtype = array.dtype
    if dtype not in dtypes:
        native = dtype.newbyteorder("=") if dtype.kind in "fiu" else dtype
        if native in dtypes:
            dtype = native
        elif dtypes is INT32 and native == _INT64:
            dtype = INT32[0]
        else:
            raise _wrong_dtype(function, name, array, dtypes, leader)
    if array.ndim not in ndims:
        expected = " or ".join(str(ndim) for ndim in sorted(ndims))
        raise bad_value(
            function,
            name,
            f"{array.ndim} {_dims(array.ndim)} given, shape {array.shape}, "
            f"expected {expected} {_dims(max(ndims))}",
        )
    return array, dtype


def _dims(number: int) -> str:
    return "dim" if number == 1 else "dims"


def is_readable(array: Array, dtype: np.dtype[Any]) -> bool:
    """Whether C can read an array where it is, in the dtype that `as_input` has found."""
    flags = array.flags
    return flags.c_contiguous and flags.aligned and array.dtype is dtype


def as_readable(function: str, name: str, array: Array, dtype: np.dtype[Any]) -> Array:
    """Return the aligned, contiguous copy of an array that C reads."""
    result = array.astype(dtype, order="C")
    if dtype == INT32[0] and array.dtype.itemsize > 4:
        _check_fit(function, name, array, result == array, dtype)
    return result


def _check_fit(function: str, name: str, array: Array, fits: Array, dtype: np.dtype[Any]) -> None:
    """Raise for the first number that a dtype does not hold."""
    if not fits.all():
        number = array.flat[np.argmin(fits)]
        raise bad_value(function, name, f"{number} given, which does not fit {dtype}")


def refuse_masked(function: str, name: str, value: object) -> None:
    """Refuse a masked array, whose mask would be ignored."""
    if isinstance(value, np.ma.MaskedArray):
        problem = "masked array (numpy.ma) given, expected an array; fill it with .filled() first"
        raise bad_type(function, name, problem)


def _as_array(function: str, name: str, value: ArrayLike, dtypes: Dtypes) -> Array:
    refuse_masked(function, name, value)
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if isinstance(value, list | tuple):
        return _from_list(function, name, value, dtypes)
    shared = _share(function, name, value)
    if shared is None or shared.dtype == object:
        raise bad_type(function, name, f"{shown(value)} given, expected an array")
    return shared


_SHARING = ("__array_interface__", "__array_struct__")


def _share(
    function: str, name: str, value: object, also: tuple[str, ...] = ("__array__",)
) -> Array | None:
    """View the memory of another library's array; None for what is no array.

    What only has the method `also` may be copied by it.
    """
    _refuse_lazy_bits(function, name, value)
    try:
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        if any(hasattr(value, way) for way in _SHARING + also):
            return np.asarray(value)
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except Exception as error:  # whatever that library raises
        if any(hasattr(value, way) for way in ("__dlpack__", *also)):
            given = f"{type(value).__module__}.{type(value).__name__}"
            problem = f"{given} that cannot be read in place given ({error}), expected an array"
            raise bad_type(function, name, problem) from error
        return None


def _refuse_lazy_bits(function: str, name: str, value: Any) -> None:
    """Refuse a tensor of PyTorch whose numbers are not those in its memory.

    DLPack does not carry the negative bit, which the imaginary part of a conjugate has.
    """
    for bit, remedy in (("is_neg", "resolve_neg"), ("is_conj", "resolve_conj")):
        if hasattr(value, remedy) and getattr(value, bit)():
            problem = f"tensor with {bit}() given, whose memory has other numbers"
            raise bad_type(function, name, f"{problem}; pass {name}.{remedy}()")


def _from_list(function: str, name: str, value: Sequence[Any], dtypes: Dtypes) -> Array:
    """Make an array of nested lists: plain numbers have no dtype, and get the argument's first."""
    target = dtypes[0]
    kinds = "iu" if target.kind == "i" else "iuf"
    try:
        array = np.asarray(value)
    except Exception as error:  # rows of different lengths, or what an element raises
        raise bad_type(function, name, f"{type(value).__name__} given that is no array") from error
    if array.dtype in dtypes:
        return array
    if array.size > 0 and array.dtype.kind not in kinds:
        raise bad_type(
            function, name, f"{type(value).__name__} of {array.dtype} given, expected {target}"
        )
    if not (_plain(value) or (dtypes is INT32 and array.dtype == _INT64)):
        raise _wrong_dtype(function, name, array, dtypes)
    with np.errstate(over="ignore"):
        result = array.astype(target)
    fits = result == array if target.kind == "i" else np.isfinite(result) == np.isfinite(array)
    _check_fit(function, name, array, fits, target)
    return result


def _plain(values: Sequence[Any]) -> bool:
    """Whether nested lists hold numbers of Python alone, and no arrays or numbers of NumPy."""
    return all(
        _plain(value) if isinstance(value, list | tuple) else not hasattr(value, "dtype")
        for value in values
    )


def _wrong_dtype(
    function: str, name: str, array: Array, dtypes: Dtypes, leader: Any = None
) -> Exception:
    expected = " or ".join(str(dtype) for dtype in dtypes)
    problem = f"dtype {array.dtype} given, expected {expected}"
    if leader is not None:
        problem += f", the dtype of {leader.name}"
    if array.dtype.kind in "biuf":
        problem += f"; convert it with .astype(numpy.{dtypes[0]})"
    return bad_type(function, name, problem)


# ------------------------------------------------------------------------------------ outputs


def as_output(
    function: str, name: str, value: Output, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Return a view of the array that the caller wants a result in."""
    array = value if type(value) is np.ndarray else _writable(function, name, value)
    if array.dtype != dtype:
        raise bad_type(function, name, f"dtype {array.dtype} given, expected {dtype}")
    if array.shape != shape:
        raise bad_value(function, name, f"shape {array.shape} given, expected {shape}")
    flags = array.flags
    if not flags.carray:
        wrong = (
            "a read-only array"
            if not flags.writeable
            else "an unaligned array"
            if not flags.aligned
            else f"strides {array.strides}"
        )
        raise bad_value(
            function, name, f"{wrong} given, expected a writeable, aligned, C-contiguous array"
        )
    return array


def _writable(function: str, name: str, value: object) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise bad_type(function, name, "masked array (numpy.ma) given, expected a plain array")
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    array = None if isinstance(value, list | tuple) else _share(function, name, value, also=())
    if array is None:
        raise bad_type(function, name, f"{shown(value)} given, expected a writeable array")
    if not array.flags.writeable and hasattr(value, "__array__"):
        # NumPy 1 takes whatever comes by DLPack for read-only. The other way may be a copy.
        other = np.asarray(value)
        if other.ctypes.data == array.ctypes.data and other.shape == array.shape:
            return other
    return array


def after_writing(given: Any) -> None:
    """Tell PyTorch that a tensor of it has changed: its autograd may have kept the old numbers."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor) and not given.is_inference():
        torch.autograd.graph.increment_version(given)

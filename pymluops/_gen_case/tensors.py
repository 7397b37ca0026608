# SPDX-License-Identifier: Apache-2.0
"""The tensors of a case: their descriptors, and the values that a file stores or asks for."""

import math
import os
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pymluops._gen_case.case import Case
from pymluops._gen_case.random_numbers import drawn
from pymluops._tensor import Array
from pymluops.capi import CData, DataType, Layout, ffi, lib
from pymluops.errors import check

_NUMPY: dict[DataType, type[np.generic]] = {
    DataType.HALF: np.float16,
    DataType.FLOAT: np.float32,
    DataType.DOUBLE: np.float64,
    DataType.BFLOAT16: np.uint16,  # its bits
    DataType.BOOL: np.bool_,
    DataType.INT31: np.int32,
    DataType.COMPLEX_HALF: np.uint32,  # its bits
    DataType.COMPLEX_FLOAT: np.complex64,
    **{DataType[f"INT{n}"]: np.dtype(f"int{n}").type for n in (8, 16, 32, 64)},
    **{DataType[f"UINT{n}"]: np.dtype(f"uint{n}").type for n in (8, 16, 32, 64)},
}
_OLDER_NAMES = {"COMPLEX64": "COMPLEX_FLOAT"}
_LISTS = ("value_h", "value_f", "value_i", "value_l", "value_ui", "value_ul")
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclass
class Tensor:
    """A tensor of a case."""

    case: Case
    message: Any
    where: str
    """Where it stands: "input[0]"."""
    name: str
    """As the C function names it."""
    index: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        dims = tuple(self.message.shape.dims)
        if any(dim < 0 for dim in dims):
            raise self.fail(f"{list(dims)} given, expected no negative number", "shape.dims")
        return dims

    @property
    def strides(self) -> tuple[int, ...] | None:
        """The strides in elements; None for a packed tensor."""
        strides, shape = tuple(self.message.shape.dim_stride), self.shape
        if not strides:
            return None
        if len(strides) != len(shape):
            problem = f"{len(strides)} given, expected {len(shape)}, one for each of dims"
            raise self.fail(problem, "shape.dim_stride")
        if any(stride < 0 for stride in strides):
            raise self.fail(f"{list(strides)} given, expected none below 0", "shape.dim_stride")
        return strides

    @property
    def elements(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @property
    def room(self) -> int:
        """The elements of the memory that it spans."""
        strides, room = self.strides, self.elements
        if strides is not None and room > 0:
            room = 1 + sum((d - 1) * s for d, s in zip(self.shape, strides, strict=True))
        if room * self.dtype.itemsize > _MEMORY:
            raise self.fail(f"{list(self.shape)} given, more memory than there is", "shape.dims")
        return room

    def _named(self, field: str) -> str:
        descriptor = self.message.DESCRIPTOR.fields_by_name[field]
        number = getattr(self.message, field)
        return str(descriptor.enum_type.values_by_number[number].name).partition("_")[2]

    @property
    def layout(self) -> Layout:
        """What the dims mean."""
        return Layout[self._named("layout")]

    @property
    def data_type(self) -> DataType:
        """The type of an element, as the C API names it."""
        name = self._named("dtype")
        found = DataType.__members__.get(_OLDER_NAMES.get(name, name))
        if found not in _NUMPY:
            raise self.fail(f"DTYPE_{name} given, which the C API does not have", "dtype")
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an element."""
        return np.dtype(_NUMPY[self.data_type])

    @property
    def source(self) -> str:
        """Where its values come from: the name of a field, or ""."""
        filled = [name for name in _LISTS if len(getattr(self.message, name))]
        filled += [name for name in ("path", "random_data") if self.message.HasField(name)]
        return filled[0] if filled else ""

    @property
    def is_stored(self) -> bool:
        """Whether the file has its values; random data for an output is none."""
        return self.source not in ("", "random_data")

    def fail(self, problem: str, field: str = "") -> Exception:
        """Return an error about one of its fields."""
        return self.case.fail(problem, f"{self.where}.{field}" if field else self.where)

    # -------------------------------------------------------------------------------- values

    def values(self) -> Array:
        """Return the elements, in an array of its shape."""
        source = self.source
        if source in _LISTS:
            flat = self._listed(source)
        elif source == "path":
            flat = self._from_file()
        elif source == "random_data":
            flat = drawn(self)
        elif self.elements == 0:
            flat = np.zeros(0, self.dtype)
        else:
            raise self.fail("no values, no path and no random_data, expected one of them")
        if flat.size == self.elements:
            return flat.reshape(self.shape)
        spaced = self.memory()
        spaced[: flat.size] = flat
        return self.view(spaced).copy()

    def _expect(self, count: int, field: str) -> None:
        if count not in (self.elements, self.room):
            product = "*".join(map(str, self.shape))
            expected = f"{self.elements} ({product})" if len(self.shape) > 1 else self.elements
            raise self.fail(f"{count} values given, expected {expected}", field)

    def _listed(self, field: str) -> Array:
        given = getattr(self.message, field)
        self._expect(len(given), field)
        if field == "value_h":
            return self._of_bits(given)
        numbers = np.array(given)
        if self.dtype.kind in "iub" and field != "value_f":
            low, high = (0, 1) if self.dtype.kind == "b" else _limits(self.dtype)
            if numbers.min() < low or numbers.max() > high:
                bad = numbers[(numbers < low) | (numbers > high)][0]
                raise self.fail(f"{bad} given, expected {low} to {high}", field)
        with np.errstate(over="ignore", invalid="ignore"):
            converted: Array = numbers.astype(np.float32 if field == "value_f" else numbers.dtype)
            return converted.astype(self.dtype)

    def _of_bits(self, given: Any) -> Array:
        digits = 2 * self.dtype.itemsize
        kind = f"u{self.dtype.itemsize}" if self.dtype.itemsize < 16 else "u8"
        try:
            bits = np.array([int(word, 16) for word in given], np.uint64)
        except (ValueError, OverflowError):
            bad = next(word for word in given if not _is_hex(word, 16))
            raise self.fail(f'"{bad}" given, expected hexadecimal digits', "value_h") from None
        if digits < 16 and bits.max(initial=0) >> np.uint64(4 * digits):
            problem = f'"{bits.max():x}" given, expected at most {digits} digits'
            raise self.fail(problem, "value_h")
        return bits.astype(kind).view(self.dtype)

    def _from_file(self) -> Array:
        path = self.case.path.parent / self.message.path
        try:
            size = path.stat().st_size
            if size % self.dtype.itemsize:
                raise self.fail(f"{path} has {size} bytes, no whole elements", "path")
            self._expect(size // self.dtype.itemsize, "path")
            return np.fromfile(path, self.dtype)
        except OSError as error:
            raise self.fail(f"{path}: {error.strerror}", "path") from None

    # --------------------------------------------------------------------------- for the call

    def memory(self) -> Array:
        """Return zeros for all that the tensor spans."""
        return np.zeros(max(self.room, 1), self.dtype)

    def view(self, memory: Array) -> Array:
        """Return the tensor in its memory."""
        if self.strides is None:
            return memory[: self.elements].reshape(self.shape)
        strides = [stride * memory.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(memory, self.shape, strides)

    def descriptor(self) -> CData:
        """Return a descriptor of the C API."""
        out = ffi.new("mluOpTensorDescriptor_t *")
        check(lib.mluOpCreateTensorDescriptor(out), "mluOpCreateTensorDescriptor")
        made = ffi.gc(out[0], lib.mluOpDestroyTensorDescriptor)
        facts = made, self.layout, self.data_type, len(self.shape), self.shape
        if self.strides is None:
            status = lib.mluOpSetTensorDescriptor_v2(*facts)
            check(status, "mluOpSetTensorDescriptor_v2")
        else:
            status = lib.mluOpSetTensorDescriptorEx_v2(*facts, self.strides)
            check(status, "mluOpSetTensorDescriptorEx_v2")
        return made


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _is_hex(word: str, digits: int) -> bool:
    try:
        return int(word, 16) < 1 << (4 * digits)
    except ValueError:
        return False


def tensors_of(case: Case) -> tuple[list[Tensor], list[Tensor]]:
    """Return inputs and outputs: only their order counts, ids differ from file to file."""
    operator = case.operator
    assert operator is not None
    both = []
    for group, tensors in (("input", operator.inputs), ("output", operator.outputs)):
        messages = getattr(case.node, group)
        names = _present(case, group, tensors, operator.optional)
        both.append(
            [
                Tensor(case, message, f"{group}[{i}]", name, i)
                for i, (message, name) in enumerate(zip(messages, names, strict=True))
            ]
        )
    return both[0], both[1]


def _present(
    case: Case, group: str, tensors: dict[str, str], optional: frozenset[str]
) -> tuple[str, ...]:
    """Return the names of a case's tensors: dims and ids tell which optional ones it lacks."""
    messages = getattr(case.node, group)
    possible = [
        names
        for names in combinations(tensors, len(messages))
        if all(name in names or name in optional for name in tensors)
    ]
    if not possible:
        listed = ", ".join(f"[{n}]" if n in optional else n for n in tensors)
        least = sum(name not in optional for name in tensors)
        wanted = f"{least}" if least == len(tensors) else f"{least} to {len(tensors)}"
        last = f"{group}[{len(messages) - 1}]" if messages else group
        raise case.fail(f"{len(messages)} given, expected {wanted}: {listed}", last)

    def score(names: tuple[str, ...]) -> tuple[int, int]:
        pairs = list(zip(names, messages, strict=True))
        dims = sum(_rank(tensors[name]) == len(message.shape.dims) for name, message in pairs)
        return dims, sum(name == message.id for name, message in pairs)

    return max(possible, key=score)


def _rank(said: str) -> int:
    """Return the dims of "NHWC int32 N H W C"."""
    return sum(word not in ("int32", "float32") for word in said.split()[1:])

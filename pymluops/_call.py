# SPDX-License-Identifier: Apache-2.0
"""The one way to call an operator of the C library.

A `Call` turns the arguments of a NumPy function into those of the C function, keeps everything
alive until C returns, and turns a failing status into an exception. Calls from torch, which has
tensors of its own, use the last step too. Only C checks shapes and values; Python rejects only
what cannot be passed to C.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pymluops._arguments import (
    ABSENT,
    NOWHERE,
    TOO_MANY,
    Arguments,
    Tensor,
    new_array,
    no_memory,
    pointer_to,
)
from pymluops._handle import Handle
from pymluops._tensor import FLOAT, Array, after_writing, as_readable
from pymluops._threads import default_handle, resolve
from pymluops.capi import CData, Layout, Status, ffi
from pymluops.errors import MluOpError, NotSupportedError

__all__ = ["ABSENT", "Call", "Tensor"]

_HALF = np.dtype(np.float16)
_BYTE = np.dtype(np.uint8)


@lru_cache(maxsize=1024)
def workspace_size(size_function: str, *arguments: Any) -> int:
    """Return what a query function of the C API says, which follows from the arguments alone.

    Arguments are descriptors that are kept and numbers, so each query is made once.
    """
    size = ffi.new("size_t *")
    default_handle().invoke(size_function, (*arguments, size))
    return int(size[0])


def workspace(size_function: str, size: int) -> tuple[CData, int]:
    """Return working memory of the size that a query function has said."""
    if size == 0:
        return ffi.NULL, 0
    return pointer_to(new_array(size_function, "workspace", (size,), _BYTE)), size


def renamed(error: MluOpError, function: str, names: dict[str, str]) -> MluOpError:
    """Return an error with the names that the caller knows: of the operator, of arguments."""
    message = re.sub(r"^\[\w+\]", f"[{function}]", error.message)
    for c_name, name in names.items():
        message = re.sub(rf"\b{c_name}\b", name, message)
    return type(error)(error.status, function, message)


class Run(NamedTuple):
    """A call that C has accepted: what it was given, and what that is in C."""

    call: Call
    given: tuple[Any, ...]
    arguments: list[Any]


class _Recording(threading.local):
    runs: list[Run] | None = None


#: Where the calls of this thread are noted, if somebody wants to know.
recording = _Recording()


class Call(Arguments):
    """One call of an operator.

    Parameters
    ----------
    function : str
        The name of the C function.
    handle : Handle, optional
        What the caller gave.
    layout : Layout
        The layout of tensors of four dims.
    names : dict, optional
        The arguments that have another name in C, by these names.
    """

    def __init__(
        self,
        function: str,
        handle: Handle | None,
        layout: Layout,
        names: dict[str, str] | None = None,
    ) -> None:
        super().__init__(function, layout)
        self._handle = resolve(function, handle)
        self.names = names or {}
        self._has_workspace = False

    def workspace(self, size_function: str, *arguments: Any) -> tuple[CData, int]:
        """Return working memory of the size that a query function of the C API gives."""
        try:
            size = workspace_size(size_function, *arguments)
        except MluOpError as error:
            raise self._renamed(error) from None
        self._has_workspace = size > 0
        return workspace(size_function, size)

    def parameters(self, make: Callable[..., CData], *values: Any) -> CData:
        """Return what `make` makes of values: the descriptor of an operator's parameters."""
        try:
            return make(*values)
        except MluOpError as error:
            raise self._renamed(error) from None

    def _renamed(self, error: MluOpError) -> MluOpError:
        return renamed(error, self.function, self.names)

    def run(self, *arguments: Any) -> None:
        """Call the C function; a tensor stands for its descriptor and its pointer."""
        if self._unready:
            self._make_ready([each for each in arguments if type(each) is Tensor])
        flat: list[Any] = []
        for argument in arguments:
            if type(argument) is Tensor:
                flat += (argument.descriptor, argument.pointer)
            else:
                flat.append(argument)
        try:
            self._handle.invoke(self.function, flat)
        except MluOpError as error:
            raise self._renamed(error) from None
        if self._too_large:
            # Nothing to read came first.
            message = f"[{self.function}] {self._too_large}: 2**31 elements or more"
            raise NotSupportedError(Status.NOT_SUPPORTED, self.function, message)
        self.finish()
        if recording.runs is not None:
            recording.runs.append(Run(self, arguments, flat))

    @property
    def is_plain(self) -> bool:
        """Whether arrays are passed as they are, and nothing else is written."""
        return not (self._unready or self._empty_input or self._has_workspace)

    def finish(self) -> None:
        """Complete the results: zeros if an input is empty, float16 if C computed in float32."""
        for tensor in self.outputs:
            if self._empty_input:
                # With nothing to read some functions succeed without writing.
                tensor.array.fill(0)
            if tensor.narrow is not None:
                with np.errstate(over="ignore"):
                    tensor.narrow.reshape(tensor.shape)[...] = tensor.array
            if type(tensor.result) is not np.ndarray:
                after_writing(tensor.result)

    def _make_ready(self, tensors: list[Tensor]) -> None:
        """Copy what C cannot read in place, unless C will reject the call anyway."""
        too_large = any(math.prod(tensor.shape) >= TOO_MANY for tensor in tensors)
        if self._wide:
            self._check_overlap(tensors)
        for tensor in tensors:
            if self._wide and tensor.dtype == _HALF:
                # Coordinates stay what they are: values are float32 meanwhile, which loses nothing.
                tensor.dtype, tensor.pointer = FLOAT[0], None
                tensor.descriptor = self._descriptor(tensor.name, tensor.shape, tensor.dtype)
            if tensor.pointer is not None:
                continue
            if too_large:
                tensor.pointer = NOWHERE
                continue
            if tensor in self.outputs:
                tensor.narrow = tensor.array
                tensor.array = new_array(self.function, tensor.name, tensor.shape, tensor.dtype)
            else:
                tensor.array = self._copied(tensor)
            tensor.pointer = pointer_to(tensor.array)

    def _check_overlap(self, tensors: list[Tensor]) -> None:
        """Refuse outputs that share memory with another array: C sees only their copies."""
        for output in self.outputs:
            for other in tensors:
                shares = np.may_share_memory(output.array, other.array)
                if shares and other is not output and other.array.flags.c_contiguous:
                    problem = f"overlaps {other.name}, expected separate memory"
                    self.refuse(output.name, problem)

    def _copied(self, tensor: Tensor) -> Array:
        try:
            return as_readable(self.function, tensor.name, tensor.array, tensor.dtype)
        except MemoryError as error:
            raise no_memory(self.function, tensor.name, tensor.shape) from error

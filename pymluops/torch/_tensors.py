# SPDX-License-Identifier: Apache-2.0
"""What every operator does with its tensors: checks, memory formats and dtypes.

The library computes on NHWC memory in float32 or float16. In torch that is a tensor of shape
(N, C, H, W) in channels_last, so such a tensor goes through as it is; any other is converted once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pymluops.capi import Status
from pymluops.errors import NotSupportedError
from pymluops.torch._memory import kept_nhwc
from pymluops.torch._memory import new_memory as new_memory
from pymluops.torch._native_calls import as_nchw, as_nhwc, call, nchw, nhwc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: The dtypes that callers may use, and what each is computed in.
COMPUTE_DTYPES = {
    torch.float32: torch.float32,
    torch.float16: torch.float16,
    torch.bfloat16: torch.float32,
    torch.float64: torch.float64,
}
#: What each is computed in by operators that do not compute in half.
WIDE_DTYPES = {
    given: torch.promote_types(computed, torch.float32)
    for given, computed in COMPUTE_DTYPES.items()
}
#: Up to this size torch copies faster than the library: a call of it takes longer than the work.
SMALL_BYTES = 1 << 15

#: What the checks look at: shape and dtype. They are made once for each combination of these.
Spec = tuple[torch.Size, torch.dtype]


def spec(tensor: Tensor) -> Spec:
    """Return the shape and the dtype of a tensor."""
    return tensor.shape, tensor.dtype


def require(condition: bool | Tensor | torch.SymBool, message: Callable[[], str]) -> None:
    """Raise ValueError unless the condition holds; under tracing it becomes a guard."""
    if isinstance(condition, bool | Tensor):  # torch.jit.trace has sizes that are tensors
        if not condition:
            raise ValueError(message())
    else:
        torch._check(condition, message)


def check_dims(op: str, name: str, given: Spec, dims: str) -> None:
    """Check the rank and the dtype of a floating-point argument.

    Parameters
    ----------
    dims : str
        The dims by name, such as ``"N, C, H, W"``.
    """
    shape, dtype = given
    wanted = dims.count(",") + 1
    if len(shape) != wanted:
        message = f"{op}: {name} has shape {tuple(shape)}, expected {wanted} dims ({dims})"
        raise ValueError(message)
    if dtype not in COMPUTE_DTYPES:
        message = (
            f"{op}: {name} is {_plain(dtype)}, expected float32, float16, bfloat16 or float64; "
            f"pass {name}.float(), or call .float() on the model"
        )
        raise TypeError(message)


def check_extents(op: str, name: str, given: Spec, expected: Sequence[int], meaning: str) -> None:
    """Check the shape of an argument of the right rank."""
    for extent, wanted in zip(given[0], expected, strict=True):
        require(
            extent == wanted,
            lambda: (
                f"{op}: {name} has shape {tuple(given[0])}, expected {tuple(expected)} = {meaning}"
            ),
        )


def check_same_dtype(op: str, name: str, given: Spec, other_name: str, other: Spec) -> None:
    """Check that an argument has the dtype of another one."""
    if given[1] is not other[1]:
        message = (
            f"{op}: {name} is {_plain(given[1])}, expected {_plain(other[1])} as {other_name}; "
            f"pass {name}.to({other_name}.dtype)"
        )
        raise TypeError(message)


def check_coordinates(op: str, name: str, given: Spec, other_name: str, other: Spec) -> None:
    """Check the dtype of regions or boxes: that of the map, or float32 beside another one."""
    if given[1] is not torch.float32:
        check_same_dtype(op, name, given, other_name, other)


def compute_dtype(values: Tensor, coordinates: Tensor) -> torch.dtype:
    """Return what to compute in: coordinates of float32 are never rounded to half."""
    dtype = COMPUTE_DTYPES[values.dtype]
    return (
        torch.promote_types(dtype, torch.float32) if coordinates.dtype is torch.float32 else dtype
    )


def wide_dtype(values: Tensor) -> torch.dtype:
    """Return what an operator computes in that does not do so in half."""
    return WIDE_DTYPES[values.dtype]


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def memory_format(like: Tensor) -> torch.memory_format:
    """Return channels_last for a tensor that is so and not contiguous too; else contiguous."""
    if like.is_contiguous() or not like.is_contiguous(memory_format=torch.channels_last):
        return torch.contiguous_format
    return torch.channels_last


def new_tensor(shape: Sequence[int], like: Tensor) -> Tensor:
    """Allocate a tensor with the dtype and the memory format of another one."""
    return new_memory(
        shape, dtype=like.dtype, device=like.device, memory_format=memory_format(like)
    )


def new_zeros(shape: Sequence[int], like: Tensor) -> Tensor:
    """Allocate as :func:`new_tensor` does, and zero it."""
    return new_tensor(shape, like).zero_()


def check_size(shape: Sequence[int]) -> None:
    """Refuse what the library would refuse, before it is allocated or copied."""
    if math.prod(shape) >= 2**31:
        message = f"a tensor of shape {tuple(shape)} has 2**31 elements or more"
        raise NotSupportedError(Status.NOT_SUPPORTED, "", message)


def new_nhwc(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Allocate a channels_last result; the shape is (N, C, H, W)."""
    check_size(shape)
    return new_memory(shape, dtype=dtype, memory_format=torch.channels_last)


def new_result(shape: Sequence[int], dtype: torch.dtype, like: Tensor) -> Tensor:
    """Allocate a channels_last result, which :func:`as_input` turns into that of an input.

    If it will be copied, its memory is kept. One channel and one pixel are contiguous, too.
    """
    check_size(shape)
    same = memory_format(like) is torch.channels_last or shape[1] == 1 or shape[2] * shape[3] == 1
    if same and dtype is like.dtype:
        return new_memory(shape, dtype=dtype, memory_format=torch.channels_last)
    return kept_nhwc(shape, dtype)


def new_dense(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Allocate a contiguous result."""
    check_size(shape)
    return new_memory(shape, dtype=dtype)


def to_nhwc(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the tensor in channels_last and in a dtype: itself if C can read it as it is.

    A copy is for the call at hand, and no operator returns it: its memory is kept.
    """
    if tensor.dtype is dtype and _is_nhwc(tensor) and _aligned(tensor):
        return tensor
    if tensor.nbytes <= SMALL_BYTES:
        return copied(tensor, dtype, torch.channels_last)
    check_size(tensor.shape)
    return moved(tensor, kept_nhwc(tensor.shape, dtype))


def to_dense(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the tensor contiguous and in a dtype: itself if C can read it as it is."""
    if tensor.dtype is dtype and tensor.is_contiguous() and _aligned(tensor):
        return tensor
    return copied(tensor, dtype, torch.contiguous_format)


def as_input(result: Tensor, like: Tensor) -> Tensor:
    """Return a result in the dtype and the memory format of an input."""
    wanted = memory_format(like)
    if result.dtype is like.dtype and result.is_contiguous(memory_format=wanted):
        return result
    return copied(result, like.dtype, wanted)


def copied(tensor: Tensor, dtype: torch.dtype, wanted: torch.memory_format) -> Tensor:
    """Return a copy in a dtype and in a memory format."""
    if tensor.nbytes <= SMALL_BYTES:
        if tensor.dtype is dtype:
            return tensor.clone(memory_format=wanted)
        return tensor.to(dtype, memory_format=wanted)
    check_size(tensor.shape)
    return moved(tensor, new_memory(tensor.shape, dtype=dtype, memory_format=wanted))


def _aligned(tensor: Tensor) -> bool:
    """Tell whether elements are where C may read them: others come from torch.frombuffer."""
    return tensor.data_ptr() % tensor.element_size() == 0


def of_images(
    shape: Sequence[int], like: Tensor, dtype: torch.dtype, compute: Callable[[Tensor], None]
) -> Tensor:
    """Return a result of many small images, such as regions, in the memory format of an input.

    ``compute`` writes it to a channels_last tensor. For a contiguous input this has the memory of
    the result, and each image is converted where it is.
    """
    last = memory_format(like) is torch.channels_last
    if last or dtype is not like.dtype or dtype is torch.float64:
        output = new_result(shape, dtype, like)
        compute(output)
        return as_input(output, like)
    _, c, h, w = shape
    output = new_dense(shape, dtype)
    made = output.as_strided(shape, (c * h * w, 1, w * c, c))
    compute(made)
    call("mluOpCpuConvertLayoutInPlace", nhwc(made)[0], *nchw(output))
    return output


def moved(source: Tensor, target: Tensor) -> Tensor:
    """Copy into a tensor. From one memory format to the other, the library is much faster."""
    if source.dtype is target.dtype is not torch.float64 and source.dim() == 4 and _aligned(source):
        formats = (as_nhwc, as_nchw) if _is_nhwc(source) else (as_nchw, as_nhwc)
        for one, other in (formats, formats[::-1]):
            given, wanted = one(source), other(target)
            if given is not None and wanted is not None:
                call("mluOpCpuConvertLayout", *given, *wanted)
                return target
    return target.copy_(source)


def _is_nhwc(tensor: Tensor) -> bool:
    return tensor.is_contiguous(memory_format=torch.channels_last)


def pair(op: str, name: str, value: object) -> tuple[int, int]:
    """Return (value, value) for a number, and two numbers as they are."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int):
        return value, value
    if isinstance(value, (tuple, list)) and len(value) == 2:
        first, second = (int(n) if isinstance(n, np.integer) else n for n in value)
        # Not a test for ints: the tracers of torch have numbers of their own.
        if not any(n is None or isinstance(n, float | str) for n in (first, second)):
            return first, second
    message = f"{op}: {name} is {value!r}, expected an int or a pair of ints"
    raise ValueError(message)

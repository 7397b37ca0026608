# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package: one class for each error status of the C library."""

from threading import get_ident

from pymluops.capi import Status, ffi, lib

__all__ = [
    "AllocFailedError",
    "ArchMismatchError",
    "BadParamError",
    "BadTypeError",
    "ExecutionFailedError",
    "InternalError",
    "MluOpError",
    "NotInitializedError",
    "NotSupportedError",
    "NumericalOverflowError",
    "check",
]


class MluOpError(Exception):
    """A call of the library failed.

    Attributes
    ----------
    status : int
        The status of the C API, usually a `pymluops.capi.Status`.
    function : str
        The C function that failed, such as ``"mluOpBorderAlignForward"``.
    message : str
        What was given and what was expected. It is also the text of the exception.
    """

    def __init__(self, status: int, function: str, message: str) -> None:
        super().__init__(message)
        self.status = Status(status) if status in _KNOWN else status
        self.function = function
        self.message = message

    def __reduce__(self) -> tuple[type["MluOpError"], tuple[int, str, str]]:
        return type(self), (self.status, self.function, self.message)


class NotInitializedError(MluOpError, RuntimeError):
    """MLUOP_STATUS_NOT_INITIALIZED: a handle that has been closed."""


class AllocFailedError(MluOpError, MemoryError):
    """MLUOP_STATUS_ALLOC_FAILED: no memory."""


class BadParamError(MluOpError, ValueError):
    """MLUOP_STATUS_BAD_PARAM: an argument that contradicts the contract or another argument."""


class BadTypeError(MluOpError, TypeError):
    """MLUOP_STATUS_BAD_PARAM, found by Python: not an array, not a number, or the wrong dtype."""


class InternalError(MluOpError, RuntimeError):
    """MLUOP_STATUS_INTERNAL_ERROR: a defect of the library."""


class ArchMismatchError(MluOpError, RuntimeError):
    """MLUOP_STATUS_ARCH_MISMATCH: an instruction set that this CPU or build does not have."""


class ExecutionFailedError(MluOpError, RuntimeError):
    """MLUOP_STATUS_EXECUTION_FAILED."""


class NotSupportedError(MluOpError, NotImplementedError):
    """MLUOP_STATUS_NOT_SUPPORTED: legal, but beyond the limits of the library."""


class NumericalOverflowError(MluOpError, ArithmeticError):
    """MLUOP_STATUS_NUMERICAL_OVERFLOW."""


_KNOWN = frozenset(Status)

# What ended a log callback, by thread: C cannot pass an exception on, so `check` raises it.
interrupts: dict[int, BaseException] = {}

_CLASSES: dict[int, type[MluOpError]] = {
    Status.NOT_INITIALIZED: NotInitializedError,
    Status.ALLOC_FAILED: AllocFailedError,
    Status.BAD_PARAM: BadParamError,
    Status.INTERNAL_ERROR: InternalError,
    Status.ARCH_MISMATCH: ArchMismatchError,
    Status.EXECUTION_FAILED: ExecutionFailedError,
    Status.NOT_SUPPORTED: NotSupportedError,
    Status.NUMERICAL_OVERFLOW: NumericalOverflowError,
}


def check(status: int, function: str) -> None:
    """Raise the exception for a status, with the message of the last error on this thread.

    Parameters
    ----------
    status : int
        The return value of a C function; 0 raises nothing.
    function : str
        The name of that function.

    Examples
    --------
    >>> from pymluops.capi import ffi, lib
    >>> check(lib.mluOpDestroy(ffi.NULL), "mluOpDestroy")
    Traceback (most recent call last):
        ...
    pymluops.errors.BadParamError: [mluOpDestroy] handle is NULL
    """
    if interrupts:
        interrupt = interrupts.pop(get_ident(), None)
        if interrupt is not None:
            raise interrupt
    if status != Status.SUCCESS:
        message = ffi.string(lib.mluOpCpuGetLastErrorMessage()).decode("utf-8", "replace")
        raise _CLASSES.get(status, MluOpError)(status, function, message)


def bad_value(function: str, argument: str, problem: str) -> BadParamError:
    """Return the error for an argument whose value Python itself finds wrong."""
    return BadParamError(Status.BAD_PARAM, function, f"[{function}] {argument}: {problem}")


def bad_type(function: str, argument: str, problem: str) -> BadTypeError:
    """Return the error for an argument whose type Python itself finds wrong."""
    return BadTypeError(Status.BAD_PARAM, function, f"[{function}] {argument}: {problem}")

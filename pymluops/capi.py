# SPDX-License-Identifier: Apache-2.0
"""The C API itself: ``ffi``, ``lib``, and the enumerations of ``mlu_op.h``.

Every C function is an attribute of `lib` and is called as in C; `ffi` makes and reads C values.
A status is a plain number, and nothing raises. Other Python threads run during a call.

>>> from pymluops.capi import Status, ffi, lib
>>> handle = ffi.new("mluOpHandle_t *")
>>> Status(lib.mluOpCreate(handle))
<Status.SUCCESS: 0>
>>> Status(lib.mluOpDestroy(handle[0]))
<Status.SUCCESS: 0>
"""

from enum import IntEnum
from typing import TYPE_CHECKING

from pymluops._installation import ffi, lib

if TYPE_CHECKING:
    from pymluops._native import CData
else:
    CData = type(ffi.NULL)

__all__ = [
    "AtomicsMode",
    "CData",
    "ComputationPreference",
    "DataType",
    "Layout",
    "LogLevel",
    "NanPropagation",
    "PointerMode",
    "RoundMode",
    "Status",
    "ffi",
    "lib",
]


class Status(IntEnum):
    """``mluOpStatus_t``."""

    SUCCESS = 0
    NOT_INITIALIZED = 1
    ALLOC_FAILED = 2
    BAD_PARAM = 3
    INTERNAL_ERROR = 4
    ARCH_MISMATCH = 5
    EXECUTION_FAILED = 6
    NOT_SUPPORTED = 7
    NUMERICAL_OVERFLOW = 8


class Layout(IntEnum):
    """``mluOpTensorLayout_t``."""

    NCHW = 0
    NHWC = 1
    HWCN = 2
    NDHWC = 3
    ARRAY = 4
    NCDHW = 5
    TNC = 6
    NTC = 7
    NC = 8
    NLC = 9
    NCL = 10


class DataType(IntEnum):
    """``mluOpDataType_t``."""

    INVALID = 0
    HALF = 1
    FLOAT = 2
    INT8 = 3
    INT16 = 4
    INT31 = 5
    INT32 = 6
    UINT8 = 7
    BOOL = 8
    INT64 = 9
    UINT32 = 11
    UINT64 = 12
    UINT16 = 13
    DOUBLE = 14
    COMPLEX_HALF = 15
    COMPLEX_FLOAT = 16
    BFLOAT16 = 17


class NanPropagation(IntEnum):
    """``mluOpNanPropagation_t``."""

    NOT_PROPAGATE = 0
    PROPAGATE = 1


class ComputationPreference(IntEnum):
    """``mluOpComputationPreference_t``."""

    FAST = 0
    HIGH_PRECISION = 1
    ULTRAHIGH_PRECISION = 2


class AtomicsMode(IntEnum):
    """``mluOpAtomicsMode_t``."""

    NOT_ALLOWED = 1
    ALLOWED = 2


class RoundMode(IntEnum):
    """``mluOpQuantizeRoundMode_t``."""

    HALF_TO_EVEN = 0
    HALF_UP = 1
    HALF_OFF_ZERO = 2


class PointerMode(IntEnum):
    """``mluOpPointerMode_t``."""

    HOST = 0
    DEVICE = 1


class LogLevel(IntEnum):
    """``mluOpCpuLogLevel_t``."""

    INFO = 0
    WARNING = 1
    ERROR = 2
    OFF = 3

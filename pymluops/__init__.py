# SPDX-License-Identifier: Apache-2.0
"""The MLU-OPS vision operators on CPUs, as NumPy functions over a C library."""

from pymluops import _log
from pymluops._handle import (
    Handle,
    default_handle,
    get_num_threads,
    set_num_threads,
    supported_isas,
    threads,
)
from pymluops.errors import (
    AllocFailedError,
    ArchMismatchError,
    BadParamError,
    BadTypeError,
    ExecutionFailedError,
    InternalError,
    MluOpError,
    NotInitializedError,
    NotSupportedError,
    NumericalOverflowError,
)
from pymluops.ops.psamask import psamask_backward, psamask_forward

__all__ = [
    "AllocFailedError",
    "ArchMismatchError",
    "BadParamError",
    "BadTypeError",
    "ExecutionFailedError",
    "Handle",
    "InternalError",
    "MluOpError",
    "NotInitializedError",
    "NotSupportedError",
    "NumericalOverflowError",
    "default_handle",
    "get_num_threads",
    "psamask_backward",
    "psamask_forward",
    "set_num_threads",
    "supported_isas",
    "threads",
]

_log.install()

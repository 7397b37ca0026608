# SPDX-License-Identifier: Apache-2.0
"""The library's log lines go to the logger "pymluops" instead of stderr."""

import atexit
import logging

from pymluops.capi import LogLevel, ffi, lib

_LEVELS = {
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}

_logger = logging.getLogger("pymluops")
# Every error is raised as well: programs that do not configure logging see it once, not twice.
_logger.addHandler(logging.NullHandler())


@ffi.def_extern()
def pymluops_log(level, message, _user_data):  # type: ignore[no-untyped-def]
    text = ffi.string(message).decode("utf-8", "replace")
    _logger.log(_LEVELS.get(level, logging.ERROR), "%s", text)


def install() -> None:
    """Send log lines to Python, until the interpreter ends.

    cffi takes the interpreter's lock for the callback, so threads that Python does not know may
    log too; once the interpreter is going away their lines must no longer come here.
    """
    lib.mluOpCpuSetLogCallback(lib.pymluops_log, ffi.NULL)
    atexit.register(lib.mluOpCpuSetLogCallback, ffi.NULL, ffi.NULL)

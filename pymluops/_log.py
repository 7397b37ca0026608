# SPDX-License-Identifier: Apache-2.0
"""The library's log lines go to the logger "pymluops" instead of stderr."""

import atexit
import logging
import threading
import traceback

from pymluops.capi import LogLevel, ffi, lib
from pymluops.errors import interrupts

_LEVELS = {
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}

_logger = logging.getLogger("pymluops")
# Every error is raised as well: programs that do not configure logging see it once, not twice.
_logger.addHandler(logging.NullHandler())


def _after_failure(kind, error, trace):  # type: ignore[no-untyped-def]
    """Keep what is meant for the caller, such as Ctrl-C; report what a handler did wrong."""
    if isinstance(error, Exception):
        traceback.print_exception(kind, error, trace)
    else:
        interrupts[threading.get_ident()] = error


@ffi.def_extern(onerror=_after_failure)
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

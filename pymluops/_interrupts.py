# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C during a long call ends it, and so does whatever a signal handler raises.

Python runs signal handlers in its main thread, between two steps of a program, and a call of the
library is one step. So a long call asks from time to time: it calls a Python function that does
nothing, before which Python runs the handlers that are due. What one raises ends the call, and is
raised from there. If all return, the call goes on.
"""

import threading

from pymluops.capi import CData, ffi, lib
from pymluops.errors import interrupts

# How long a call runs before it asks, and until it asks again.
MILLISECONDS = 50


def _keep(_kind, error, _trace):  # type: ignore[no-untyped-def]
    interrupts[threading.get_ident()] = error


@ffi.def_extern(error=1, onerror=_keep)
def pymluops_ask(_nothing):  # type: ignore[no-untyped-def]
    return 0


def watch(handle: CData, milliseconds: int = MILLISECONDS) -> None:
    """Let calls with a new handle ask, those that the main thread makes.

    Handlers run in no other thread, so others need not take the interpreter's lock.
    """
    lib.mluOpCpuSetInterruptCheck(
        handle,
        ffi.addressof(lib, "pymluops_interrupted"),
        ffi.cast("void *", threading.main_thread().ident),
        milliseconds,
    )

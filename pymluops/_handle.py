# SPDX-License-Identifier: Apache-2.0
"""Handles: what the operators run with."""

import os
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

from pymluops._interrupts import watch
from pymluops._scalars import c_flag, c_int
from pymluops.capi import AtomicsMode, CData, Status, ffi, lib
from pymluops.errors import NotInitializedError, check, interrupts

_forks = 0  # how often this process has been forked off since the import
_fork_lock = threading.Lock()  # held while a handle of the parent is replaced


def _count_fork() -> None:
    global _forks, _fork_lock
    _forks += 1
    _fork_lock = threading.Lock()


os.register_at_fork(after_in_child=_count_fork)


def _create(num_threads: int, mode: AtomicsMode) -> CData:
    out = ffi.new("mluOpHandle_t *")
    check(lib.mluOpCreate(out), "mluOpCreate")
    handle = ffi.gc(out[0], lib.mluOpDestroy)
    check(lib.mluOpCpuSetNumThreads(handle, num_threads), "mluOpCpuSetNumThreads")
    check(lib.mluOpSetAtomicsMode(handle, mode), "mluOpSetAtomicsMode")
    watch(handle)
    return handle


def _atomics_mode(value: bool) -> AtomicsMode:
    allowed = c_flag("mluOpSetAtomicsMode", "atomics", value)
    return AtomicsMode.ALLOWED if allowed else AtomicsMode.NOT_ALLOWED


class Handle:
    """A handle of the C API: a number of threads, an instruction set and scratch memory.

    Parameters
    ----------
    num_threads : int, default 0
        The largest number of threads that an operator may use; 0 is every core that the process
        may use, or OMP_NUM_THREADS if that is set. Results do not depend on it.
    atomics : bool, default False
        Whether operators may add in an order that differs from run to run. No operator of this
        library does: results are the same with both values.

    Notes
    -----
    The kernels are those of the best instruction set of the CPU, or of the one that the environment
    variable MLUOP_CPU_ISA names when the handle is made.

    A handle runs one operator at a time: a second thread that uses it waits. Threads that should
    work at the same time need different handles. That is the case if they pass no handle, as each
    thread has its own. In a forked child, a handle keeps its settings, but uses one thread.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> with pymluops.Handle(num_threads=1) as handle:
    ...     y = pymluops.to_nhwc(np.float32([[[[1]], [[2]]]]), handle=handle)
    >>> y.tolist()
    [[[[1.0, 2.0]]]]
    """

    __slots__ = ("__weakref__", "_atomics", "_cdata", "_fork", "_lock", "_num_threads", "_running")

    def __init__(self, *, num_threads: int = 0, atomics: bool = False) -> None:
        self._fork = _forks
        self._lock = threading.RLock()
        self._running = False
        self._num_threads = c_int("mluOpCpuSetNumThreads", "num_threads", num_threads)
        self._atomics = _atomics_mode(atomics)
        self._cdata: CData | None = _create(self._num_threads, self._atomics)

    def _notice_fork(self) -> None:
        """In a forked child, replace what another thread may have been using at that moment."""
        with _fork_lock:
            if self._fork == _forks:
                return  # another thread of the child was first
            if self._cdata is not None:
                fresh = _create(self._num_threads, self._atomics)
                ffi.gc(self._cdata, None)
                self._cdata = fresh
            self._lock = threading.RLock()
            self._running = False
            self._fork = _forks  # last: until then whoever wants the lock waits here

    @property
    def lock(self) -> threading.RLock:
        """Held while an operator runs with this handle."""
        if self._fork != _forks:
            self._notice_fork()
        return self._lock

    @property
    def cdata(self) -> CData:
        """The ``mluOpHandle_t``, for calls through `pymluops.capi`."""
        return self.cdata_for("Handle.cdata")

    def cdata_for(self, function: str) -> CData:
        """Return the ``mluOpHandle_t``, or raise in the name of a function if it is closed."""
        if self._fork != _forks:
            self._notice_fork()
        if self._cdata is None:
            message = f"[{function}] handle is closed, expected an open one"
            raise NotInitializedError(Status.NOT_INITIALIZED, function, message)
        if self._running and self._lock.acquire(blocking=False):
            # No other thread has a call, so this is a signal handler that runs during one of its
            # own thread. That call keeps the C handle.
            try:
                if self._running:
                    self._cdata = _create(self._num_threads, self._atomics)
                    self._running = False
            finally:
                self._lock.release()
        return self._cdata

    def invoke(self, function: str, arguments: Sequence[Any]) -> None:
        """Call a C function whose first argument is a handle; an error becomes an exception."""
        if self._fork != _forks:
            self._notice_fork()
        with self._lock:
            cdata = self._cdata
            if cdata is None or self._running:
                cdata = self.cdata_for(function)
            self._running = True
            try:
                status = getattr(lib, function)(cdata, *arguments)
            finally:
                self._running = False
        if status or interrupts:
            check(status, function)

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._cdata is None

    def close(self) -> None:
        """Free the handle; a second call does nothing."""
        with self.lock:
            self._cdata = None  # freed with the last use: a call may run with it

    def __enter__(self) -> Self:
        self.cdata_for("Handle.__enter__")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Handle cannot be copied or pickled")

    def __repr__(self) -> str:
        if self.closed:
            return "<pymluops.Handle closed>"
        return f"<pymluops.Handle isa={self.isa_name} num_threads={self.num_threads}>"

    @property
    def isa_name(self) -> str:
        """The instruction set of the kernels: "baseline", "avx2", "avx512" or "neon"."""
        with self.lock:
            cdata = self.cdata_for("mluOpCpuGetIsaName")
            return ffi.string(lib.mluOpCpuGetIsaName(cdata)).decode()

    @property
    def num_threads(self) -> int:
        """The number of threads that the next operator may use; set it to 0 for the default."""
        function, out = "mluOpCpuGetNumThreads", ffi.new("int *")
        with self.lock:
            check(lib.mluOpCpuGetNumThreads(self.cdata_for(function), out), function)
        return int(out[0])

    @num_threads.setter
    def num_threads(self, value: int) -> None:
        function = "mluOpCpuSetNumThreads"
        number = c_int(function, "num_threads", value)
        with self.lock:
            check(lib.mluOpCpuSetNumThreads(self.cdata_for(function), number), function)
            self._num_threads = number

    @property
    def requested_threads(self) -> int:
        """The number that was set, 0 for the default."""
        return self._num_threads

    @property
    def atomics(self) -> bool:
        """Whether operators may add in an order that differs from run to run."""
        return self._atomics == AtomicsMode.ALLOWED

    @atomics.setter
    def atomics(self, value: bool) -> None:
        function, mode = "mluOpSetAtomicsMode", _atomics_mode(value)
        with self.lock:
            check(lib.mluOpSetAtomicsMode(self.cdata_for(function), mode), function)
            self._atomics = mode


def supported_isas() -> tuple[str, ...]:
    """Return the instruction sets that this build and this CPU support, best first.

    The environment variable MLUOP_CPU_ISA chooses one of them.
    """
    return tuple(ffi.string(lib.mluOpCpuGetSupportedIsas()).decode().split())

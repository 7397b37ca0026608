# SPDX-License-Identifier: Apache-2.0
"""Handles: what the operators run with, one for each thread unless the caller brings one."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import NoReturn, Self

from pymluops._scalars import c_int
from pymluops.capi import AtomicsMode, CData, Status, ffi, lib
from pymluops.errors import NotInitializedError, bad_type, check

_forks = 0  # how often this process has been forked off since the import


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def _create() -> CData:
    out = ffi.new("mluOpHandle_t *")
    check(lib.mluOpCreate(out), "mluOpCreate")
    return ffi.gc(out[0], lib.mluOpDestroy)


class Handle:
    """A handle of the C API: a number of threads, an instruction set and scratch memory.

    Parameters
    ----------
    num_threads : int, default 0
        The most threads an operator may use; 0 is every core that the process may use, or
        OMP_NUM_THREADS where that is set. Results do not depend on it.
    atomics : bool, default False
        Whether results may differ in the last bits from run to run where that is faster.

    Notes
    -----
    The kernels are those of the best instruction set of the CPU, or of the one that the environment
    variable MLUOP_CPU_ISA names when the handle is made.

    A handle runs one operator at a time: a second thread that uses it waits. Threads that should
    work at the same time need a handle each, which is what they have when they pass none. In a
    forked child, a handle continues with the same settings and, like the library, one thread.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> with pymluops.Handle(num_threads=1) as handle:
    ...     y = pymluops.psamask_forward(np.ones((1, 2, 2, 1), np.float32), psa_type=0,
    ...                                  h_mask=1, w_mask=1, handle=handle)
    >>> y.reshape(4, 4).tolist() == np.eye(4).tolist()
    True
    """

    __slots__ = ("__weakref__", "_atomics", "_cdata", "_fork", "_lock", "_num_threads")

    def __init__(self, *, num_threads: int = 0, atomics: bool = False) -> None:
        self._fork = _forks
        self._lock = threading.RLock()
        self._cdata: CData | None = _create()
        self.num_threads = num_threads
        self.atomics = atomics

    def _notice_fork(self) -> None:
        """In a forked child, replace what another thread may have been using at that moment."""
        self._fork = _forks
        self._lock = threading.RLock()
        if self._cdata is not None:
            ffi.gc(self._cdata, None)
            self._cdata = _create()
            self.num_threads = self._num_threads
            self.atomics = self.atomics

    @property
    def lock(self) -> threading.RLock:
        """Held while an operator runs with this handle."""
        if self._fork != _forks:
            self._notice_fork()
        return self._lock

    @property
    def cdata(self) -> CData:
        """The ``mluOpHandle_t``, for calls through `pymluops.capi`."""
        if self._fork != _forks:
            self._notice_fork()
        if self._cdata is None:
            raise NotInitializedError(Status.NOT_INITIALIZED, "", "the handle is closed")
        return self._cdata

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._cdata is None

    def close(self) -> None:
        """Free the handle; a second call does nothing."""
        with self.lock:
            if self._cdata is not None:
                ffi.release(self._cdata)
                self._cdata = None

    def __enter__(self) -> Self:
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
            return ffi.string(lib.mluOpCpuGetIsaName(self.cdata)).decode()

    @property
    def num_threads(self) -> int:
        """The most threads that the next operator may use; 0 can be set, and means the default."""
        out = ffi.new("int *")
        with self.lock:
            check(lib.mluOpCpuGetNumThreads(self.cdata, out), "mluOpCpuGetNumThreads")
        return int(out[0])

    @num_threads.setter
    def num_threads(self, value: int) -> None:
        function = "mluOpCpuSetNumThreads"
        number = c_int(function, "num_threads", value)
        with self.lock:
            check(lib.mluOpCpuSetNumThreads(self.cdata, number), function)
            self._num_threads = number

    @property
    def requested_threads(self) -> int:
        """The number that was set, 0 for the default."""
        return self._num_threads

    @property
    def atomics(self) -> bool:
        """Whether results may differ in the last bits from run to run where that is faster."""
        return self._atomics == AtomicsMode.ALLOWED

    @atomics.setter
    def atomics(self, value: bool) -> None:
        mode = AtomicsMode.ALLOWED if value else AtomicsMode.NOT_ALLOWED
        with self.lock:
            check(lib.mluOpSetAtomicsMode(self.cdata, mode), "mluOpSetAtomicsMode")
            self._atomics = mode


class _ThreadState(threading.local):
    handle: Handle | None = None
    num_threads: int | None = None  # inside `threads`


_thread = _ThreadState()
_process_num_threads = 0


def default_handle() -> Handle:
    """Return this thread's own handle, made at its first use."""
    handle = _thread.handle
    wanted = _thread.num_threads
    if wanted is None:
        wanted = _process_num_threads
    if handle is None or handle._cdata is None:
        handle = _thread.handle = Handle()
    if handle._num_threads != wanted:
        handle.num_threads = wanted
    return handle


def resolve(function: str, handle: Handle | None) -> Handle:
    """Return the handle to use for the ``handle=`` argument of a function."""
    if handle is None:
        return default_handle()
    if not isinstance(handle, Handle):
        raise bad_type(
            function, "handle", f"{type(handle).__name__} given, expected a pymluops.Handle or None"
        )
    return handle


def get_num_threads() -> int:
    """Return the most threads that an operator called from this thread uses.

    A ``handle=`` has its own number.
    """
    return default_handle().num_threads


def set_num_threads(num_threads: int) -> None:
    """Set the most threads that an operator uses, for calls from every thread of this process.

    Parameters
    ----------
    num_threads : int
        0 restores the default: every core that the process may use, or OMP_NUM_THREADS where that
        is set. Results do not depend on it.

    Raises
    ------
    BadParamError
        The number is negative.

    Examples
    --------
    >>> import pymluops
    >>> pymluops.set_num_threads(1)
    >>> pymluops.get_num_threads()
    1
    >>> pymluops.set_num_threads(0)
    """
    global _process_num_threads
    _process_num_threads = _checked(num_threads)


@contextmanager
def threads(num_threads: int) -> Iterator[None]:
    """Set the most threads that an operator uses, for this thread and the duration of a block.

    Parameters
    ----------
    num_threads : int
        0 is every core that the process may use, or OMP_NUM_THREADS where that is set.

    Examples
    --------
    >>> import pymluops
    >>> with pymluops.threads(1):
    ...     pymluops.get_num_threads()
    1
    """
    number = _checked(num_threads)
    previous = _thread.num_threads
    _thread.num_threads = number
    try:
        yield
    finally:
        _thread.num_threads = previous


def _checked(num_threads: int) -> int:
    """Let the library judge a number of threads."""
    handle = default_handle()
    handle.num_threads = num_threads
    return handle.requested_threads


def supported_isas() -> tuple[str, ...]:
    """Return the instruction sets that this build has kernels for and this CPU runs, best first.

    Any of them can be forced by the environment variable MLUOP_CPU_ISA.
    """
    return tuple(ffi.string(lib.mluOpCpuGetSupportedIsas()).decode().split())

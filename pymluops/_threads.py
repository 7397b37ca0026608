# SPDX-License-Identifier: Apache-2.0
"""The default handle of a thread, and its number of threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pymluops._handle import Handle
from pymluops.errors import bad_type


class _ThreadState(threading.local):
    handle: Handle | None = None


class _Block:
    """A block of `threads`, which applies until it ends."""

    __slots__ = ("ended", "num_threads")

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self.ended = False


_thread = _ThreadState()
_process_num_threads = 0
# The blocks that the code at hand is in, innermost last.
_blocks: ContextVar[tuple[_Block, ...]] = ContextVar("pymluops.threads", default=())


def default_handle() -> Handle:
    """Return this thread's own handle, made at its first use."""
    wanted = _process_num_threads
    for block in _blocks.get():
        if not block.ended:
            wanted = block.num_threads
    return thread_handle(wanted)


def thread_handle(num_threads: int) -> Handle:
    """Return this thread's own handle, which the next operator runs with, for so many threads."""
    handle = _thread.handle
    if handle is None or handle._cdata is None:
        handle = _thread.handle = Handle()
    if handle._num_threads != num_threads:
        handle.num_threads = num_threads
    return handle


def resolve(function: str, handle: Handle | None) -> Handle:
    """Return the handle to use for the ``handle=`` argument of a function."""
    if handle is None:
        return default_handle()
    if not isinstance(handle, Handle):
        raise bad_type(
            function, "handle", f"{type(handle).__name__} given, expected a pymluops.Handle or None"
        )
    if handle.closed:
        handle.cdata_for(function)  # raises
    return handle


def get_num_threads() -> int:
    """Return the number of threads that an operator called from this thread may use.

    A handle passed as ``handle=`` has its own number.
    """
    return default_handle().num_threads


def set_num_threads(num_threads: int) -> None:
    """Set the number of threads that an operator may use, for calls from every thread.

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
    """Set the number of threads that an operator may use, inside a ``with`` block.

    The number applies to the code in the block, and to what that code starts in its context (tasks
    of asyncio, ``asyncio.to_thread``), until the block ends. It does not apply to other tasks and
    threads. Blocks may end in any order. While a generator is suspended inside a block, the number
    also applies to the code that runs the generator.

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
    block = _Block(_checked(num_threads))
    _blocks.set((*_open_blocks(), block))
    try:
        yield
    finally:
        block.ended = True
        _blocks.set(_open_blocks())


def _open_blocks() -> tuple[_Block, ...]:
    return tuple(block for block in _blocks.get() if not block.ended)


def _checked(num_threads: int) -> int:
    """Let the library judge a number of threads."""
    handle = default_handle()
    handle.num_threads = num_threads
    return handle.requested_threads

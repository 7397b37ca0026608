# SPDX-License-Identifier: Apache-2.0
"""Arrays next to memory that nobody may touch.

One byte read or written too far, also a "harmless" one, ends the process with a segmentation fault;
pytest's fault handler then names the test. Memory is released with the last array that uses it.
"""

import ctypes
import mmap
import os

import numpy as np

_PAGE = mmap.PAGESIZE
_NO_ACCESS = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _protect(memory, offset):
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + offset
    if _libc.mprotect(address, _PAGE, _NO_ACCESS) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _pages(array):
    """Fresh memory for an array of this size, and the bytes between its two guard pages."""
    size = -(-array.nbytes // _PAGE) * _PAGE
    memory = mmap.mmap(-1, size + 2 * _PAGE)
    _protect(memory, 0)
    _protect(memory, _PAGE + size)
    return memory, size


def _copy(array, memory, offset):
    copy = np.ndarray(array.shape, array.dtype, buffer=memory, offset=offset)
    # Bytes, not values: a signalling NaN must arrive as it is.
    copy.reshape(-1).view(np.uint8)[:] = array.reshape(-1).view(np.uint8)
    return copy


def ending(array):
    """A writable copy whose last byte is followed by an inaccessible page."""
    array = np.ascontiguousarray(array)
    memory, size = _pages(array)
    return _copy(array, memory, _PAGE + size - array.nbytes)


def beginning(array):
    """A writable copy whose first byte is preceded by an inaccessible page."""
    array = np.ascontiguousarray(array)
    memory, _ = _pages(array)
    return _copy(array, memory, _PAGE)


BOTH = (ending, beginning)

# SPDX-License-Identifier: Apache-2.0
"""Arrays of billions of elements that take next to no memory.

Inputs are zeros that nobody has written, but for their end. Outputs are one window of memory,
mapped again and again, but for their end: what is written to the rest overwrites itself.
"""

import ctypes
import mmap
import os

import numpy as np

WINDOW = 2 << 20
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED, _MAP_ANONYMOUS = 1, 2, 0x10, 0x20
_MAP_NORESERVE, _MAP_POPULATE = 0x4000, 0x8000  # the latter: no fault for each page
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def _map(address, size, flags, file=-1):
    found = _libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0)
    if found == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


class Sparse:
    """An array; `close` gives its addresses back, so nothing may use it then."""

    def __init__(self, shape, dtype, windows_up_to=0):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.size = -(-size // WINDOW) * WINDOW
        nobody = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE
        self.address = _map(None, self.size, nobody)
        if windows_up_to > 0:
            file = os.memfd_create("window")
            os.ftruncate(file, WINDOW)
            for start in range(0, windows_up_to - WINDOW + 1, WINDOW):
                _map(self.address + start, WINDOW, _MAP_SHARED | _MAP_FIXED | _MAP_POPULATE, file)
            os.close(file)
        _libc.madvise(self.address, self.size, mmap.MADV_HUGEPAGE)  # fewer faults of zeros
        memory = (ctypes.c_char * size).from_address(self.address)
        self.array = np.frombuffer(memory, dtype).reshape(shape)

    def close(self):
        del self.array
        _libc.munmap(self.address, self.size)


def zeros_but(end, shape):
    """An array of this shape whose last elements are those of `end`."""
    made = Sparse(shape, end.dtype)
    made.array.reshape(-1)[-end.size :] = end.reshape(-1)
    return made


def forgotten_but(end, shape):
    """An output of this shape that keeps its last elements, as many as `end` has."""
    size = int(np.prod(shape)) * end.dtype.itemsize
    return Sparse(shape, end.dtype, size - end.nbytes)

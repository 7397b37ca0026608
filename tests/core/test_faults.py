# SPDX-License-Identifier: Apache-2.0
"""Processes in which something goes wrong: no memory, an end in the middle, a library that goes.

tests/c/test_alloc.c and tests/c/test_faults.c have what C programs see.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from interpreter import run_python

import pymluops

TESTS = Path(__file__).resolve().parents[1]

# What the loader puts before the allocator of libc: calls from the library fail when they are told
# to. Python finds the library by its name in the list of what is loaded.
ALLOCATOR = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

int allowed = -1; /* so many succeed; -1: all */
int refused = 0;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static int inside = 0;

static int refuse(const void *caller) {
  Dl_info found;
  if (allowed < 0 || inside) return 0;
  inside = 1; /* dladdr may allocate */
  const int ours = dladdr(caller, &found) != 0 && strstr(found.dli_fname, "libmluops") != NULL;
  inside = 0;
  if (!ours || allowed-- > 0) return 0;
  allowed = 0;
  refused++;
  return 1;
}

void *malloc(size_t size) {
  return refuse(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return refuse(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
  if (refuse(__builtin_return_address(0))) return ENOMEM;
  void *made = __libc_memalign(alignment, size);
  if (made != NULL) *pointer = made;
  return made != NULL ? 0 : ENOMEM;
}
"""

CALLS_WITHOUT_MEMORY = """
import ctypes, gc, sys
sys.path.insert(0, {tests!r})
import numpy as np
from python_calls import CALLS, as_tuple
import pymluops
from pymluops import _descriptor

allocator = ctypes.CDLL(None)
allowed, refused = (ctypes.c_int.in_dll(allocator, name) for name in ("allowed", "refused"))

def forget_descriptors():
    for name in dir(_descriptor):
        getattr(getattr(_descriptor, name), "cache_clear", lambda: None)()

failures = 0
for name, call in CALLS.items():
    expected = [result.tobytes() for result in as_tuple(call())]
    for n in range(100):
        forget_descriptors()
        out = call.new_outputs(7) if call.takes_out else None
        given = {{}} if out is None else {{"out": out}}
        refused.value, allowed.value = 0, n
        try:
            with pymluops.Handle(num_threads=1) as handle:
                results = call(handle=handle, **given)
        except pymluops.AllocFailedError as error:
            allowed.value = -1
            failures += 1
            assert isinstance(error, MemoryError)
            assert refused.value > 0, error
            assert all(np.all(array == 7) for array in as_tuple(out) if out is not None), name
        else:
            allowed.value = -1
            assert [result.tobytes() for result in as_tuple(results)] == expected, name
            if refused.value == 0:
                break
        assert [result.tobytes() for result in as_tuple(call())] == expected, name
    else:
        raise AssertionError(name)
print(failures)
"""


def test_each_allocation_of_c_fails_once(tmp_path: Path) -> None:
    """Python raises MemoryError, `out` is as it was, and the next call is right."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "a C compiler compiles the allocator that fails"
    source, library = tmp_path / "allocator.c", tmp_path / "allocator.so"
    source.write_text(ALLOCATOR)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"], check=True)
    program = CALLS_WITHOUT_MEMORY.format(tests=str(TESTS))
    out, _ = run_python(program, LD_PRELOAD=str(library))
    assert int(out) > len(pymluops.reference.__all__)


END = """
import sys, threading
import numpy as np, pymluops

x = np.ones((8, 64, 128, 128), np.float32)
inside = threading.Event()

def compute():
    while True:
        pymluops.to_nhwc(x)
        inside.set()

for _ in range(3):
    threading.Thread(target=compute, daemon=True).start()
inside.wait()
print("end", flush=True)
{end}
"""


@pytest.mark.parametrize("end", ["sys.exit(0)", "import os; os._exit(0)"])
def test_a_process_ends_while_threads_compute(end: str) -> None:
    for _ in range(2):
        assert run_python(END.format(end=end)) == ("end\n", "")


LOAD = """
import ctypes, _ctypes, os, sys


def call(library):
    handle, x, y = (ctypes.c_void_p() for _ in range(3))
    ok = [library.mluOpCreate(ctypes.byref(handle))]
    for desc, layout, dims in ((x, 0, (1, 64, 64, 64)), (y, 1, (1, 64, 64, 64))):
        ok.append(library.mluOpCreateTensorDescriptor(ctypes.byref(desc)))
        ok.append(library.mluOpSetTensorDescriptor(desc, layout, 2, 4, (ctypes.c_int * 4)(*dims)))
    a, b = ((ctypes.c_float * 64**3)(*range(64)) for _ in range(2))
    ok.append(library.mluOpCpuConvertLayout(handle, x, a, y, b))
    assert b[64 * 3] == 3.0
    ok += [library.mluOpDestroyTensorDescriptor(desc) for desc in (x, y)]
    ok.append(library.mluOpDestroy(handle))
    assert ok == [0] * len(ok), ok

def state():
    with open("/proc/self/maps") as file:
        lines = file.read().splitlines()
    return sum("libmluops" in line for line in lines), len(os.listdir("/proc/self/task"))

states = []
for i in range(60):
    library = ctypes.CDLL({path!r})
    call(library)
    _ctypes.dlclose(library._handle)
    states.append(state())
assert states[1:] == states[:1] * 59, states
print("loaded")
"""


def test_the_library_can_be_loaded_again_and_again() -> None:
    """By a program of its own, which never imports the package."""
    program = LOAD.format(path=str(pymluops.library_path()))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr

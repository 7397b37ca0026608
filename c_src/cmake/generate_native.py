# SPDX-License-Identifier: Apache-2.0
"""Write the C source of the extension module ``pymluops._native``.

The declarations come from the public headers themselves: the text between "cdef begin" and
"cdef end". The C compiler then checks what cffi made of them against those headers.

Usage: generate_native.py INCLUDE_DIR OUTPUT.c [FAMILY ...]

The functions of the families named are left out, as they are of the library.
"""

import re
import sys
from pathlib import Path

import cffi

HEADERS = ("mlu_op.h", "mlu_op_cpu.h")

# What the headers say outside the markers, where the preprocessor is needed.
BEFORE = """
typedef ... *cnrtQueue_t;
#define MLUOP_MAJOR ...
#define MLUOP_MINOR ...
#define MLUOP_PATCHLEVEL ...
#define MLUOP_VERSION ...
#define MLUOP_DIM_MAX ...
"""

# The log callback, and the question of long calls: C functions whose body is Python, so that no
# callback is made at run time.
AFTER = """
extern "Python" void pymluops_log(mluOpCpuLogLevel_t level, const char *message, void *user_data);
extern "Python" int pymluops_ask(void *nothing);
int pymluops_interrupted(void *main_thread);

const char *pymluops_library_file(void);
void pymluops_advise_huge_pages(void *memory, size_t bytes);
extern const char *const pymluops_build_id;

double mluop_limit_of(const char *isa, int what, float *memory, int64_t floats, int64_t repeats);
"""

# The file that the loader took the library from, which need not be the one installed beside the
# module; advice for the whole pages of memory that we have allocated, with no promise; what the
# module was built from (pymluops/_build_id.py); what long calls ask, which only the main thread of
# Python can answer: its pthread_t as an address, as threading has it as a number; what the machine
# can do (c_src/limits).
OURS = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
static const char *pymluops_library_file(void) {
  Dl_info found;
  return dladdr((void *)(uintptr_t)mluOpCreate, &found) != 0 ? found.dli_fname : NULL;
}
static void pymluops_advise_huge_pages(void *memory, size_t bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = ((uintptr_t)memory + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)memory + bytes) / page * page;
#ifdef MADV_HUGEPAGE
  if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#endif
}
extern const char *const pymluops_build_id;
static int pymluops_ask(void *nothing);
static int pymluops_interrupted(void *main_thread) {
  return (uintptr_t)pthread_self() == (uintptr_t)main_thread ? pymluops_ask(NULL) : 0;
}
#include "limits/limits.h"
"""


def declarations(header: Path) -> str:
    """Return the part of a header that cffi parses."""
    found = re.search(r"/\* cdef begin.*?\*/(.*?)/\* cdef end \*/", header.read_text(), re.DOTALL)
    if found is None:
        raise SystemExit(f'{header}: no "cdef begin" and "cdef end"')
    return found[1].replace("MLUOP_WIN_API", "")


def without(text: str, families: list[str]) -> str:
    """Leave out the functions of families: their names have the family's, in capitals and all."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for family in families:
        word = family.replace("_", "")
        function = rf"mluOp(?:Cpu|Create|Destroy|Set|Get)?(?i:{word})\w*"
        text = re.sub(rf"[^;{{}}]*\b{function}\([^;]*;", "", text)
    return text


def main() -> None:
    """Write the file that the command line names."""
    include_dir, output, left_out = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    ffi = cffi.FFI()
    text = "".join(declarations(include_dir / name) for name in HEADERS)
    ffi.cdef(BEFORE + without(text, left_out) + AFTER)
    includes = "".join(f'#include "{name}"\n' for name in HEADERS)
    ffi.set_source("pymluops._native", includes + OURS)
    ffi.emit_c_code(str(output))


if __name__ == "__main__":
    main()

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_KERNEL_H_
#define MLUOP_CORE_KERNEL_H_

#include <stdbool.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ + 0 > 0
#error "results would be wrong with -ffast-math or -Ofast: CMakeLists.txt undoes them"
#endif

static inline int64_t mluop_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t mluop_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t mluop_div_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* A kernel does the items [begin, end) of its job. It gets plain pointers, cannot fail, and knows
   no handle, descriptor or thread. `scratch` belongs to the calling thread: 64-byte aligned,
   uninitialised, as large as its job asked for. What an item computes does not depend on the range
   that it came in. */
typedef void mluop_kernel(const void *args, int64_t begin, int64_t end, void *scratch);

/* Whether the call that a kernel works for ends: its results do not matter any more. For items that
   may take longer than some milliseconds. */
struct mluop_interrupt;
bool mluop_interrupted(struct mluop_interrupt *interrupt);

/* The source of a kernel is built once for each instruction set, with MLUOP_ISA set to its name.
   MLUOP_VARIANT(thing_forward) is then mluop_thing_forward_avx2, and so on. */
#define MLUOP_PASTE_(name, isa) mluop_##name##_##isa
#define MLUOP_PASTE(name, isa) MLUOP_PASTE_(name, isa)
#define MLUOP_VARIANT(name) MLUOP_PASTE(name, MLUOP_ISA)

/* MLUOP_KERNEL(name) declares a kernel, in the kernels.h of its family. Where it is written, that
   is the prototype of the variant which is being built. Where it is called, `name` is the table of
   all variants, and name[handle->isa] is the one to run. */
#ifdef MLUOP_ISA
#define MLUOP_KERNEL(name) mluop_kernel MLUOP_VARIANT(name)
#else
#include "isa_list.h" /* written by CMake from c_src/cmake/isa.cmake */
#define MLUOP_DECLARE_(isa, floats, name) mluop_kernel MLUOP_PASTE(name, isa);
#define MLUOP_ENTRY_(isa, floats, name) MLUOP_PASTE(name, isa),
#define MLUOP_KERNEL(name)         \
  MLUOP_ISAS(MLUOP_DECLARE_, name) \
  __attribute__((unused)) static mluop_kernel *const name[] = {MLUOP_ISAS(MLUOP_ENTRY_, name)}
#endif

#endif /* MLUOP_CORE_KERNEL_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_VECTOR_VARIANT_H_
#define MLUOP_VECTOR_VARIANT_H_

/* Every file in this folder is built once per instruction set, with MLUOP_ISA set to its name.
   MLUOP_VARIANT(carafe_forward) is then mluop_carafe_forward_avx2, and so on. */

#include "vector/kernels.h"

#define MLUOP_PASTE_(name, isa) mluop_##name##_##isa
#define MLUOP_PASTE(name, isa) MLUOP_PASTE_(name, isa)
#define MLUOP_VARIANT(name) MLUOP_PASTE(name, MLUOP_ISA)

#define MLUOP_KERNEL(name) mluop_kernel MLUOP_VARIANT(name);
#include "vector/kernels.def"
#undef MLUOP_KERNEL

/* For bodies that are written once for half and float: inlined into a call for each, with the type
   as a constant. */
#define MLUOP_INLINE static inline __attribute__((always_inline))

/* Before a loop of at most 16 iterations, known at compile time: no loop is left of it. */
#if defined(__clang__)
#define MLUOP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MLUOP_UNROLL _Pragma("GCC unroll 16")
#endif

#define MLUOP_LIKELY(condition) __builtin_expect(!!(condition), 1)

#endif /* MLUOP_VECTOR_VARIANT_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_VECTOR_VARIANT_H_
#define MLUOP_VECTOR_VARIANT_H_

/* For code that is built once for each instruction set. */

#include "core/kernel.h"

/* For bodies that are written once for half and float: inlined into a call for each, with the type
   as a constant. */
#define MLUOP_INLINE static inline __attribute__((always_inline))

/* Before a loop of at most 16 iterations, known at compile time: no loop is left of it. And before
   a long one: four iterations at a time (Clang decides that; told to, it compiles products with
   sanitizers for twice as long). */
#if defined(__clang__)
#define MLUOP_UNROLL _Pragma("clang loop unroll(full)")
#define MLUOP_UNROLL_4
#else
#define MLUOP_UNROLL _Pragma("GCC unroll 16")
#define MLUOP_UNROLL_4 _Pragma("GCC unroll 4")
#endif

#define MLUOP_LIKELY(condition) __builtin_expect(!!(condition), 1)

#endif /* MLUOP_VECTOR_VARIANT_H_ */

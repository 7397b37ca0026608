/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_VECTOR_SIMD_H_
#define MLUOP_VECTOR_SIMD_H_

/* One name per vector operation, in registers of the instruction set's own width. Kernels use these
   names and the compiler's operators (+ - *) on vf; intrinsics stand here only.

     VL                      floats in a vf: 16, 8 or 4
     vf                      VL floats
     ..._part(p, n)          the first n elements, 0 <= n <= VL; the others load as 0, and are
                             neither read nor written in memory
     ..._span(p, begin, end) the same for the elements begin to end - 1 of the VL at p; they may be
                             outside [0, VL)
     ..._split(n, a, b)      lanes below n at a, the others at b; nothing else there is touched
     vf_transpose(rows)      a VL x VL matrix
     vf_load_fours(p, step)  VL / 4 runs of four floats, `step` apart; vf_transpose_fours(rows):
                             of four vectors, the 4 x 4 matrix of each run
     vf_transpose_runs(rows) of VL / 4 vectors, the matrix of their runs of four floats
     vf_load_eights(p, step) VL / 8 runs of eight floats, `step` apart; vf_store_eights likewise
     vf_unzip_runs(rows)     of two vectors, the even runs of four of both, and the odd ones, if a
                             vector has more than one run; vf_zip_runs(rows) is the way back
     ..._half(p)             VL halves in memory, converted from or to floats (one rounding, to
                             even)
     vf_transpose_eights(rows)
                             of eight vectors whose runs are eight elements of 2 bytes: the 8 x 8
                             matrix of each run
     vf_narrow_to_half(a, b) the bits of 2 * VL halves, converted from a and then b
     vf_fma(a, b, c)         a * b + c, with one rounding where the instruction set has FMA
     vi                      VL int32_t; vi_set, vi_load, vi_store and so on
     vi_truncate(v)          toward zero, of floats that fit; vf_of_int(i) is the way back
     vm                      VL conditions, from vf_greater(a, b), vf_at_least(a, b), which do not
                             hold for NaN, and vf_nonzero(v)
     vm_any(m)               whether a condition holds in any lane
     vf_max(a, b)            a where vf_greater(a, b) holds, b elsewhere; vf_min(a, b) where
                             vf_greater(b, a) does
     vf_select(m, a, b)      a where m holds, b elsewhere; vi_select likewise
     vf_fma_where(m, ...)    vf_fma where m holds, the last argument elsewhere
     vf_table16(table, i)    table[i] of a table of 16 floats, for i from 0 to 15

   Sums of products may use vf_fma. Coordinates, comparisons and weights never do: they must have
   the same bits on every CPU. */

#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "vector/variant.h"

#if defined(__AVX512F__)
#include "vector/simd_avx512.h"
#elif defined(__AVX2__)
#include "vector/simd_avx2.h"
#elif defined(__SSE2__)
#include "vector/simd_sse2.h"
#elif defined(__aarch64__)
#include "vector/simd_neon.h"
#else
#error "no vectors for this CPU: add a simd_*.h"
#endif

/* What c_src/cmake/isa.cmake says is so. */
typedef char mluop_vector_floats_hold[VL == MLUOP_ISA_FLOATS ? 1 : -1];

/* Keeps the compiler from folding the load of `v` into each of its uses as a memory operand. */
MLUOP_INLINE vf vf_opaque(vf v) {
#if defined(__aarch64__)
  __asm__("" : "+w"(v));
#else
  __asm__("" : "+v"(v));
#endif
  return v;
}

MLUOP_INLINE vi vi_opaque(vi v) {
#if defined(__aarch64__)
  __asm__("" : "+w"(v));
#else
  __asm__("" : "+v"(v));
#endif
  return v;
}

/* Keeps the compiler from deriving a number or an address in a loop from others, for which it would
   need more registers, and from doing so in vector registers, behind the arithmetic under way. */
MLUOP_INLINE int64_t mluop_opaque(int64_t number) {
  __asm__("" : "+r"(number));
  return number;
}

MLUOP_INLINE float *mluop_opaque_pointer(const float *address) {
  __asm__("" : "+r"(address));
  return (float *)address;
}

/* Lets the compiler load what it has loaded before, instead of holding it in a register. */
MLUOP_INLINE void mluop_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

MLUOP_INLINE void mluop_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

/* The lines of so many bytes, which are `ahead` bytes after `base`, wherever that is. */
MLUOP_INLINE void mluop_prefetch_bytes(const void *base, int64_t ahead, int64_t bytes) {
  const uintptr_t from = (uintptr_t)base + (uintptr_t)ahead;
  for (int64_t i = 0; i < bytes; i += 64) mluop_prefetch((const void *)(from + (uintptr_t)i));
}

/* For writing. x86-64 CPUs that do not have the instruction take it for none. */
MLUOP_INLINE void mluop_prefetch_write(const void *address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

/* Element `i` and its VL - 1 successors of a half or float tensor, as floats. */
MLUOP_INLINE vf vf_load_as(const void *base, int64_t i, int is_half) {
  return is_half ? vf_load_half((const uint16_t *)base + i) : vf_load((const float *)base + i);
}

MLUOP_INLINE vf vf_load_part_as(const void *base, int64_t i, int64_t n, int is_half) {
  return is_half ? vf_load_half_part((const uint16_t *)base + i, n)
                 : vf_load_part((const float *)base + i, n);
}

MLUOP_INLINE vf vf_load_split_as(int64_t n, const void *a, const void *b, int64_t i, int is_half) {
  return is_half ? vf_load_split_half(n, (const uint16_t *)a + i, (const uint16_t *)b + i)
                 : vf_load_split(n, (const float *)a + i, (const float *)b + i);
}

MLUOP_INLINE void vf_store_as(void *base, int64_t i, vf v, int is_half) {
  if (is_half) {
    vf_store_half((uint16_t *)base + i, v);
  } else {
    vf_store((float *)base + i, v);
  }
}

MLUOP_INLINE void vf_store_part_as(void *base, int64_t i, vf v, int64_t n, int is_half) {
  if (is_half) {
    vf_store_half_part((uint16_t *)base + i, v, n);
  } else {
    vf_store_part((float *)base + i, v, n);
  }
}

MLUOP_INLINE const void *mluop_at(const void *base, int64_t i, int is_half) {
  return (const char *)base + i * (is_half ? 2 : 4);
}

MLUOP_INLINE float mluop_load_as(const void *base, int64_t i, int is_half) {
  return is_half ? mluop_half_to_float(((const uint16_t *)base)[i]) : ((const float *)base)[i];
}

MLUOP_INLINE void mluop_store_as(void *base, int64_t i, float value, int is_half) {
  if (is_half) {
    ((uint16_t *)base)[i] = mluop_float_to_half(value);
  } else {
    ((float *)base)[i] = value;
  }
}

#endif /* MLUOP_VECTOR_SIMD_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_MOVE_H_
#define MLUOP_KERNELS_MOVE_H_

/* Runs of floats moved as bits: copies, zero fills, and output past the caches. */

#include <string.h>

#include "kernels/simd.h"

/* Bytes that the memory takes at once; stores past the caches must fill them. */
enum { LINE_BYTES = 64, LINE_FLOATS = LINE_BYTES / 4 };

MLUOP_INLINE void move_run(float *to, const float *from, int64_t n) {
  if (n < VL) {
    vf_store_part(to, vf_load_part(from, n), n);
    return;
  }
  /* Pinned, or the compiler makes calls of memcpy from these loops. */
  int64_t i = 0;
  for (; i + VL <= n; i += VL) vf_store(to + i, vf_pin(vf_load(from + i)));
  if (i < n) vf_store(to + n - VL, vf_load(from + n - VL));
}

MLUOP_INLINE void zero_run(float *to, int64_t n) {
  const vf zero = vf_pin(vf_set(0.0f));
  if (n < VL) {
    vf_store_part(to, zero, n);
    return;
  }
  int64_t i = 0;
  for (; i + VL <= n; i += VL) vf_store(to + i, zero);
  if (i < n) vf_store(to + n - VL, zero);
}

/* Floats from `p` to the next line. */
MLUOP_INLINE int64_t floats_to_line(const void *p) {
  return (int64_t)(-((uintptr_t)p / sizeof(float)) % LINE_FLOATS);
}

/* Past the caches. `from` needs no alignment. The caller ends with vf_stream_end. */
MLUOP_INLINE void stream_run(float *to, const float *from, int64_t n) {
  int64_t i = floats_to_line(to);
  if (i + LINE_FLOATS > n) {
    move_run(to, from, n);
    return;
  }
  move_run(to, from, i);
  for (; i + LINE_FLOATS <= n; i += LINE_FLOATS) {
    for (int64_t k = 0; k < LINE_FLOATS; k += VL) vf_stream(to + i + k, vf_load(from + i + k));
  }
  move_run(to + i, from + i, n - i);
}

/* Past the caches where that pays: short runs share their lines with others. */
MLUOP_INLINE void zero_long_run(float *to, int64_t n, int stream) {
  enum { LONG_RUN = 32 * LINE_FLOATS };
  if (!stream || n < LONG_RUN) {
    zero_run(to, n);
    return;
  }
  int64_t i = floats_to_line(to);
  zero_run(to, i);
  for (; i + VL <= n; i += VL) vf_stream(to + i, vf_set(0.0f));
  zero_run(to + i, n - i);
}

#endif /* MLUOP_KERNELS_MOVE_H_ */

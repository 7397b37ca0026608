/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_MOVE_H_
#define MLUOP_SHARED_MOVE_H_

/* Runs of floats moved as bits: copies, zero fills, and output past the caches. */

#include <string.h>

#include "vector/simd.h"

/* Bytes that the memory takes at once; stores past the caches must fill them. */
enum { LINE_BYTES = 64, LINE_FLOATS = LINE_BYTES / 4 };

MLUOP_INLINE void move_run(float *to, const float *from, int64_t n) {
  if (n < VL) {
    vf_store_part(to, vf_load_part(from, n), n);
    return;
  }
  /* Pinned, or the compiler makes calls of memcpy from these loops. */
  int64_t i = 0;
  for (; i + VL <= n; i += VL) vf_store(to + i, vf_opaque(vf_load(from + i)));
  if (i < n) vf_store(to + n - VL, vf_load(from + n - VL));
}

MLUOP_INLINE void zero_run(float *to, int64_t n) {
  const vf zero = vf_opaque(vf_set(0.0f));
  if (n < VL) {
    vf_store_part(to, zero, n);
    return;
  }
  int64_t i = 0;
  for (; i + VL <= n; i += VL) vf_store(to + i, zero);
  if (i < n) vf_store(to + n - VL, zero);
}

/* The same of even numbers of bytes. */
MLUOP_INLINE void move_bytes(char *to, const char *from, int64_t bytes) {
  move_run((float *)(void *)to, (const float *)(const void *)from, bytes / 4);
  if (bytes % 4 != 0) memcpy(to + bytes - 2, from + bytes - 2, 2);
}

/* Even numbers of bytes. memset would take, on some CPUs, an instruction that starts slowly and
   leaves the caches. */
MLUOP_INLINE void clear_bytes(char *to, int64_t bytes) {
  zero_run((float *)(void *)to, bytes / 4);
  if (bytes % 4 != 0) memset(to + bytes - 2, 0, 2);
}

/* Floats from `p` to the next line. */
MLUOP_INLINE int64_t floats_to_line(const void *p) {
  return (int64_t)(-((uintptr_t)p / sizeof(float)) % LINE_FLOATS);
}

/* Floats of the line of `p` that are before it. */
MLUOP_INLINE int64_t floats_into_line(const void *p) {
  return (int64_t)((uintptr_t)p / sizeof(float) % LINE_FLOATS);
}

/* Copies past the caches; neither side needs to be aligned. The caller ends with vf_stream_end. */
MLUOP_INLINE void stream_bytes(void *target, const void *source, int64_t bytes) {
  char *to = target;
  const char *from = source;
  const int64_t head = (int64_t)(-(uintptr_t)to % LINE_BYTES);
  if (bytes < head + LINE_BYTES) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  if (head > 0) memcpy(to, from, (size_t)head);
  int64_t i = head;
  for (; i + LINE_BYTES <= bytes; i += LINE_BYTES) {
    for (int64_t k = 0; k < LINE_BYTES; k += VL * 4) {
      vf_stream((float *)(void *)(to + i + k),
                vf_load((const float *)(const void *)(from + i + k)));
    }
  }
  if (i < bytes) memcpy(to + i, from + i, (size_t)(bytes - i));
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

#endif /* MLUOP_SHARED_MOVE_H_ */

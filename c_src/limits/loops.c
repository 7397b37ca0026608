/* SPDX-License-Identifier: Apache-2.0 */
/* The loops, for one instruction set. What they compute is kept, or the compiler would leave it
   out; `mluop_compiler_barrier` makes it do every repeat. */
#include "limits/limits.h"
#include "vector/simd.h"

mluop_limit_loop MLUOP_VARIANT(limit);

/* Enough to keep two units of a latency of four or five busy, few enough for 16 registers. */
enum { CHAINS = 12 };

static void keep(vf v) {
  volatile float kept = vf_sum(v);
  (void)kept;
}

static double fma_rate(int64_t repeats) {
  const vf factor = vf_opaque(vf_set(0.5f)), term = vf_opaque(vf_set(1.0f));
  vf sums[CHAINS];
  MLUOP_UNROLL
  for (int i = 0; i < CHAINS; ++i) sums[i] = vf_opaque(term);
  for (int64_t r = 0; r < repeats; ++r) {
    MLUOP_UNROLL
    for (int i = 0; i < CHAINS; ++i) sums[i] = vf_fma(sums[i], factor, term);
  }
  for (int i = 1; i < CHAINS; ++i) sums[0] += sums[i];
  keep(sums[0]);
  return 2.0 * CHAINS * VL * (double)repeats;
}

static void read_all(const float *memory, int64_t floats) {
  vf sums[8];
  for (int i = 0; i < 8; ++i) sums[i] = vf_set(0);
  for (int64_t at = 0; at < floats; at += 8 * VL) {
    MLUOP_UNROLL
    for (int i = 0; i < 8; ++i) sums[i] += vf_load(memory + at + i * VL);
  }
  for (int i = 1; i < 8; ++i) sums[0] += sums[i];
  keep(sums[0]);
}

MLUOP_INLINE void write_all(float *to, const float *from, int64_t floats, int stream) {
  const vf one = vf_opaque(vf_set(1));
  for (int64_t at = 0; at < floats; at += 4 * VL) {
    MLUOP_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int64_t here = at + i * VL;
      const vf v = from != NULL ? vf_opaque(vf_load(from + here)) : one;
      if (stream) {
        vf_stream(to + here, v);
      } else {
        vf_store(to + here, v);
      }
    }
  }
  if (stream) vf_stream_end();
}

double MLUOP_VARIANT(limit)(enum mluop_limit what, float *memory, int64_t floats, int64_t repeats) {
  float *const half = memory + floats / 2;
  if (what == MLUOP_LIMIT_FMA) return fma_rate(repeats);
  for (int64_t r = 0; r < repeats; ++r) {
    mluop_compiler_barrier();
    switch (what) {
      case MLUOP_LIMIT_READ:
        read_all(memory, floats);
        break;
      case MLUOP_LIMIT_FILL:
        write_all(memory, NULL, floats, 0);
        break;
      case MLUOP_LIMIT_FILL_STREAM:
        write_all(memory, NULL, floats, 1);
        break;
      case MLUOP_LIMIT_COPY:
        write_all(half, memory, floats / 2, 0);
        break;
      default:
        write_all(half, memory, floats / 2, 1);
        break;
    }
  }
  return (double)floats * (double)sizeof(float) * (double)repeats;
}

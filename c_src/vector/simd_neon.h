/* SPDX-License-Identifier: Apache-2.0 */
/* Included by simd.h only. AArch64 Advanced SIMD: FMA and half conversion are part of it. */
#include <arm_neon.h>

enum { VL = 4 };
typedef float32x4_t vf;

MLUOP_INLINE vf vf_set(float x) { return vdupq_n_f32(x); }
MLUOP_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
MLUOP_INLINE void vf_store(float *p, vf v) { vst1q_f32(p, v); }
/* There is no store past the caches: the same names, for kernels written once. */
MLUOP_INLINE void vf_stream(float *p, vf v) { vst1q_f32(p, v); }
MLUOP_INLINE void vf_stream_one(float *p, float x) { *p = x; }
MLUOP_INLINE void vf_stream_end(void) {}
MLUOP_INLINE vf vf_load_half(const uint16_t *p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
MLUOP_INLINE void vf_store_half(uint16_t *p, vf v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
MLUOP_INLINE vf vf_narrow_to_half(vf a, vf b) {
  return vreinterpretq_f32_f16(vcombine_f16(vcvt_f16_f32(a), vcvt_f16_f32(b)));
}
MLUOP_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
MLUOP_INLINE void vf_store_sums4(float *to, vf a, vf b, vf c, vf d) {
  vst1q_f32(to, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}
MLUOP_INLINE float vf_sum(vf v) { return vaddvq_f32(v); }
MLUOP_INLINE void vf_transpose(vf rows[VL]) {
  const float32x4x2_t low = vtrnq_f32(rows[0], rows[1]), high = vtrnq_f32(rows[2], rows[3]);
  rows[0] = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
  rows[1] = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
  rows[2] = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
  rows[3] = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
}
MLUOP_INLINE void vf_transpose_eights(vf rows[8]) {
  uint32x4_t a[8];
  uint64x2_t b[8];
  for (int i = 0; i < 4; i++) {
    const uint16x8_t x = vreinterpretq_u16_f32(rows[2 * i]);
    const uint16x8_t y = vreinterpretq_u16_f32(rows[2 * i + 1]);
    a[i] = vreinterpretq_u32_u16(vzip1q_u16(x, y));
    a[i + 4] = vreinterpretq_u32_u16(vzip2q_u16(x, y));
  }
  for (int i = 0; i < 8; i += 2) {
    b[i] = vreinterpretq_u64_u32(vzip1q_u32(a[i], a[i + 1]));
    b[i + 1] = vreinterpretq_u64_u32(vzip2q_u32(a[i], a[i + 1]));
  }
  for (int i = 0; i < 4; i++) {
    const uint64x2_t x = b[i / 2 * 4 + i % 2], y = b[i / 2 * 4 + i % 2 + 2];
    rows[2 * i] = vreinterpretq_f32_u64(vzip1q_u64(x, y));
    rows[2 * i + 1] = vreinterpretq_f32_u64(vzip2q_u64(x, y));
  }
}

typedef int32x4_t vi;
typedef uint32x4_t vm;

MLUOP_INLINE vi vi_set(int32_t x) { return vdupq_n_s32(x); }
MLUOP_INLINE vi vi_load(const int32_t *p) { return vld1q_s32(p); }
MLUOP_INLINE void vi_store(int32_t *p, vi v) { vst1q_s32(p, v); }
MLUOP_INLINE void vi_stream(int32_t *p, vi v) { vst1q_s32(p, v); }
MLUOP_INLINE vm vf_greater(vf a, vf b) { return vcgtq_f32(a, b); }
MLUOP_INLINE vm vf_at_least(vf a, vf b) { return vcgeq_f32(a, b); }
MLUOP_INLINE vi vi_truncate(vf v) { return vcvtq_s32_f32(v); }
MLUOP_INLINE vf vf_of_int(vi v) { return vcvtq_f32_s32(v); }
MLUOP_INLINE vf vf_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
MLUOP_INLINE vf vf_min(vf a, vf b) { return vbslq_f32(vcgtq_f32(b, a), a, b); }
MLUOP_INLINE int vm_any(vm m) { return vmaxvq_u32(m) != 0; }
MLUOP_INLINE vm vf_nonzero(vf v) { return vmvnq_u32(vceqzq_f32(v)); }
MLUOP_INLINE vf vf_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }
MLUOP_INLINE vi vi_select(vm m, vi a, vi b) { return vbslq_s32(m, a, b); }
MLUOP_INLINE vf vf_fma_where(vm m, vf a, vf b, vf c) { return vf_select(m, vf_fma(a, b, c), c); }
MLUOP_INLINE vf vf_table16(const float *table, vi i) {
  int32_t at[VL];
  vi_store(at, i);
  const float values[VL] = {table[at[0] & 15], table[at[1] & 15], table[at[2] & 15],
                            table[at[3] & 15]};
  return vf_load(values);
}

#include "vector/simd_part.h"

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
MLUOP_INLINE void vf_stream_end(void) {}
MLUOP_INLINE vf vf_load_part(const float *p, int64_t n) {
  float copy[VL] = {0};
  memcpy(copy, p, (size_t)n * sizeof(*p));
  return vf_load(copy);
}
MLUOP_INLINE void vf_store_part(float *p, vf v, int64_t n) {
  float copy[VL];
  vf_store(copy, v);
  memcpy(p, copy, (size_t)n * sizeof(*p));
}
MLUOP_INLINE vf vf_load_half(const uint16_t *p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
MLUOP_INLINE vf vf_load_half_part(const uint16_t *p, int64_t n) {
  uint16_t copy[VL] = {0};
  memcpy(copy, p, (size_t)n * sizeof(*p));
  return vf_load_half(copy);
}
MLUOP_INLINE void vf_store_half(uint16_t *p, vf v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
MLUOP_INLINE void vf_store_half_part(uint16_t *p, vf v, int64_t n) {
  uint16_t copy[VL];
  vf_store_half(copy, v);
  memcpy(p, copy, (size_t)n * sizeof(*p));
}
MLUOP_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
MLUOP_INLINE float vf_sum(vf v) { return vaddvq_f32(v); }

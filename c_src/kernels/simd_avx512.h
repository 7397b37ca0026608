/* SPDX-License-Identifier: Apache-2.0 */
/* Included by simd.h only. AVX-512 F, DQ, BW, VL. */
#include <immintrin.h>

enum { VL = 16 };
typedef __m512 vf;

MLUOP_INLINE __mmask16 vf_first_(int64_t n) { return (__mmask16)((1u << n) - 1u); }

MLUOP_INLINE vf vf_set(float x) { return _mm512_set1_ps(x); }
MLUOP_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
MLUOP_INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
/* Past the caches; p is aligned to the vector. vf_stream_end orders what was streamed. */
MLUOP_INLINE void vf_stream(float *p, vf v) { _mm512_stream_ps(p, v); }
MLUOP_INLINE void vf_stream_end(void) { _mm_sfence(); }
MLUOP_INLINE vf vf_load_part(const float *p, int64_t n) {
  return _mm512_maskz_loadu_ps(vf_first_(n), p);
}
MLUOP_INLINE void vf_store_part(float *p, vf v, int64_t n) {
  _mm512_mask_storeu_ps(p, vf_first_(n), v);
}
MLUOP_INLINE vf vf_load_half(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
MLUOP_INLINE vf vf_load_half_part(const uint16_t *p, int64_t n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vf_first_(n), p));
}
MLUOP_INLINE void vf_store_half(uint16_t *p, vf v) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
MLUOP_INLINE void vf_store_half_part(uint16_t *p, vf v, int64_t n) {
  _mm256_mask_storeu_epi16(p, vf_first_(n), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
MLUOP_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
MLUOP_INLINE float vf_sum(vf v) { return _mm512_reduce_add_ps(v); }

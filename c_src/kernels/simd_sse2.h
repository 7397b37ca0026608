/* SPDX-License-Identifier: Apache-2.0 */
/* Included by simd.h only. SSE2: no FMA, no half conversion. */
#include <emmintrin.h>

enum { VL = 4 };
typedef __m128 vf;

MLUOP_INLINE vf vf_set(float x) { return _mm_set1_ps(x); }
MLUOP_INLINE vf vf_load(const float *p) { return _mm_loadu_ps(p); }
MLUOP_INLINE void vf_store(float *p, vf v) { _mm_storeu_ps(p, v); }
/* Past the caches; p is aligned to the vector. vf_stream_end orders what was streamed. */
MLUOP_INLINE void vf_stream(float *p, vf v) { _mm_stream_ps(p, v); }
MLUOP_INLINE void vf_stream_end(void) { _mm_sfence(); }
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
  return _mm_setr_ps(mluop_half_to_float(p[0]), mluop_half_to_float(p[1]),
                     mluop_half_to_float(p[2]), mluop_half_to_float(p[3]));
}
MLUOP_INLINE vf vf_load_half_part(const uint16_t *p, int64_t n) {
  uint16_t copy[VL] = {0};
  memcpy(copy, p, (size_t)n * sizeof(*p));
  return vf_load_half(copy);
}
MLUOP_INLINE void vf_store_half_part(uint16_t *p, vf v, int64_t n) {
  float copy[VL];
  vf_store(copy, v);
  for (int64_t i = 0; i < n; i++) p[i] = mluop_float_to_half(copy[i]);
}
MLUOP_INLINE void vf_store_half(uint16_t *p, vf v) { vf_store_half_part(p, v, VL); }
MLUOP_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
MLUOP_INLINE void vf_add_sums4(float *to, vf a, vf b, vf c, vf d) {
  const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
  const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
  const __m128 sums = _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
  _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), sums));
}
MLUOP_INLINE float vf_sum(vf v) {
  const __m128 two = _mm_add_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
MLUOP_INLINE vf vf_load_span(const float *p, int64_t begin, int64_t end) {
  float copy[VL] = {0};
  for (int64_t i = 0; i < VL; i++) {
    if (i >= begin && i < end) memcpy(&copy[i], &p[i], sizeof(*p));
  }
  return vf_load(copy);
}
MLUOP_INLINE void vf_store_span(float *p, vf v, int64_t begin, int64_t end) {
  float copy[VL];
  vf_store(copy, v);
  for (int64_t i = 0; i < VL; i++) {
    if (i >= begin && i < end) memcpy(&p[i], &copy[i], sizeof(*p));
  }
}
MLUOP_INLINE void vf_transpose(vf rows[VL]) {
  _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
}

typedef __m128i vi;
typedef __m128 vm;

MLUOP_INLINE vi vi_set(int32_t x) { return _mm_set1_epi32(x); }
MLUOP_INLINE vi vi_load(const int32_t *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}
MLUOP_INLINE void vi_store(int32_t *p, vi v) { _mm_storeu_si128((__m128i *)(void *)p, v); }
MLUOP_INLINE void vi_stream(int32_t *p, vi v) { _mm_stream_si128((__m128i *)(void *)p, v); }
MLUOP_INLINE vi vi_load_part(const int32_t *p, int64_t n) {
  int32_t copy[VL] = {0};
  memcpy(copy, p, (size_t)n * sizeof(*p));
  return vi_load(copy);
}
MLUOP_INLINE void vi_store_part(int32_t *p, vi v, int64_t n) {
  int32_t copy[VL];
  vi_store(copy, v);
  memcpy(p, copy, (size_t)n * sizeof(*p));
}
MLUOP_INLINE vm vf_greater(vf a, vf b) { return _mm_cmpgt_ps(a, b); }
MLUOP_INLINE vm vf_nonzero(vf v) { return _mm_cmpneq_ps(v, _mm_setzero_ps()); }
MLUOP_INLINE vf vf_select(vm m, vf a, vf b) {
  return _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b));
}
MLUOP_INLINE vi vi_select(vm m, vi a, vi b) {
  return _mm_castps_si128(vf_select(m, _mm_castsi128_ps(a), _mm_castsi128_ps(b)));
}
MLUOP_INLINE vf vf_fma_where(vm m, vf a, vf b, vf c) { return vf_select(m, vf_fma(a, b, c), c); }
MLUOP_INLINE vf vf_lookup16(const float *table, vi i) {
  int32_t at[VL];
  vi_store(at, i);
  return _mm_setr_ps(table[at[0] & 15], table[at[1] & 15], table[at[2] & 15], table[at[3] & 15]);
}

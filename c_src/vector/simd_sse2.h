/* SPDX-License-Identifier: Apache-2.0 */
/* Included by simd.h only. SSE2: no FMA, no instructions for half. */
#include <emmintrin.h>

enum { VL = 4 };
typedef __m128 vf;

MLUOP_INLINE vf vf_set(float x) { return _mm_set1_ps(x); }
MLUOP_INLINE vf vf_load(const float *p) { return _mm_loadu_ps(p); }
MLUOP_INLINE void vf_store(float *p, vf v) { _mm_storeu_ps(p, v); }
/* Past the caches; p is aligned to the vector. vf_stream_end orders what was streamed. */
MLUOP_INLINE void vf_stream(float *p, vf v) { _mm_stream_ps(p, v); }
MLUOP_INLINE void vf_stream_one(float *p, float x) {
  _mm_stream_si32((int *)(void *)p, (int)mluop_bits_of_float(x));
}
MLUOP_INLINE void vf_stream_end(void) { _mm_sfence(); }
/* Half conversion: the steps of half.h for four numbers at once. */
MLUOP_INLINE __m128i vi_choose_(__m128i mask, __m128i yes, __m128i no) {
  return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}
MLUOP_INLINE vf vf_of_halves_(__m128i halves) { /* one in each 32-bit lane */
  const __m128i top_exponent = _mm_set1_epi32(0x0f800000), rebias = _mm_set1_epi32(0x38000000);
  const __m128i magnitude = _mm_slli_epi32(_mm_and_si128(halves, _mm_set1_epi32(0x7fff)), 13);
  const __m128i sign = _mm_slli_epi32(_mm_and_si128(halves, _mm_set1_epi32(0x8000)), 16);
  const __m128i exponent = _mm_and_si128(magnitude, top_exponent);
  const __m128i special = _mm_cmpeq_epi32(exponent, top_exponent);
  const __m128i infinite = _mm_cmpeq_epi32(magnitude, top_exponent);
  const __m128i quiet = _mm_andnot_si128(infinite, _mm_set1_epi32(0x00400000));
  const __m128i normal = _mm_add_epi32(magnitude, rebias);
  const __m128i subnormal = _mm_castps_si128(
      _mm_sub_ps(_mm_castsi128_ps(_mm_add_epi32(normal, _mm_set1_epi32(0x00800000))),
                 _mm_castsi128_ps(_mm_set1_epi32(0x38800000))));
  __m128i bits = vi_choose_(_mm_cmpeq_epi32(exponent, _mm_setzero_si128()), subnormal, normal);
  bits = vi_choose_(special, _mm_or_si128(_mm_add_epi32(normal, rebias), quiet), bits);
  return _mm_castsi128_ps(_mm_or_si128(bits, sign));
}
MLUOP_INLINE __m128i vf_to_halves_(vf v) { /* one in each 32-bit lane, sign-extended */
  const __m128i bits = _mm_castps_si128(v);
  const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
  const __m128i sign = _mm_slli_epi32(_mm_srai_epi32(bits, 31), 15);
  const __m128i shifted = _mm_srli_epi32(magnitude, 13);
  const __m128i odd = _mm_and_si128(shifted, _mm_set1_epi32(1));
  const __m128i rounding = _mm_add_epi32(odd, _mm_set1_epi32(0xfff - 0x38000000));
  const __m128i normal = _mm_srli_epi32(_mm_add_epi32(magnitude, rounding), 13);
  const __m128i subnormal =
      _mm_sub_epi32(_mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0.5f))),
                    _mm_set1_epi32(0x3f000000));
  const __m128i payload = _mm_and_si128(shifted, _mm_set1_epi32(0x3ff));
  const __m128i nan = _mm_or_si128(payload, _mm_set1_epi32(0x7e00));
  const __m128i is_small = _mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x38800000));
  const __m128i is_large = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x477fffff));
  const __m128i is_nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000));
  __m128i half = vi_choose_(is_small, subnormal, normal);
  half = vi_choose_(is_large, _mm_set1_epi32(0x7c00), half);
  half = vi_choose_(is_nan, nan, half);
  return _mm_or_si128(half, sign);
}
MLUOP_INLINE vf vf_load_half(const uint16_t *p) {
  const __m128i halves = _mm_loadl_epi64((const __m128i *)(const void *)p);
  return vf_of_halves_(_mm_unpacklo_epi16(halves, _mm_setzero_si128()));
}
MLUOP_INLINE void vf_store_half(uint16_t *p, vf v) {
  const __m128i halves = vf_to_halves_(v);
  _mm_storel_epi64((__m128i *)(void *)p, _mm_packs_epi32(halves, halves));
}
MLUOP_INLINE vf vf_narrow_to_half(vf a, vf b) {
  return _mm_castsi128_ps(_mm_packs_epi32(vf_to_halves_(a), vf_to_halves_(b)));
}
MLUOP_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
MLUOP_INLINE void vf_store_sums4(float *to, vf a, vf b, vf c, vf d) {
  const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
  const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
  const __m128 sums = _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
  _mm_storeu_ps(to, sums);
}
MLUOP_INLINE float vf_sum(vf v) {
  const __m128 two = _mm_add_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
MLUOP_INLINE void vf_transpose(vf rows[VL]) {
  _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
}
MLUOP_INLINE void vf_transpose_eights(vf rows[8]) {
  __m128i a[8], b[8];
  for (int i = 0; i < 4; i++) {
    const __m128i x = _mm_castps_si128(rows[2 * i]), y = _mm_castps_si128(rows[2 * i + 1]);
    a[i] = _mm_unpacklo_epi16(x, y);
    a[i + 4] = _mm_unpackhi_epi16(x, y);
  }
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 4; i++) {
    const __m128i x = b[i / 2 * 4 + i % 2], y = b[i / 2 * 4 + i % 2 + 2];
    rows[2 * i] = _mm_castsi128_ps(_mm_unpacklo_epi64(x, y));
    rows[2 * i + 1] = _mm_castsi128_ps(_mm_unpackhi_epi64(x, y));
  }
}

typedef __m128i vi;
typedef __m128 vm;

MLUOP_INLINE vi vi_set(int32_t x) { return _mm_set1_epi32(x); }
MLUOP_INLINE vi vi_load(const int32_t *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}
MLUOP_INLINE void vi_store(int32_t *p, vi v) { _mm_storeu_si128((__m128i *)(void *)p, v); }
MLUOP_INLINE void vi_stream(int32_t *p, vi v) { _mm_stream_si128((__m128i *)(void *)p, v); }
MLUOP_INLINE vm vf_greater(vf a, vf b) { return _mm_cmpgt_ps(a, b); }
MLUOP_INLINE vm vf_at_least(vf a, vf b) { return _mm_cmpge_ps(a, b); }
MLUOP_INLINE vi vi_truncate(vf v) { return _mm_cvttps_epi32(v); }
MLUOP_INLINE vf vf_of_int(vi v) { return _mm_cvtepi32_ps(v); }
MLUOP_INLINE vf vf_max(vf a, vf b) { return _mm_max_ps(a, b); }
MLUOP_INLINE vf vf_min(vf a, vf b) { return _mm_min_ps(a, b); }
MLUOP_INLINE int vm_any(vm m) { return _mm_movemask_ps(m) != 0; }
MLUOP_INLINE vm vf_nonzero(vf v) { return _mm_cmpneq_ps(v, _mm_setzero_ps()); }
MLUOP_INLINE vf vf_select(vm m, vf a, vf b) {
  return _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b));
}
MLUOP_INLINE vi vi_select(vm m, vi a, vi b) {
  return _mm_castps_si128(vf_select(m, _mm_castsi128_ps(a), _mm_castsi128_ps(b)));
}
MLUOP_INLINE vf vf_fma_where(vm m, vf a, vf b, vf c) { return vf_select(m, vf_fma(a, b, c), c); }
MLUOP_INLINE vf vf_table16(const float *table, vi i) {
  int32_t at[VL];
  vi_store(at, i);
  return _mm_setr_ps(table[at[0] & 15], table[at[1] & 15], table[at[2] & 15], table[at[3] & 15]);
}

#include "vector/simd_part.h"

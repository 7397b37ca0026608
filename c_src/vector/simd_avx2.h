/* SPDX-License-Identifier: Apache-2.0 */
/* Included by simd.h only. AVX2, FMA, F16C. */
#include <immintrin.h>

enum { VL = 8 };
typedef __m256 vf;

MLUOP_INLINE __m256i vf_first_(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

MLUOP_INLINE vf vf_set(float x) { return _mm256_set1_ps(x); }
MLUOP_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
MLUOP_INLINE void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
/* Past the caches; p is aligned to the vector. vf_stream_end orders what was streamed. */
MLUOP_INLINE void vf_stream(float *p, vf v) { _mm256_stream_ps(p, v); }
MLUOP_INLINE void vf_stream_one(float *p, float x) {
  _mm_stream_si32((int *)(void *)p, (int)mluop_bits_of_float(x));
}
MLUOP_INLINE void vf_stream_end(void) { _mm_sfence(); }
MLUOP_INLINE vf vf_load_part(const float *p, int64_t n) {
  return _mm256_maskload_ps(p, vf_first_(n));
}
MLUOP_INLINE void vf_store_part(float *p, vf v, int64_t n) {
  _mm256_maskstore_ps(p, vf_first_(n), v);
}
MLUOP_INLINE vf vf_load_half(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
/* Masks are for pairs of halves. The last half is loaded alone: if n is odd, it is in no pair; if n
   is even, it is put where it is already. (A copy of n halves to memory first took 2.7 times as
   long.) */
MLUOP_INLINE vf vf_load_half_part(const uint16_t *p, int64_t n) {
  const __m128i places = _mm_setr_epi16(1, 2, 3, 4, 5, 6, 7, 8);
  const __m128i count = _mm_set1_epi16((short)n);
  if (n == 0) return _mm256_setzero_ps();
  const __m128i pairs =
      _mm_maskload_epi32((const int *)(const void *)p,
                         _mm_cmpgt_epi32(_mm_set1_epi32((int)(n / 2)), _mm_setr_epi32(0, 1, 2, 3)));
  const __m128i last =
      _mm_and_si128(_mm_set1_epi16((short)p[n - 1]), _mm_cmpeq_epi16(places, count));
  return _mm256_cvtph_ps(_mm_or_si128(pairs, last));
}
MLUOP_INLINE void vf_store_half(uint16_t *p, vf v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
MLUOP_INLINE void vf_store_half_part(uint16_t *p, vf v, int64_t n) {
  uint16_t copy[VL];
  vf_store_half(copy, v);
  memcpy(p, copy, (size_t)n * sizeof(*p));
}
MLUOP_INLINE vf vf_narrow_to_half(vf a, vf b) {
  const __m256i low = _mm256_castsi128_si256(_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  const __m128i high = _mm256_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
  return _mm256_castsi256_ps(_mm256_inserti128_si256(low, high, 1));
}
MLUOP_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
MLUOP_INLINE void vf_store_sums4(float *to, vf a, vf b, vf c, vf d) {
  const __m256 halves = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  const __m128 sums = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
  _mm_storeu_ps(to, sums);
}
MLUOP_INLINE float vf_sum(vf v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
MLUOP_INLINE __m256i vf_span_(int64_t begin, int64_t end) {
  const int64_t first = begin < 0 ? 0 : begin > VL ? VL : begin;
  const int64_t last = end < 0 ? 0 : end > VL ? VL : end;
  return _mm256_andnot_si256(vf_first_(first), vf_first_(last));
}
MLUOP_INLINE vf vf_load_span(const float *p, int64_t begin, int64_t end) {
  return _mm256_maskload_ps(p, vf_span_(begin, end));
}
MLUOP_INLINE void vf_store_span(float *p, vf v, int64_t begin, int64_t end) {
  _mm256_maskstore_ps(p, vf_span_(begin, end), v);
}
MLUOP_INLINE vf vf_load_split(int64_t n, const float *a, const float *b) {
  return _mm256_or_ps(_mm256_maskload_ps(a, vf_span_(0, n)),
                      _mm256_maskload_ps(b, vf_span_(n, VL)));
}
MLUOP_INLINE vf vf_load_split_half(int64_t n, const uint16_t *a, const uint16_t *b) {
  uint16_t copy[VL];
  for (int64_t i = 0; i < VL; i++) copy[i] = i < n ? a[i] : b[i];
  return vf_load_half(copy);
}
MLUOP_INLINE void vf_store_split(int64_t n, float *a, float *b, vf v) {
  _mm256_maskstore_ps(a, vf_span_(0, n), v);
  _mm256_maskstore_ps(b, vf_span_(n, VL), v);
}
MLUOP_INLINE void vf_transpose_runs(vf rows[2]) {
  const vf low = _mm256_permute2f128_ps(rows[0], rows[1], 0x20);
  rows[1] = _mm256_permute2f128_ps(rows[0], rows[1], 0x31);
  rows[0] = low;
}
MLUOP_INLINE void vf_unzip_runs(vf rows[2]) { vf_transpose_runs(rows); }
MLUOP_INLINE void vf_zip_runs(vf rows[2]) { vf_transpose_runs(rows); }
MLUOP_INLINE void vf_transpose(vf rows[VL]) {
  vf t[VL];
  for (int i = 0; i < VL; i += 2) {
    t[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < VL; i += 4) {
    rows[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    rows[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    rows[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    rows[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    t[i] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31);
  }
  for (int i = 0; i < VL; i++) rows[i] = t[i];
}
MLUOP_INLINE vf vf_load_fours(const float *p, int64_t step) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + step), 1);
}
MLUOP_INLINE vf vf_load_eights(const float *p, int64_t step) {
  (void)step;
  return vf_load(p);
}
MLUOP_INLINE void vf_store_eights(float *p, int64_t step, vf v) {
  (void)step;
  vf_store(p, v);
}
MLUOP_INLINE void vf_store_fours(float *p, int64_t step, vf v) {
  _mm_storeu_ps(p, _mm256_castps256_ps128(v));
  _mm_storeu_ps(p + step, _mm256_extractf128_ps(v, 1));
}
MLUOP_INLINE void vf_transpose_fours(vf rows[4]) {
  const vf t0 = _mm256_unpacklo_ps(rows[0], rows[1]), t1 = _mm256_unpackhi_ps(rows[0], rows[1]);
  const vf t2 = _mm256_unpacklo_ps(rows[2], rows[3]), t3 = _mm256_unpackhi_ps(rows[2], rows[3]);
  rows[0] = _mm256_shuffle_ps(t0, t2, 0x44);
  rows[1] = _mm256_shuffle_ps(t0, t2, 0xee);
  rows[2] = _mm256_shuffle_ps(t1, t3, 0x44);
  rows[3] = _mm256_shuffle_ps(t1, t3, 0xee);
}
MLUOP_INLINE void vf_transpose_eights(vf rows[8]) {
  __m256i a[8], b[8];
  for (int i = 0; i < 4; i++) {
    const __m256i x = _mm256_castps_si256(rows[2 * i]), y = _mm256_castps_si256(rows[2 * i + 1]);
    a[i] = _mm256_unpacklo_epi16(x, y);
    a[i + 4] = _mm256_unpackhi_epi16(x, y);
  }
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 4; i++) {
    const __m256i x = b[i / 2 * 4 + i % 2], y = b[i / 2 * 4 + i % 2 + 2];
    rows[2 * i] = _mm256_castsi256_ps(_mm256_unpacklo_epi64(x, y));
    rows[2 * i + 1] = _mm256_castsi256_ps(_mm256_unpackhi_epi64(x, y));
  }
}

typedef __m256i vi;
typedef __m256 vm;

MLUOP_INLINE vi vi_set(int32_t x) { return _mm256_set1_epi32(x); }
MLUOP_INLINE vi vi_load(const int32_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
MLUOP_INLINE void vi_store(int32_t *p, vi v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
MLUOP_INLINE void vi_stream(int32_t *p, vi v) { _mm256_stream_si256((__m256i *)(void *)p, v); }
MLUOP_INLINE vi vi_load_part(const int32_t *p, int64_t n) {
  return _mm256_maskload_epi32(p, vf_first_(n));
}
MLUOP_INLINE void vi_store_part(int32_t *p, vi v, int64_t n) {
  _mm256_maskstore_epi32(p, vf_first_(n), v);
}
MLUOP_INLINE vm vf_greater(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
MLUOP_INLINE vm vf_at_least(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
MLUOP_INLINE vi vi_truncate(vf v) { return _mm256_cvttps_epi32(v); }
MLUOP_INLINE vf vf_of_int(vi v) { return _mm256_cvtepi32_ps(v); }
MLUOP_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
MLUOP_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
MLUOP_INLINE int vm_any(vm m) { return _mm256_movemask_ps(m) != 0; }
MLUOP_INLINE vm vf_nonzero(vf v) { return _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NEQ_UQ); }
MLUOP_INLINE vf vf_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
MLUOP_INLINE vi vi_select(vm m, vi a, vi b) {
  return _mm256_castps_si256(vf_select(m, _mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}
MLUOP_INLINE vf vf_fma_where(vm m, vf a, vf b, vf c) { return vf_select(m, vf_fma(a, b, c), c); }
MLUOP_INLINE vf vf_table16(const float *table, vi i) {
  const vf low = _mm256_permutevar8x32_ps(vf_load(table), i);
  const vf high = _mm256_permutevar8x32_ps(vf_load(table + VL), i);
  return vf_select(_mm256_castsi256_ps(_mm256_slli_epi32(i, 28)), high, low);
}

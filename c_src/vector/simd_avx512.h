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
MLUOP_INLINE void vf_stream_one(float *p, float x) {
  _mm_stream_si32((int *)(void *)p, (int)mluop_bits_of_float(x));
}
MLUOP_INLINE void vf_stream_end(void) { _mm_sfence(); }
/* Up to half a vector is moved as such: what crosses a line takes twice as long, whatever the mask
   says. */
MLUOP_INLINE vf vf_load_part(const float *p, int64_t n) {
  if (n <= VL / 2) {
    return _mm512_zextps256_ps512(_mm256_maskz_loadu_ps((__mmask8)vf_first_(n), p));
  }
  return _mm512_maskz_loadu_ps(vf_first_(n), p);
}
MLUOP_INLINE void vf_store_part(float *p, vf v, int64_t n) {
  if (n <= VL / 2) {
    _mm256_mask_storeu_ps(p, (__mmask8)vf_first_(n), _mm512_castps512_ps256(v));
    return;
  }
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
MLUOP_INLINE vf vf_narrow_to_half(vf a, vf b) {
  const __m512i low = _mm512_castsi256_si512(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  const __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
  return _mm512_castsi512_ps(_mm512_inserti64x4(low, high, 1));
}
MLUOP_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
MLUOP_INLINE void vf_store_sums4(float *to, vf a, vf b, vf c, vf d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 quarters = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(1, 0, 1, 0)),
                                        _mm512_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 2, 3, 2)));
  const __m256 halves =
      _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps(quarters, 1));
  const __m128 sums = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
  _mm_storeu_ps(to, sums);
}
MLUOP_INLINE float vf_sum(vf v) { return _mm512_reduce_add_ps(v); }
MLUOP_INLINE __mmask16 vf_span_(int64_t begin, int64_t end) {
  const int64_t first = begin < 0 ? 0 : begin > VL ? VL : begin;
  const int64_t last = end < first ? first : end > VL ? VL : end;
  return (__mmask16)(vf_first_(last) & ~vf_first_(first));
}
MLUOP_INLINE vf vf_load_span(const float *p, int64_t begin, int64_t end) {
  return _mm512_maskz_loadu_ps(vf_span_(begin, end), p);
}
MLUOP_INLINE void vf_store_span(float *p, vf v, int64_t begin, int64_t end) {
  _mm512_mask_storeu_ps(p, vf_span_(begin, end), v);
}
MLUOP_INLINE vf vf_load_split(int64_t n, const float *a, const float *b) {
  const __mmask16 from_a = vf_span_(0, n);
  return _mm512_mask_loadu_ps(_mm512_maskz_loadu_ps((__mmask16)~from_a, b), from_a, a);
}
MLUOP_INLINE vf vf_load_split_half(int64_t n, const uint16_t *a, const uint16_t *b) {
  const __mmask16 from_a = vf_span_(0, n);
  return _mm512_cvtph_ps(
      _mm256_mask_loadu_epi16(_mm256_maskz_loadu_epi16((__mmask16)~from_a, b), from_a, a));
}
MLUOP_INLINE void vf_store_split(int64_t n, float *a, float *b, vf v) {
  const __mmask16 to_a = vf_span_(0, n);
  _mm512_mask_storeu_ps(a, to_a, v);
  _mm512_mask_storeu_ps(b, (__mmask16)~to_a, v);
}
MLUOP_INLINE vf vf_pairs_(vf a, vf b, int high) {
  const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
}
MLUOP_INLINE void vf_transpose_runs(vf rows[4]) {
  const vf t0 = _mm512_shuffle_f32x4(rows[0], rows[1], 0x88);
  const vf t1 = _mm512_shuffle_f32x4(rows[0], rows[1], 0xdd);
  const vf t2 = _mm512_shuffle_f32x4(rows[2], rows[3], 0x88);
  const vf t3 = _mm512_shuffle_f32x4(rows[2], rows[3], 0xdd);
  rows[0] = _mm512_shuffle_f32x4(t0, t2, 0x88);
  rows[1] = _mm512_shuffle_f32x4(t1, t3, 0x88);
  rows[2] = _mm512_shuffle_f32x4(t0, t2, 0xdd);
  rows[3] = _mm512_shuffle_f32x4(t1, t3, 0xdd);
}
MLUOP_INLINE void vf_unzip_runs(vf rows[2]) {
  const vf even = _mm512_shuffle_f32x4(rows[0], rows[1], 0x88);
  rows[1] = _mm512_shuffle_f32x4(rows[0], rows[1], 0xdd);
  rows[0] = even;
}
MLUOP_INLINE void vf_zip_runs(vf rows[2]) {
  const __m512d a = _mm512_castps_pd(rows[0]), b = _mm512_castps_pd(rows[1]);
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  rows[0] = _mm512_castpd_ps(_mm512_permutex2var_pd(a, low, b));
  rows[1] = _mm512_castpd_ps(_mm512_permutex2var_pd(a, high, b));
}
MLUOP_INLINE void vf_transpose(vf rows[VL]) {
  vf t[VL];
  for (int i = 0; i < VL; i += 2) {
    t[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  /* 4x4 blocks along the four 128-bit lanes ... */
  for (int i = 0; i < VL; i += 4) {
    rows[i] = vf_pairs_(t[i], t[i + 2], 0);
    rows[i + 1] = vf_pairs_(t[i], t[i + 2], 1);
    rows[i + 2] = vf_pairs_(t[i + 1], t[i + 3], 0);
    rows[i + 3] = vf_pairs_(t[i + 1], t[i + 3], 1);
  }
  /* ... and then the 4x4 matrix of those blocks. */
  for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; i++) {
    rows[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    rows[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    rows[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}
MLUOP_INLINE vf vf_load_fours(const float *p, int64_t step) {
  const __m512 one = _mm512_castps128_ps512(_mm_loadu_ps(p));
  const __m512 two = _mm512_insertf32x4(one, _mm_loadu_ps(p + step), 1);
  const __m512 three = _mm512_insertf32x4(two, _mm_loadu_ps(p + 2 * step), 2);
  return _mm512_insertf32x4(three, _mm_loadu_ps(p + 3 * step), 3);
}
MLUOP_INLINE vf vf_load_eights(const float *p, int64_t step) {
  const __m512 one = _mm512_castps256_ps512(_mm256_loadu_ps(p));
  return _mm512_insertf32x8(one, _mm256_loadu_ps(p + step), 1);
}
MLUOP_INLINE void vf_store_eights(float *p, int64_t step, vf v) {
  _mm256_storeu_ps(p, _mm512_castps512_ps256(v));
  _mm256_storeu_ps(p + step, _mm512_extractf32x8_ps(v, 1));
}
MLUOP_INLINE void vf_store_fours(float *p, int64_t step, vf v) {
  _mm_storeu_ps(p, _mm512_castps512_ps128(v));
  _mm_storeu_ps(p + step, _mm512_extractf32x4_ps(v, 1));
  _mm_storeu_ps(p + 2 * step, _mm512_extractf32x4_ps(v, 2));
  _mm_storeu_ps(p + 3 * step, _mm512_extractf32x4_ps(v, 3));
}
MLUOP_INLINE void vf_transpose_fours(vf rows[4]) {
  const vf t0 = _mm512_unpacklo_ps(rows[0], rows[1]), t1 = _mm512_unpackhi_ps(rows[0], rows[1]);
  const vf t2 = _mm512_unpacklo_ps(rows[2], rows[3]), t3 = _mm512_unpackhi_ps(rows[2], rows[3]);
  rows[0] = vf_pairs_(t0, t2, 0);
  rows[1] = vf_pairs_(t0, t2, 1);
  rows[2] = vf_pairs_(t1, t3, 0);
  rows[3] = vf_pairs_(t1, t3, 1);
}
MLUOP_INLINE void vf_transpose_eights(vf rows[8]) {
  __m512i a[8], b[8];
  for (int i = 0; i < 4; i++) {
    const __m512i x = _mm512_castps_si512(rows[2 * i]), y = _mm512_castps_si512(rows[2 * i + 1]);
    a[i] = _mm512_unpacklo_epi16(x, y);
    a[i + 4] = _mm512_unpackhi_epi16(x, y);
  }
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 4; i++) {
    const __m512i x = b[i / 2 * 4 + i % 2], y = b[i / 2 * 4 + i % 2 + 2];
    rows[2 * i] = _mm512_castsi512_ps(_mm512_unpacklo_epi64(x, y));
    rows[2 * i + 1] = _mm512_castsi512_ps(_mm512_unpackhi_epi64(x, y));
  }
}

typedef __m512i vi;
typedef __mmask16 vm;

MLUOP_INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
MLUOP_INLINE vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
MLUOP_INLINE void vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, v); }
MLUOP_INLINE void vi_stream(int32_t *p, vi v) { _mm512_stream_si512((void *)p, v); }
MLUOP_INLINE vi vi_load_part(const int32_t *p, int64_t n) {
  return _mm512_maskz_loadu_epi32(vf_first_(n), p);
}
MLUOP_INLINE void vi_store_part(int32_t *p, vi v, int64_t n) {
  _mm512_mask_storeu_epi32(p, vf_first_(n), v);
}
MLUOP_INLINE vm vf_greater(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
MLUOP_INLINE vm vf_at_least(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
MLUOP_INLINE vi vi_truncate(vf v) { return _mm512_cvttps_epi32(v); }
MLUOP_INLINE vf vf_of_int(vi v) { return _mm512_cvtepi32_ps(v); }
MLUOP_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
MLUOP_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
MLUOP_INLINE int vm_any(vm m) { return m != 0; }
MLUOP_INLINE vm vf_nonzero(vf v) { return _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ); }
MLUOP_INLINE vf vf_select(vm m, vf a, vf b) { return _mm512_mask_mov_ps(b, m, a); }
MLUOP_INLINE vi vi_select(vm m, vi a, vi b) { return _mm512_mask_mov_epi32(b, m, a); }
MLUOP_INLINE vf vf_fma_where(vm m, vf a, vf b, vf c) { return _mm512_mask3_fmadd_ps(a, b, c, m); }
MLUOP_INLINE vf vf_table16(const float *table, vi i) {
  return _mm512_permutexvar_ps(i, vf_load(table));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Included by the headers of instruction sets that have no loads and stores with masks, whose
   vectors have four floats: parts of a vector are put together, for not a byte past them may be
   touched. */

/* At any address, as halves are also moved two at a time. */
MLUOP_INLINE float vf_load_one_(const float *p) {
  float value;
  memcpy(&value, p, sizeof(value));
  return value;
}

MLUOP_INLINE vf vf_load_part(const float *p, int64_t n) {
  if (n == VL) return vf_load(p);
  return (vf){n > 0 ? vf_load_one_(p) : 0.0f, n > 1 ? vf_load_one_(p + 1) : 0.0f,
              n > 2 ? vf_load_one_(p + 2) : 0.0f, 0.0f};
}
MLUOP_INLINE void vf_store_part(float *p, vf v, int64_t n) {
  float copy[VL];
  vf_store(copy, v);
  memcpy(p, copy, (size_t)n * sizeof(*p));
}
MLUOP_INLINE vf vf_load_half_part(const uint16_t *p, int64_t n) {
  uint16_t copy[VL] = {0};
  memcpy(copy, p, (size_t)n * sizeof(*p));
  return vf_load_half(copy);
}
MLUOP_INLINE void vf_store_half_part(uint16_t *p, vf v, int64_t n) {
  uint16_t copy[VL];
  vf_store_half(copy, v);
  memcpy(p, copy, (size_t)n * sizeof(*p));
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
MLUOP_INLINE vf vf_load_split(int64_t n, const float *a, const float *b) {
  if (n >= VL) return vf_load(a);
  if (n <= 0) return vf_load(b);
  float copy[VL];
  for (int64_t i = 0; i < VL; i++) copy[i] = i < n ? a[i] : b[i];
  return vf_load(copy);
}
MLUOP_INLINE vf vf_load_split_half(int64_t n, const uint16_t *a, const uint16_t *b) {
  uint16_t copy[VL];
  for (int64_t i = 0; i < VL; i++) copy[i] = i < n ? a[i] : b[i];
  return vf_load_half(copy);
}
MLUOP_INLINE void vf_store_split(int64_t n, float *a, float *b, vf v) {
  if (n > 0) vf_store_span(a, v, 0, n);
  if (n < VL) vf_store_span(b, v, n, VL);
}
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
MLUOP_INLINE vf vf_load_fours(const float *p, int64_t step) {
  (void)step;
  return vf_load(p);
}
MLUOP_INLINE vf vf_load_eights(const float *p, int64_t step) {
  (void)step;
  return vf_load(p);
}
MLUOP_INLINE void vf_unzip_runs(vf rows[2]) { (void)rows; }
MLUOP_INLINE void vf_zip_runs(vf rows[2]) { (void)rows; }
MLUOP_INLINE void vf_store_eights(float *p, int64_t step, vf v) {
  (void)step;
  vf_store(p, v);
}
MLUOP_INLINE void vf_store_fours(float *p, int64_t step, vf v) {
  (void)step;
  vf_store(p, v);
}
MLUOP_INLINE void vf_transpose_fours(vf rows[4]) { vf_transpose(rows); }
MLUOP_INLINE void vf_transpose_runs(vf rows[1]) { (void)rows; }

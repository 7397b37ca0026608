/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/bin.h"
#include "shared/roi_pool/kernels.h"
#include "shared/roi_pool/roi.h"

/* --------------------------------------------------------------------- RoIs and their bins */

/* As many samples as pixels, rounded up; a NaN makes none, what is beyond an int its maximum. */
static int32_t grid_of(float bin, int64_t sampling_ratio) {
  if (sampling_ratio > 0) return (int32_t)sampling_ratio;
  if (!(bin > 0.0f)) return 0;
  if (bin >= 2147483648.0f) return INT32_MAX;
  const int32_t whole = (int32_t)bin;
  return whole + ((float)whole < bin);
}

/* One read, whatever the compiler would like: the value that is judged is the one that is used. */
static inline float read_once(const void *from, int64_t i, int is_half) {
  if (is_half) {
    uint16_t half;
    __atomic_load((const uint16_t *)from + i, &half, __ATOMIC_RELAXED);
    return mluop_load_as(&half, 0, 1);
  }
  float value;
  __atomic_load((const float *)from + i, &value, __ATOMIC_RELAXED);
  return value;
}

/* A size that the plan has memory for. No sample of an infinite one lies on the map. */
static inline int is_planned(float size, float most) {
  return roi_pool_within(size, most) || !roi_pool_is_finite(size);
}

/* A RoI that is no longer what the plan has seen has no samples. */
static struct roi_pool_roi roi_at(const struct roi_pool_args *a, int64_t r) {
  float row[5];
  for (int i = 0; i < 5; i++) row[i] = read_once(a->data.rois_data, r * 5 + i, a->shape.is_half);
  const float scale = a->shape.spatial_scale;
  const int known = roi_pool_has_image(row[0], a->shape.N), aligned = a->shape.is_aligned;
  struct roi_pool_roi roi = {.image = known ? (int32_t)row[0] : 0,
                             .x = roi_pool_on_map(row[1], scale, aligned),
                             .y = roi_pool_on_map(row[2], scale, aligned)};
  roi.width = roi_pool_size(roi.x, roi_pool_on_map(row[3], scale, aligned), aligned);
  roi.height = roi_pool_size(roi.y, roi_pool_on_map(row[4], scale, aligned), aligned);
  roi.bin_w = roi.width / (float)a->shape.pooled_w;
  roi.bin_h = roi.height / (float)a->shape.pooled_h;
  if (known && is_planned(roi.bin_w, a->plan.max_bin_w) &&
      is_planned(roi.bin_h, a->plan.max_bin_h)) {
    roi.grid_w = grid_of(roi.bin_w, a->shape.sampling_ratio);
    roi.grid_h = grid_of(roi.bin_h, a->shape.sampling_ratio);
  }
  return roi;
}

static struct roi_pool_bin bin_at(const struct roi_pool_args *a, const struct roi_pool_roi *roi,
                                  int64_t r, int64_t ph, int64_t pw) {
  const int64_t plane = a->shape.pooled_h * a->shape.pooled_w, in_roi = ph * a->shape.pooled_w + pw;
  float x = roi->x, y = roi->y;
  if (a->data.offset != NULL) {
    const int64_t at = r * 2 * plane + in_roi;
    x += a->shape.gamma * roi->width * read_once(a->data.offset, at, a->shape.is_half);
    y += a->shape.gamma * roi->height * read_once(a->data.offset, at + plane, a->shape.is_half);
  }
  return (struct roi_pool_bin){x + (float)pw * roi->bin_w, y + (float)ph * roi->bin_h, (uint32_t)r,
                               (uint32_t)(r * plane + in_roi)};
}

static uint32_t bucket_of(const struct roi_pool_args *a, const struct roi_pool_roi *roi,
                          const struct roi_pool_bin *bin) {
  const struct roi_pool_buckets *buckets = &a->buckets;
  const int64_t y = middle_pixel(bin->y, roi->bin_h, a->shape.H) >> buckets->shift;
  const int64_t x = middle_pixel(bin->x, roi->bin_w, a->shape.W) >> buckets->shift;
  const int64_t strip = roi->image * buckets->strips + (x >> buckets->strip_shift);
  const int64_t in_strip = x & ((INT64_C(1) << buckets->strip_shift) - 1);
  return (uint32_t)(((strip * buckets->down + y) << buckets->strip_shift) + in_strip);
}

/* Item: a RoI. Its bins, or, where they are put in order, their buckets. */
void MLUOP_VARIANT(roi_pool_locate)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  int64_t index = begin * a->shape.pooled_h * a->shape.pooled_w;
  for (int64_t r = begin; r < end; r++) {
    const struct roi_pool_roi roi = roi_at(a, r);
    a->memory.rois[r] = roi;
    for (int64_t ph = 0; ph < a->shape.pooled_h; ph++) {
      for (int64_t pw = 0; pw < a->shape.pooled_w; pw++, index++) {
        const struct roi_pool_bin bin = bin_at(a, &roi, r, ph, pw);
        if (a->memory.keys == NULL) {
          a->memory.bins[index] = bin;
        } else {
          a->memory.keys[index] = bucket_of(a, &roi, &bin);
        }
      }
    }
  }
}

/* One item: a counting sort of all bins by bucket; those of a bucket keep their order. Only their
   places are found: that takes a quarter of the memory. */
void MLUOP_VARIANT(roi_pool_sort)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)begin;
  (void)end;
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  const int64_t bins = a->shape.R * a->shape.pooled_h * a->shape.pooled_w;
  uint32_t *next = a->memory.bucket_starts, total = 0;
  memset(next, 0, (size_t)a->buckets.count * sizeof(*next));
  for (int64_t i = 0; i < bins; i++) next[a->memory.keys[i]]++;
  for (int64_t b = 0; b < a->buckets.count; b++) {
    const uint32_t count = next[b];
    next[b] = total;
    total += count;
  }
  for (int64_t i = 0; i < bins; i++) a->memory.keys[i] = next[a->memory.keys[i]]++;
}

/* Item: a RoI. Puts its bins into their places. */
void MLUOP_VARIANT(roi_pool_place)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  int64_t index = begin * a->shape.pooled_h * a->shape.pooled_w;
  for (int64_t r = begin; r < end; r++) {
    for (int64_t ph = 0; ph < a->shape.pooled_h; ph++) {
      for (int64_t pw = 0; pw < a->shape.pooled_w; pw++, index++) {
        a->memory.bins[a->memory.keys[index]] = bin_at(a, &a->memory.rois[r], r, ph, pw);
      }
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/deform_roi_pool/bin.h"
#include "families/deform_roi_pool/kernels.h"

/* --------------------------------------------------------------------- RoIs and their bins */

/* As many samples as pixels, rounded up; a NaN makes none, what is beyond an int its maximum. */
static int32_t grid_of(float bin, int64_t sampling_ratio) {
  if (sampling_ratio > 0) return (int32_t)sampling_ratio;
  if (!(bin > 0.0f)) return 0;
  if (bin >= 2147483648.0f) return INT32_MAX;
  const int32_t whole = (int32_t)bin;
  return whole + ((float)whole < bin);
}

static struct deform_roi_pool_roi roi_at(const struct deform_roi_pool_args *a, int64_t r) {
  float row[5];
  for (int i = 0; i < 5; i++) row[i] = mluop_load_as(a->rois_data, r * 5 + i, a->is_half);
  const float x2 = row[3] * a->spatial_scale - 0.5f, y2 = row[4] * a->spatial_scale - 0.5f;
  struct deform_roi_pool_roi roi = {.image = (int32_t)row[0],
                                    .x = row[1] * a->spatial_scale - 0.5f,
                                    .y = row[2] * a->spatial_scale - 0.5f};
  roi.width = x2 - roi.x;
  roi.height = y2 - roi.y;
  roi.bin_w = roi.width / (float)a->pooled_w;
  roi.bin_h = roi.height / (float)a->pooled_h;
  roi.grid_w = grid_of(roi.bin_w, a->sampling_ratio);
  roi.grid_h = grid_of(roi.bin_h, a->sampling_ratio);
  return roi;
}

static struct deform_roi_pool_bin bin_at(const struct deform_roi_pool_args *a,
                                         const struct deform_roi_pool_roi *roi, int64_t r,
                                         int64_t ph, int64_t pw) {
  const int64_t plane = a->pooled_h * a->pooled_w, in_roi = ph * a->pooled_w + pw;
  float x = roi->x, y = roi->y;
  if (a->offset != NULL) {
    const int64_t at = r * 2 * plane + in_roi;
    x += a->gamma * roi->width * mluop_load_as(a->offset, at, a->is_half);
    y += a->gamma * roi->height * mluop_load_as(a->offset, at + plane, a->is_half);
  }
  return (struct deform_roi_pool_bin){x + (float)pw * roi->bin_w, y + (float)ph * roi->bin_h,
                                      (uint32_t)r, (uint32_t)(r * plane + in_roi)};
}

static uint32_t block_of(const struct deform_roi_pool_args *a,
                         const struct deform_roi_pool_roi *roi,
                         const struct deform_roi_pool_bin *bin) {
  const struct deform_roi_pool_blocks *blocks = &a->blocks;
  const int64_t y = middle_pixel(bin->y, roi->bin_h, a->H) >> blocks->shift;
  const int64_t x = middle_pixel(bin->x, roi->bin_w, a->W) >> blocks->shift;
  const int64_t strip = roi->image * blocks->strips + (x >> blocks->strip_shift);
  const int64_t in_strip = x & ((INT64_C(1) << blocks->strip_shift) - 1);
  return (uint32_t)(((strip * blocks->down + y) << blocks->strip_shift) + in_strip);
}

/* Item: a RoI. */
void MLUOP_VARIANT(deform_roi_pool_locate)(const void *vargs, int64_t begin, int64_t end,
                                           void *scratch) {
  (void)scratch;
  const struct deform_roi_pool_args *a = vargs;
  int64_t index = begin * a->pooled_h * a->pooled_w;
  for (int64_t r = begin; r < end; r++) {
    const struct deform_roi_pool_roi roi = roi_at(a, r);
    a->rois[r] = roi;
    for (int64_t ph = 0; ph < a->pooled_h; ph++) {
      for (int64_t pw = 0; pw < a->pooled_w; pw++, index++) {
        const struct deform_roi_pool_bin bin = bin_at(a, &roi, r, ph, pw);
        a->unsorted_bins[index] = bin;
        if (a->keys != NULL) a->keys[index] = block_of(a, &roi, &bin);
      }
    }
  }
}

/* One item: a counting sort of all bins by block; those of a block keep their order. */
void MLUOP_VARIANT(deform_roi_pool_sort)(const void *vargs, int64_t begin, int64_t end,
                                         void *scratch) {
  (void)begin;
  (void)end;
  (void)scratch;
  const struct deform_roi_pool_args *a = vargs;
  const int64_t bins = a->R * a->pooled_h * a->pooled_w;
  uint32_t *next = a->block_starts, total = 0;
  memset(next, 0, (size_t)a->blocks.count * sizeof(*next));
  for (int64_t i = 0; i < bins; i++) next[a->keys[i]]++;
  for (int64_t b = 0; b < a->blocks.count; b++) {
    const uint32_t count = next[b];
    next[b] = total;
    total += count;
  }
  for (int64_t i = 0; i < bins; i++) a->bins[next[a->keys[i]]++] = a->unsorted_bins[i];
}

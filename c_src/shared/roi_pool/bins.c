/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/bin.h"
#include "shared/roi_pool/kernels.h"

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

/* Where an edge of a RoI lies on the map. Pixels have their centres at whole numbers; aligned RoIs
   count from their edges. */
static inline float on_map(const struct roi_pool_args *a, float edge) {
  return edge * a->shape.spatial_scale - (a->shape.is_aligned ? 0.5f : 0.0f);
}

/* From one edge to the other. A RoI that is not aligned has one pixel at least, also if it is NaN.
 */
static inline float size_of(const struct roi_pool_args *a, float low, float high) {
  const float size = high - low;
  return a->shape.is_aligned || size > 1.0f ? size : 1.0f;
}

/* A RoI whose image has changed since the plan looked at it, and does not exist, has no samples. */
static struct roi_pool_roi roi_at(const struct roi_pool_args *a, int64_t r) {
  float row[5];
  for (int i = 0; i < 5; i++) row[i] = read_once(a->data.rois_data, r * 5 + i, a->shape.is_half);
  const int known = roi_pool_has_image(row[0], a->shape.N);
  struct roi_pool_roi roi = {
      .image = known ? (int32_t)row[0] : 0, .x = on_map(a, row[1]), .y = on_map(a, row[2])};
  roi.width = size_of(a, roi.x, on_map(a, row[3]));
  roi.height = size_of(a, roi.y, on_map(a, row[4]));
  roi.bin_w = roi.width / (float)a->shape.pooled_w;
  roi.bin_h = roi.height / (float)a->shape.pooled_h;
  if (known) {
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

/* Item: a RoI. And the buckets of its bins, if they are put in order. */
void MLUOP_VARIANT(roi_pool_locate)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  int64_t index = begin * a->shape.pooled_h * a->shape.pooled_w;
  for (int64_t r = begin; r < end; r++) {
    const struct roi_pool_roi roi = roi_at(a, r);
    a->memory.rois[r] = roi;
    if (a->memory.keys == NULL) continue;
    for (int64_t ph = 0; ph < a->shape.pooled_h; ph++) {
      for (int64_t pw = 0; pw < a->shape.pooled_w; pw++, index++) {
        const struct roi_pool_bin bin = bin_at(a, &roi, r, ph, pw);
        a->memory.keys[index] = bucket_of(a, &roi, &bin);
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
  const int64_t bins = roi_pool_bins(a);
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

static struct roi_pool_box box_of(const struct roi_pool_args *a, const struct roi_pool_roi *roi,
                                  const struct roi_pool_bin *bin) {
  const struct axes axes = axes_of(a, bin);
  const struct range rows = reach(&axes.y), cols = reach(&axes.x);
  const int64_t first = roi->image * a->shape.H;
  if (rows.end == 0 || cols.end == 0) return (struct roi_pool_box){INT32_MAX, 0, INT32_MAX, 0};
  return (struct roi_pool_box){(int32_t)(first + rows.begin), (int32_t)(first + rows.end),
                               (int32_t)cols.begin, (int32_t)cols.end};
}

/* Item: a RoI. Puts its bins into their places, for the backward with their boxes. */
void MLUOP_VARIANT(roi_pool_place)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  int64_t index = begin * a->shape.pooled_h * a->shape.pooled_w;
  for (int64_t r = begin; r < end; r++) {
    const struct roi_pool_roi *roi = &a->memory.rois[r];
    for (int64_t ph = 0; ph < a->shape.pooled_h; ph++) {
      for (int64_t pw = 0; pw < a->shape.pooled_w; pw++, index++) {
        const struct roi_pool_bin bin = bin_at(a, roi, r, ph, pw);
        const int64_t item = a->memory.keys == NULL ? index : a->memory.keys[index];
        a->memory.bins[item] = bin;
        if (a->memory.boxes != NULL) a->memory.boxes[item] = box_of(a, roi, &bin);
        if (a->memory.slopes != NULL) {
          memset(a->memory.slopes + item * ROI_POOL_SLOPES, 0,
                 ROI_POOL_SLOPES * sizeof(*a->memory.slopes));
        }
      }
    }
  }
}

/* Item: a run of bins, of which it finds the box. */
void MLUOP_VARIANT(roi_pool_runs)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  const int64_t bins = roi_pool_bins(a);
  for (int64_t run = begin; run < end; run++) {
    const int64_t first = run << a->memory.run_shift, last = (run + 1) << a->memory.run_shift;
    struct roi_pool_box all = {INT32_MAX, 0, INT32_MAX, 0};
    for (int64_t i = first; i < last && i < bins; i++) {
      const struct roi_pool_box *box = &a->memory.boxes[i];
      all.top = box->top < all.top ? box->top : all.top;
      all.bottom = box->bottom > all.bottom ? box->bottom : all.bottom;
      all.left = box->left < all.left ? box->left : all.left;
      all.right = box->right > all.right ? box->right : all.right;
    }
    a->memory.runs[run] = all;
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_BIN_H_
#define MLUOP_SHARED_ROI_POOL_BIN_H_

/* Where the samples of a bin lie. Everything in float32, one rounding per operation, in a fixed
   order: every CPU samples the same points. */

#include <float.h>

#include "shared/roi_pool/job.h"
#include "vector/simd.h"

/* One axis of a bin: sample i of `grid` lies at start + (i + 0.5) * bin / grid. */
struct axis {
  float start, bin;
  int64_t grid, extent; /* samples; pixels of the map */
};

MLUOP_INLINE struct axis axis_y(const struct roi_pool_args *a, const struct roi_pool_roi *roi,
                                float start) {
  return (struct axis){start, roi->bin_h, roi->grid_h, a->shape.H};
}

MLUOP_INLINE struct axis axis_x(const struct roi_pool_args *a, const struct roi_pool_roi *roi,
                                float start) {
  return (struct axis){start, roi->bin_w, roi->grid_w, a->shape.W};
}

/* The pixel in the middle of a bin, or the one nearest to it: only for the order of the bins. */
static inline int64_t middle_pixel(float start, float bin, int64_t extent) {
  const float middle = start + 0.5f * bin;
  if (!(middle > 0.0f)) return 0;
  return middle < (float)(extent - 1) ? (int64_t)middle : extent - 1;
}

/* Copies floats past the caches, the ends one by one: a line that is stored partly past the caches
   and partly through them is slow. */
static inline void stream_run(float *to, const float *from, int64_t count) {
  const int64_t past = (int64_t)((uintptr_t)to % (VL * sizeof(float)) / sizeof(float));
  int64_t i = past == 0 ? 0 : VL - past < count ? VL - past : count;
  for (int64_t k = 0; k < i; k++) vf_stream_one(to + k, from[k]);
  for (; i + VL <= count; i += VL) vf_stream(to + i, vf_load(from + i));
  for (; i < count; i++) vf_stream_one(to + i, from[i]);
}

static inline void stream_zeros(float *to, int64_t count) {
  const int64_t past = (int64_t)((uintptr_t)to % (VL * sizeof(float)) / sizeof(float));
  int64_t i = past == 0 ? 0 : VL - past < count ? VL - past : count;
  for (int64_t k = 0; k < i; k++) vf_stream_one(to + k, 0.0f);
  for (; i + VL <= count; i += VL) vf_stream(to + i, vf_set(0.0f));
  for (; i < count; i++) vf_stream_one(to + i, 0.0f);
}

/* The samples of an axis numbered by growing coordinate, also when the RoI is inverted. Rounding is
   monotone, so this never falls as i grows. */
MLUOP_INLINE float sample_at(const struct axis *axis, int64_t i) {
  const int64_t k = axis->bin < 0.0f ? axis->grid - 1 - i : i;
  return axis->start + ((float)k + 0.5f) * axis->bin / (float)axis->grid;
}

/* The first sample in [begin, end) whose coordinate is at least `bound`, or end. */
static inline int64_t first_sample_from(const struct axis *axis, int64_t begin, int64_t end,
                                        float bound) {
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (sample_at(axis, middle) >= bound) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

/* The next float above a finite one. */
MLUOP_INLINE float next_above(float x) {
  if (x == 0.0f) return mluop_float_of_bits(1);
  return mluop_float_of_bits(mluop_bits_of_float(x) + (x < 0.0f ? UINT32_MAX : 1u));
}

struct range {
  int64_t begin, end;
};

/* The samples that touch a pixel in [clip.begin, clip.end) of the axis, and perhaps their
   neighbours. A coordinate between -1 and 0 touches the pixels 0 and 1, one between extent - 1 and
   extent the last one. With a start or bin that is not finite every sample is infinite or NaN:
   outside. */
MLUOP_INLINE struct range samples_within(const struct axis *axis, struct range clip) {
  struct range range = {0, axis->grid};
  if (axis->grid <= 0 || !(axis->start >= -FLT_MAX && axis->start <= FLT_MAX) ||
      !(axis->bin >= -FLT_MAX && axis->bin <= FLT_MAX)) {
    range.end = 0;
    return range;
  }
  const float lower = clip.begin > 1 ? (float)(clip.begin - 1) : -1.0f;
  const float upper = next_above((float)clip.end);
  if (!(sample_at(axis, 0) >= lower)) range.begin = first_sample_from(axis, 1, range.end, lower);
  if (sample_at(axis, axis->grid - 1) >= upper) {
    range.end = first_sample_from(axis, range.begin, range.end - 1, upper);
  }
  return range;
}

/* Stores some channels of a bin as elements of `out`, which has them all. */
MLUOP_INLINE void store_sums(const struct roi_pool_args *a, const float *sums,
                             struct range channels, int is_half, void *out) {
  const int64_t count = channels.end - channels.begin;
  if (!is_half && a->plan.stream) {
    stream_run((float *)out + channels.begin, sums + channels.begin, count);
    return;
  }
  int64_t c = channels.begin;
  for (; c + VL <= channels.end; c += VL) vf_store_as(out, c, vf_load(sums + c), is_half);
  const int64_t rest = channels.end - c;
  if (rest > 0) vf_store_part_as(out, c, vf_load_part(sums + c, rest), rest, is_half);
}

#endif /* MLUOP_SHARED_ROI_POOL_BIN_H_ */

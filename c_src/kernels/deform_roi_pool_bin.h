/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_DEFORM_ROI_POOL_BIN_H_
#define MLUOP_KERNELS_DEFORM_ROI_POOL_BIN_H_

/* Where the samples of a bin lie. Everything in float32, one rounding per operation, in a fixed
   order: every CPU samples the same points. */

#include <float.h>

#include "kernels/deform_roi_pool.h"
#include "kernels/simd.h"

struct roi {
  int64_t image;
  float x, y, width, height; /* on the map */
  float bin_w, bin_h;
  int64_t grid_w, grid_h; /* samples of a bin; 0: none */
};

/* One axis of a bin: sample i of `grid` lies at start + (i + 0.5) * bin / grid. */
struct axis {
  float start, bin;
  int64_t grid, extent; /* samples; pixels of the map */
};

struct bin {
  int64_t image;
  struct axis y, x;
};

/* As many samples as pixels, rounded up; a NaN makes none, what is beyond an int its maximum. */
MLUOP_INLINE int64_t grid_of(float bin, int64_t sampling_ratio) {
  if (sampling_ratio > 0) return sampling_ratio;
  if (!(bin > 0.0f)) return 0;
  if (bin >= 2147483648.0f) return INT32_MAX;
  const int64_t whole = (int64_t)bin;
  return whole + ((float)whole < bin);
}

MLUOP_INLINE struct roi roi_at(const struct deform_roi_pool_args *a, int64_t r) {
  float row[5];
  for (int i = 0; i < 5; i++) row[i] = mluop_load_as(a->rois, r * 5 + i, a->is_half);
  const float x2 = row[3] * a->spatial_scale - 0.5f, y2 = row[4] * a->spatial_scale - 0.5f;
  struct roi roi = {.image = (int64_t)row[0],
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

/* Bin (ph, pw) of RoI r. */
MLUOP_INLINE struct bin bin_of(const struct deform_roi_pool_args *a, const struct roi *roi,
                               int64_t r, int64_t ph, int64_t pw) {
  float x = roi->x, y = roi->y;
  if (a->offset != NULL) {
    const int64_t plane = a->pooled_h * a->pooled_w;
    const int64_t at = r * 2 * plane + ph * a->pooled_w + pw;
    x += a->gamma * roi->width * mluop_load_as(a->offset, at, a->is_half);
    y += a->gamma * roi->height * mluop_load_as(a->offset, at + plane, a->is_half);
  }
  const struct bin bin = {
      .image = roi->image,
      .y = {y + (float)ph * roi->bin_h, roi->bin_h, roi->grid_h, a->H},
      .x = {x + (float)pw * roi->bin_w, roi->bin_w, roi->grid_w, a->W},
  };
  return bin;
}

MLUOP_INLINE struct bin bin_at(const struct deform_roi_pool_args *a, int64_t index) {
  const int64_t plane = a->pooled_h * a->pooled_w;
  const int64_t r = index / plane, in_roi = index % plane;
  const struct roi roi = roi_at(a, r);
  return bin_of(a, &roi, r, in_roi / a->pooled_w, in_roi % a->pooled_w);
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
   neighbours. A coordinate between -1 and 0, or between extent - 1 and extent, touches the pixel at
   the rim. With a start or bin that is not finite every sample is infinite or NaN: outside. */
MLUOP_INLINE struct range samples_within(const struct axis *axis, struct range clip) {
  struct range range = {0, axis->grid};
  if (axis->grid <= 0 || !(axis->start >= -FLT_MAX && axis->start <= FLT_MAX) ||
      !(axis->bin >= -FLT_MAX && axis->bin <= FLT_MAX)) {
    range.end = 0;
    return range;
  }
  const float lower = (float)(clip.begin - 1), upper = next_above((float)clip.end);
  if (!(sample_at(axis, 0) >= lower)) range.begin = first_sample_from(axis, 1, range.end, lower);
  if (sample_at(axis, axis->grid - 1) >= upper) {
    range.end = first_sample_from(axis, range.begin, range.end - 1, upper);
  }
  return range;
}

#endif /* MLUOP_KERNELS_DEFORM_ROI_POOL_BIN_H_ */

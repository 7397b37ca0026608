/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_BIN_H_
#define MLUOP_SHARED_ROI_POOL_BIN_H_

/* Where the samples of a bin lie. Everything in float32, one rounding per operation, in a fixed
   order: every CPU samples the same points. And how a bin is read and stored. */

#include <float.h>

#include "shared/move.h"
#include "shared/roi_pool/job.h"

/* One axis of a bin: sample i of `grid` lies at start + (i + 0.5) * bin / grid. */
struct axis {
  float start, bin;
  int64_t grid, extent; /* samples; pixels of the map */
};

struct axes {
  struct axis y, x;
};

MLUOP_INLINE struct axes axes_of(const struct roi_pool_args *a, const struct roi_pool_bin *bin) {
  const struct roi_pool_roi *roi = &a->memory.rois[bin->roi];
  return (struct axes){{bin->y, roi->bin_h, roi->grid_h, a->shape.H},
                       {bin->x, roi->bin_w, roi->grid_w, a->shape.W}};
}

/* The pixel in the middle of a bin, or the one nearest to it: only for the order of the bins. */
static inline int64_t middle_pixel(float start, float bin, int64_t extent) {
  const float middle = start + 0.5f * bin;
  if (!(middle > 0.0f)) return 0;
  return middle < (float)(extent - 1) ? (int64_t)middle : extent - 1;
}

/* The samples of an axis numbered by growing coordinate, also when the RoI is inverted. Rounding is
   monotone, so this never falls as i grows. */
MLUOP_INLINE float sample_at(const struct axis *axis, int64_t i) {
  const int64_t k = axis->bin < 0.0f ? axis->grid - 1 - i : i;
  return axis->start + ((float)k + 0.5f) * axis->bin / (float)axis->grid;
}

/* The same axis, for samples that are computed if there are any: compilers divide by the grid
   before that is known, and 0 would raise a floating-point exception. */
MLUOP_INLINE struct axis safe_axis(const struct axis *axis) {
  struct axis safe = *axis;
  safe.grid = mluop_opaque(axis->grid > 0 ? axis->grid : 1);
  return safe;
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

/* The pixels of an axis from the first one that samples touch to the last one; none if all samples
   are outside. */
static inline struct range reach(const struct axis *axis) {
  const struct axis some = safe_axis(axis);
  if (axis->grid <= 0) return (struct range){0, 0};
  const float first = sample_at(&some, 0), last = sample_at(&some, some.grid - 1);
  const float rim = (float)axis->extent; /* perhaps rounded */
  if (!(last >= -1.0f && first <= rim)) return (struct range){0, 0};
  const int64_t end = axis->extent - 1;
  const int64_t low = first > 0.0f ? (int64_t)first : 0;
  const int64_t high = last < rim ? (last > 0.0f ? (int64_t)last : 0) + 1 : end;
  return (struct range){low < end ? low : end, (high < end ? high : end) + 1};
}

/* A vector of channels from `at`, or the first `part` of one. */
MLUOP_INLINE vf load_channels(const void *from, int64_t at, int64_t part, int is_half) {
  return part == VL ? vf_load_as(from, at, is_half) : vf_load_part_as(from, at, part, is_half);
}

/* Stores floats, or zeros without `from`, past the caches. The ends go one by one: a line that is
   stored partly past the caches and partly through them is slow. */
MLUOP_INLINE void stream_run(float *to, const float *from, int64_t count) {
  const int64_t head = floats_to_line(to);
  const vf zero = vf_set(0.0f);
  int64_t i = 0;
  for (; i < head && i < count; i++) vf_stream_one(to + i, from == NULL ? 0.0f : from[i]);
  for (; i + VL <= count; i += VL) vf_stream(to + i, from == NULL ? zero : vf_load(from + i));
  for (; i < count; i++) vf_stream_one(to + i, from == NULL ? 0.0f : from[i]);
}

/* Stores floats as elements of `out` from `at`, past the caches if results are. */
MLUOP_INLINE void store_run(const struct roi_pool_args *a, const float *from, int64_t count,
                            int is_half, void *out, int64_t at) {
  if (!is_half && a->plan.stream) {
    stream_run((float *)out + at, from, count);
    return;
  }
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store_as(out, at + i, vf_load(from + i), is_half);
  const int64_t rest = count - i;
  if (rest > 0) vf_store_part_as(out, at + i, vf_load_part(from + i, rest), rest, is_half);
}

/* Of the gradient of a bin up to so many bytes are prefetched, while so many bins before it are
   worked on: in the order of the map they are scattered over memory. */
enum { PREFETCH_GRADIENT = 1 << 12, AHEAD = 4 };

MLUOP_INLINE void prefetch_gradient(const struct roi_pool_args *a, int64_t item) {
  const int64_t bytes = a->shape.C * (a->shape.is_half ? 2 : 4);
  mluop_prefetch_bytes(a->data.grad_output, a->memory.bins[item].index * bytes,
                       mluop_min(bytes, PREFETCH_GRADIENT));
}

#endif /* MLUOP_SHARED_ROI_POOL_BIN_H_ */

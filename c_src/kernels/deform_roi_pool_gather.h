/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_DEFORM_ROI_POOL_GATHER_H_
#define MLUOP_KERNELS_DEFORM_ROI_POOL_GATHER_H_

/* What forward and grad_offset share: they read all pixels of a bin. */

#include "kernels/deform_roi_pool_taps.h"

/* Of the pixels of a bin, so many bytes are prefetched. */
enum { PREFETCH_BYTES = 1 << 14 };

struct bin_taps {
  const struct deform_roi_pool_roi *roi;
  int64_t index, rows, cols;
  struct deform_roi_pool_tap *row, *col;
};

/* Memory for the taps of `count` bins, one or two. Returns what is behind it. */
MLUOP_INLINE float *place_taps(const struct deform_roi_pool_args *a, void *scratch, int count,
                               struct bin_taps *taps) {
  struct deform_roi_pool_tap *memory = scratch;
  for (int i = 0; i < count; i++, memory += a->max_taps_h + a->max_taps_w) {
    taps[i].row = memory;
    taps[i].col = memory + a->max_taps_h;
  }
  return (float *)(void *)memory;
}

MLUOP_INLINE int64_t row_of_pixels(const struct deform_roi_pool_args *a,
                                   const struct bin_taps *taps, int64_t i) {
  return (taps->roi->image * a->H + taps->row[i].at) * a->W;
}

MLUOP_INLINE void describe_bin(const struct deform_roi_pool_args *a, int64_t item, int slopes,
                               struct bin_taps *taps) {
  const struct deform_roi_pool_bin *bin = &a->bins[item];
  taps->roi = &a->rois[bin->roi];
  taps->index = bin->index;
  const struct axis y = axis_y(a, taps->roi, bin->y), x = axis_x(a, taps->roi, bin->x);
  taps->cols = 0;
  taps->rows = axis_taps(&y, (struct range){0, a->H}, slopes, taps->row);
  if (taps->rows > 0) taps->cols = axis_taps(&x, (struct range){0, a->W}, slopes, taps->col);
}

/* Sets the pixels of a bin on their way into the cache. */
static inline void prefetch_pixels(const struct deform_roi_pool_args *a,
                                   const struct bin_taps *taps) {
  const int64_t bytes = a->C * (a->is_half ? 2 : 4);
  int64_t budget = PREFETCH_BYTES;
  for (int64_t i = 0; i < taps->rows && budget > 0; i++) {
    const char *row = (const char *)a->input + row_of_pixels(a, taps, i) * bytes;
    for (int64_t j = 0; j < taps->cols && budget > 0; j++, budget -= bytes) {
      const char *pixel = row + taps->col[j].at * bytes;
      const int64_t reach = bytes < budget ? bytes : budget;
      for (int64_t b = 0; b < reach; b += 64) mluop_prefetch(pixel + b);
    }
  }
}

#endif /* MLUOP_KERNELS_DEFORM_ROI_POOL_GATHER_H_ */

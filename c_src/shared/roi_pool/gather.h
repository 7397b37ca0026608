/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_GATHER_H_
#define MLUOP_SHARED_ROI_POOL_GATHER_H_

/* What forward and grad_offset share: they read all pixels of a bin. */

#include "shared/roi_pool/taps.h"

struct bin_taps {
  const struct roi_pool_roi *roi;
  int64_t index, rows, cols;
  struct roi_pool_tap *row, *col;
};

/* Memory for the taps of `count` bins, one or two. Returns what is behind it. */
MLUOP_INLINE float *place_taps(const struct roi_pool_args *a, void *scratch, int count,
                               struct bin_taps *taps) {
  struct roi_pool_tap *memory = scratch;
  for (int i = 0; i < count; i++, memory += a->plan.max_taps_h + a->plan.max_taps_w) {
    taps[i].row = memory;
    taps[i].col = memory + a->plan.max_taps_h;
  }
  return (float *)(void *)memory;
}

MLUOP_INLINE int64_t row_of_pixels(const struct roi_pool_args *a, const struct bin_taps *taps,
                                   int64_t i) {
  return (taps->roi->image * a->shape.H + taps->row[i].at) * a->shape.W;
}

MLUOP_INLINE void describe_bin(const struct roi_pool_args *a, int64_t item, int slopes,
                               struct bin_taps *taps) {
  const struct roi_pool_bin *bin = &a->memory.bins[item];
  taps->roi = &a->memory.rois[bin->roi];
  taps->index = bin->index;
  const struct axis y = axis_y(a, taps->roi, bin->y), x = axis_x(a, taps->roi, bin->x);
  taps->cols = 0;
  taps->rows = axis_taps(&y, (struct range){0, a->shape.H}, slopes, taps->row);
  if (taps->rows > 0) taps->cols = axis_taps(&x, (struct range){0, a->shape.W}, slopes, taps->col);
}

#endif /* MLUOP_SHARED_ROI_POOL_GATHER_H_ */

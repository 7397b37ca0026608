/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_BATCH_H_
#define MLUOP_SHARED_ROI_POOL_BATCH_H_

/* What a batch of bins does to the pixels of a tile, sorted by pixel: each pixel then takes the
   gradients of its bins in one go, in registers. */

#include "shared/roi_pool/tile.h"

/* Pixels follow each other by strips of so many columns, from the top of the tile to the bottom:
   neighbours have most bins in common. */
MLUOP_INLINE int strip_shift(const struct roi_pool_args *a) {
  return a->tiles.shift_w < 2 ? a->tiles.shift_w : 2;
}

MLUOP_INLINE int has_room(const struct roi_pool_batch *batch, const struct roi_tile *tile) {
  const int64_t pixels = (tile->rows.end - tile->rows.begin) * (tile->cols.end - tile->cols.begin);
  return batch->bin_count < ROI_POOL_BATCH_BINS && batch->tap_count < ROI_POOL_BATCH_TAPS &&
         batch->visit_count + 4 * pixels <= ROI_POOL_BATCH_CONTRIBUTIONS;
}

/* Adds a bin that touches the tile, and returns whether it does. The taps then have for `at` what
   they add to the number of a pixel. */
static inline int take_bin(const struct roi_pool_args *a, const struct roi_tile *tile,
                           struct roi_pool_batch *batch, uint32_t entry) {
  const struct roi_pool_bin *bin = &a->memory.bins[entry];
  const struct roi_pool_roi *roi = &a->memory.rois[bin->roi];
  const struct axis y = axis_y(a, roi, bin->y), x = axis_x(a, roi, bin->x);
  struct roi_pool_tap *row = batch->taps + batch->tap_count;
  const int64_t rows = axis_taps(&y, tile->rows, 1, row);
  if (rows == 0) return 0;
  struct roi_pool_tap *col = row + rows;
  const int64_t cols = axis_taps(&x, tile->cols, 1, col);
  if (cols == 0) return 0;
  const int shift = strip_shift(a);
  const int32_t height = (int32_t)(tile->rows.end - tile->rows.begin), mask = (1 << shift) - 1;
  for (int64_t i = 0; i < rows; i++) row[i].at = (row[i].at - (int32_t)tile->rows.begin) << shift;
  for (int64_t j = 0; j < cols; j++) {
    const int32_t at = col[j].at - (int32_t)tile->cols.begin;
    col[j].at = (at & ~mask) * height + (at & mask);
  }
  const int64_t slot = batch->bin_count++;
  batch->bins[slot].row = row;
  batch->bins[slot].col = col;
  batch->bins[slot].rows = rows;
  batch->bins[slot].cols = cols;
  batch->bins[slot].gradient = bin->index * a->shape.C;
  batch->bins[slot].entry = entry;
  batch->tap_count += rows + cols;
  batch->visit_count += rows * cols;
  memset(batch->slopes[slot], 0, sizeof(batch->slopes[slot]));
  return 1;
}

/* A counting sort by pixel; the contributions of a pixel keep the order of their bins. */
static inline void sort_visits(const struct roi_pool_args *a, struct roi_pool_batch *batch) {
  const int64_t pixels = INT64_C(1) << (a->tiles.shift_h + a->tiles.shift_w);
  /* starts[p + 1] is first where the next contribution of pixel p goes, and in the end its end. */
  uint32_t *starts = batch->starts;
  memset(starts, 0, (size_t)(pixels + 2) * sizeof(*starts));
  for (int64_t b = 0; b < batch->bin_count; b++) {
    const struct roi_pool_tap *row = batch->bins[b].row, *col = batch->bins[b].col;
    for (int64_t i = 0; i < batch->bins[b].rows; i++) {
      for (int64_t j = 0; j < batch->bins[b].cols; j++) starts[row[i].at + col[j].at + 2]++;
    }
  }
  for (int64_t p = 1; p <= pixels; p++) starts[p + 1] += starts[p];
  for (int64_t b = 0; b < batch->bin_count; b++) {
    const struct roi_pool_tap *row = batch->bins[b].row, *col = batch->bins[b].col;
    for (int64_t i = 0; i < batch->bins[b].rows; i++) {
      for (int64_t j = 0; j < batch->bins[b].cols; j++) {
        batch->contributions[starts[row[i].at + col[j].at + 1]++] =
            (struct roi_pool_contribution){(uint32_t)b, row[i].weight * col[j].weight,
                                           row[i].slope * col[j].step, row[i].step * col[j].slope};
      }
    }
  }
}

#endif /* MLUOP_SHARED_ROI_POOL_BATCH_H_ */

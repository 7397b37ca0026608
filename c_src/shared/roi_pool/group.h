/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_GROUP_H_
#define MLUOP_SHARED_ROI_POOL_GROUP_H_

/* What a group of bins does to the pixels of a block, sorted by pixel: each pixel then takes the
   gradients of its bins in one go, in registers. */

#include "shared/roi_pool/block.h"

/* Pixels follow each other by strips of so many columns, from the top of the block to the bottom:
   neighbours have most bins in common. */
MLUOP_INLINE int strip_shift(const struct roi_pool_args *a) {
  return a->blocks.shift_w < 2 ? a->blocks.shift_w : 2;
}

MLUOP_INLINE int has_room(const struct roi_pool_group *group, const struct roi_block *block) {
  const int64_t pixels =
      (block->rows.end - block->rows.begin) * (block->cols.end - block->cols.begin);
  return group->bin_count < ROI_POOL_GROUP_BINS && group->tap_count < ROI_POOL_GROUP_TAPS &&
         group->contribution_count + 4 * pixels <= ROI_POOL_GROUP_CONTRIBUTIONS;
}

/* Adds a bin that touches the block, and returns whether it does. The taps then have for `at` what
   they add to the number of a pixel. */
static inline int take_bin(const struct roi_pool_args *a, const struct roi_block *block,
                           struct roi_pool_group *group, uint32_t entry) {
  const struct roi_pool_bin *bin = &a->memory.bins[entry];
  const struct roi_pool_roi *roi = &a->memory.rois[bin->roi];
  const struct axis y = axis_y(a, roi, bin->y), x = axis_x(a, roi, bin->x);
  struct roi_pool_tap *row = group->taps + group->tap_count;
  const int64_t rows = axis_taps(&y, block->rows, 1, row);
  if (rows == 0) return 0;
  struct roi_pool_tap *col = row + rows;
  const int64_t cols = axis_taps(&x, block->cols, 1, col);
  if (cols == 0) return 0;
  const int shift = strip_shift(a);
  const int32_t height = (int32_t)(block->rows.end - block->rows.begin), mask = (1 << shift) - 1;
  for (int64_t i = 0; i < rows; i++) row[i].at = (row[i].at - (int32_t)block->rows.begin) << shift;
  for (int64_t j = 0; j < cols; j++) {
    const int32_t at = col[j].at - (int32_t)block->cols.begin;
    col[j].at = (at & ~mask) * height + (at & mask);
  }
  const int64_t slot = group->bin_count++;
  group->bins[slot].row = row;
  group->bins[slot].col = col;
  group->bins[slot].rows = rows;
  group->bins[slot].cols = cols;
  group->bins[slot].gradient = bin->index * a->shape.C;
  group->bins[slot].entry = entry;
  group->tap_count += rows + cols;
  group->contribution_count += rows * cols;
  memset(group->slopes[slot], 0, sizeof(group->slopes[slot]));
  return 1;
}

/* A counting sort by pixel; the contributions of a pixel keep the order of their bins. */
static inline void sort_contributions(const struct roi_pool_args *a, struct roi_pool_group *group) {
  const int64_t pixels = INT64_C(1) << (a->blocks.shift_h + a->blocks.shift_w);
  /* starts[p + 1] is first where the next contribution of pixel p goes, and in the end its end. */
  uint32_t *starts = group->starts;
  memset(starts, 0, (size_t)(pixels + 2) * sizeof(*starts));
  for (int64_t b = 0; b < group->bin_count; b++) {
    const struct roi_pool_tap *row = group->bins[b].row, *col = group->bins[b].col;
    for (int64_t i = 0; i < group->bins[b].rows; i++) {
      for (int64_t j = 0; j < group->bins[b].cols; j++) starts[row[i].at + col[j].at + 2]++;
    }
  }
  for (int64_t p = 1; p <= pixels; p++) starts[p + 1] += starts[p];
  for (int64_t b = 0; b < group->bin_count; b++) {
    const struct roi_pool_tap *row = group->bins[b].row, *col = group->bins[b].col;
    for (int64_t i = 0; i < group->bins[b].rows; i++) {
      for (int64_t j = 0; j < group->bins[b].cols; j++) {
        group->contributions[starts[row[i].at + col[j].at + 1]++] =
            (struct roi_pool_contribution){(uint32_t)b, row[i].weight * col[j].weight,
                                           row[i].slope * col[j].step, row[i].step * col[j].slope};
      }
    }
  }
}

#endif /* MLUOP_SHARED_ROI_POOL_GROUP_H_ */

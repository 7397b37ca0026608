/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_BLOCK_H_
#define MLUOP_SHARED_ROI_POOL_BLOCK_H_

/* A block of grad_input: the bins that meet it, and the buffer in which it is summed before it is
   stored. */

#include "shared/roi_pool/taps.h"

struct roi_block {
  int64_t image;
  struct range rows, cols;
  struct roi_pool_box box;
  int64_t next;          /* where to look on in the order of the bins; */
  int64_t found;         /* the next bin that meets the block, -1 if there is none */
  float *sums;           /* of its first pixel */
  int64_t stride, pitch; /* floats from pixel to pixel and from row to row */
  uint8_t touched[ROI_POOL_BLOCK_PIXELS]; /* rows that have sums; the memory of others is not set */
};

/* ------------------------------------------------------------------------------------ bins */

MLUOP_INLINE int meets(const struct roi_pool_box *a, const struct roi_pool_box *b) {
  return a->top < b->bottom && b->top < a->bottom && a->left < b->right && b->left < a->right;
}

/* Finds the next bin that meets the block. After each run of bins the call may end. */
static inline void find_bin(const struct roi_pool_args *a, struct roi_block *block) {
  const int64_t bins = roi_pool_bins(a), run = INT64_C(1) << a->memory.run_shift;
  while (block->next < bins) {
    if ((block->next & (run - 1)) == 0) {
      if (!meets(&a->memory.runs[block->next >> a->memory.run_shift], &block->box)) {
        block->next += run;
        continue;
      }
      if (mluop_interrupted(a->interrupt)) break;
    }
    block->found = block->next++;
    if (meets(&a->memory.boxes[block->found], &block->box)) {
      prefetch_gradient(a, block->found);
      return;
    }
  }
  block->next = bins;
  block->found = -1;
}

/* The places of the bins that meet a block, in their order; -1 at the end. The gradient of the next
   one is prefetched. */
MLUOP_INLINE int64_t next_bin(const struct roi_pool_args *a, struct roi_block *block) {
  const int64_t item = block->found;
  if (item >= 0) find_bin(a, block);
  return item;
}

/* Finds a block, of which nothing is touched. Pixels are filled up to whole vectors. */
static inline void start_block(const struct roi_pool_args *a, int64_t number, float *buffer,
                               struct roi_block *block) {
  const struct roi_pool_blocks *blocks = &a->blocks;
  const int64_t row = number / blocks->across, col = number % blocks->across;
  block->image = row / blocks->down;
  block->rows =
      part_of((struct range){0, a->shape.H}, row % blocks->down, INT64_C(1) << blocks->shift_h);
  block->cols = part_of((struct range){0, a->shape.W}, col, INT64_C(1) << blocks->shift_w);
  const int64_t first = block->image * a->shape.H;
  block->box = (struct roi_pool_box){(int32_t)(first + block->rows.begin),
                                     (int32_t)(first + block->rows.end), (int32_t)block->cols.begin,
                                     (int32_t)block->cols.end};
  block->stride = (a->shape.C + VL - 1) / VL * VL;
  block->pitch = (block->cols.end - block->cols.begin) * block->stride;
  block->sums = buffer;
  const size_t rows = (size_t)(block->rows.end - block->rows.begin);
  memset(block->touched, 0, rows);
  block->next = 0;
  find_bin(a, block);
}

/* Whether blocks keep the slopes of a bin for grad_offset: those that it meets differ in whether
   their row and column are odd. */
MLUOP_INLINE int keeps_slopes(const struct roi_pool_args *a, int64_t item) {
  if (a->memory.slopes == NULL) return 0;
  const struct roi_pool_box *box = &a->memory.boxes[item];
  const int64_t first = a->memory.rois[a->memory.bins[item].roi].image * a->shape.H;
  const int shift_h = a->blocks.shift_h, shift_w = a->blocks.shift_w;
  return ((box->bottom - 1 - first) >> shift_h) - ((box->top - first) >> shift_h) < 2 &&
         ((box->right - 1) >> shift_w) - (box->left >> shift_w) < 2;
}

/* ------------------------------------------------------------------------------------ sums */

/* Makes the sums of a row 0 if nothing has been added to it. */
MLUOP_INLINE void touch(struct roi_block *block, int64_t row) {
  if (block->touched[row]) return;
  memset(block->sums + row * block->pitch, 0, (size_t)block->pitch * sizeof(float));
  block->touched[row] = 1;
}

/* Rows and columns are those of the block. */
static inline int64_t pixel_of(const struct roi_pool_args *a, const struct roi_block *block,
                               int64_t row, int64_t col) {
  return ((block->image * a->shape.H + block->rows.begin + row) * a->shape.W + block->cols.begin +
          col) *
         a->shape.C;
}

/* Stores zeros for a row. */
static inline void store_zeros(const struct roi_pool_args *a, const struct roi_block *block,
                               int64_t row) {
  const int64_t element = a->shape.is_half ? 2 : 4;
  const int64_t count = (block->cols.end - block->cols.begin) * a->shape.C;
  char *to = (char *)a->data.grad_input + pixel_of(a, block, row, 0) * element;
  if (a->plan.stream) {
    stream_run((float *)(void *)to, NULL, count);
  } else {
    memset(to, 0, (size_t)(count * element));
  }
}

/* Stores the sums of a row. */
MLUOP_INLINE void store_row(const struct roi_pool_args *a, const struct roi_block *block,
                            int64_t row, int is_half) {
  /* Pixels that are as wide in the block as in grad_input make one run of floats. */
  const int64_t pixels = block->cols.end - block->cols.begin, whole = block->stride == a->shape.C;
  const int64_t runs = whole ? 1 : pixels, length = whole ? pixels * a->shape.C : a->shape.C;
  const float *sums = block->sums + row * block->pitch;
  const int64_t at = pixel_of(a, block, row, 0);
  for (int64_t i = 0; i < runs; i++) {
    store_run(a, sums + i * block->stride, length, is_half, a->data.grad_input, at + i * length);
  }
}

/* Stores the sums of a block, and zeros for the other rows. */
static inline void store_block(const struct roi_pool_args *a, const struct roi_block *block) {
  for (int64_t row = 0; row < block->rows.end - block->rows.begin; row++) {
    if (block->touched[row]) {
      store_row(a, block, row, a->shape.is_half);
    } else {
      store_zeros(a, block, row);
    }
  }
}

#endif /* MLUOP_SHARED_ROI_POOL_BLOCK_H_ */

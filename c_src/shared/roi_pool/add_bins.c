/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/block.h"
#include "shared/roi_pool/kernels.h"

/* The gradient of the map, bin by bin: each pixel of a bin on the block takes its gradient. */

/* Vectors of channels whose gradients are held in registers at once. */
enum { VECTORS = VL == 16 ? 16 : 8 };

/* Adds `count` vectors of channels from c, or one of `part` channels. */
MLUOP_INLINE void add_vectors(const struct roi_pool_args *a, const struct roi_block *block,
                              const struct roi_pool_bin_taps *taps, int64_t c, int count,
                              int64_t part, int is_half) {
  vf gradient[VECTORS];
  MLUOP_UNROLL
  for (int k = 0; k < count; k++) {
    gradient[k] = load_channels(a->data.grad_output, taps->pooled + c + k * VL, part, is_half);
  }
  float *sums = block->sums - block->cols.begin * block->stride + c;
  for (int64_t i = 0; i < taps->rows; i++) {
    float *row = sums + (taps->row[i].at - block->rows.begin) * block->pitch;
    for (int64_t j = 0; j < taps->cols; j++) {
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      float *sum = row + taps->col[j].at * block->stride;
      MLUOP_UNROLL
      for (int k = 0; k < count; k++) {
        vf_store(sum + k * VL, vf_fma(weight, gradient[k], vf_load(sum + k * VL)));
      }
    }
  }
}

MLUOP_INLINE void add_bin(const struct roi_pool_args *a, const struct roi_block *block,
                          const struct roi_pool_bin_taps *taps, int is_half) {
  int64_t c = 0;
  MLUOP_UNROLL
  for (int count = VECTORS; count > 0; count /= 2) {
    for (; c + count * VL <= a->shape.C; c += count * VL) {
      add_vectors(a, block, taps, c, count, VL, is_half);
    }
  }
  if (c < a->shape.C) add_vectors(a, block, taps, c, 1, a->shape.C - c, is_half);
}

/* Item: a block of grad_input. It belongs to one thread, which adds the bins in their order: the
   sum for an element does not depend on the number of threads. */
void MLUOP_VARIANT(roi_pool_add_bins)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct roi_pool_args *a = vargs;
  struct roi_pool_group *group = (void *)((char *)scratch + a->blocks.buffer_bytes);
  struct roi_pool_bin_taps taps = {.row = group->taps};
  struct roi_block block;
  for (int64_t number = begin; number < end; number++) {
    start_block(a, number, scratch, &block);
    for (int64_t item; (item = next_bin(a, &block)) >= 0;) {
      if (!find_taps(a, item, block.rows, block.cols, 0, &taps)) continue;
      for (int64_t i = 0; i < taps.rows; i++) touch(&block, taps.row[i].at - block.rows.begin);
      if (a->shape.is_half) {
        add_bin(a, &block, &taps, 1);
      } else {
        add_bin(a, &block, &taps, 0);
      }
    }
    store_block(a, &block);
  }
  if (a->plan.stream) vf_stream_end();
}

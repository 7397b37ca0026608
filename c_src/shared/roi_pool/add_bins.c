/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/block.h"
#include "shared/roi_pool/kernels.h"

/* Both gradients where few bins touch a pixel, bin by bin: each pixel of a bin on the block takes
   its gradient, and gives its part of the slopes. */

/* Vectors of channels whose gradients are held in registers at once. */
enum { VECTORS = VL == 16 ? 16 : 8 };

/* The gradient of a bin is prefetched while so many bins before it are added. */
enum { AHEAD = 4 };

/* The taps of a bin on a block. */
struct tap_lists {
  struct roi_pool_tap *row, *col;
  int64_t index, rows, cols;
};

/* Sums over channels, a lane each: gradient times the slope of the value. */
struct slopes {
  vf x, y;
};

/* Where row i of the pixels of a bin would begin with the first column of the map: in the sums, and
   in the map. */
MLUOP_INLINE int64_t sums_of(const struct roi_block *block, const struct tap_lists *taps,
                             int64_t i) {
  return (taps->row[i].at - block->rows.begin) * block->pitch - block->cols.begin * block->stride;
}

MLUOP_INLINE int64_t pixels_of(const struct roi_pool_args *a, const struct roi_block *block,
                               const struct tap_lists *taps, int64_t i) {
  return (block->image * a->shape.H + taps->row[i].at) * a->shape.W * a->shape.C;
}

/* Adds `count` vectors of channels from c. A pixel is multiplied by the gradient first: it is
   loaded once for both slopes. Without `want_slopes` the map is not read. */
MLUOP_INLINE void add_vectors(const struct roi_pool_args *a, const struct roi_block *block,
                              const struct tap_lists *taps, int64_t c, int count, int want_slopes,
                              int is_half, struct slopes *slopes) {
  const int64_t at = taps->index * a->shape.C + c;
  vf gradient[VECTORS];
  for (int k = 0; k < count; k++)
    gradient[k] = vf_load_as(a->data.grad_output, at + k * VL, is_half);
  vf x = slopes->x, y = slopes->y;
  for (int64_t i = 0; i < taps->rows; i++) {
    const struct roi_pool_tap *row = &taps->row[i];
    const int64_t sums = sums_of(block, taps, i) + c, pixels = pixels_of(a, block, taps, i) + c;
    for (int64_t j = 0; j < taps->cols; j++) {
      const struct roi_pool_tap *col = &taps->col[j];
      const vf weight = vf_set(row->weight * col->weight);
      float *sum = block->sums + sums + col->at * block->stride;
      for (int k = 0; k < count; k++) {
        vf_store(sum + k * VL, vf_fma(weight, gradient[k], vf_load(sum + k * VL)));
      }
      if (!want_slopes) continue;
      const int64_t pixel = pixels + col->at * a->shape.C;
      vf product[4];
      for (int k = 0; k < 4; k++) product[k] = vf_set(0.0f);
      for (int k = 0; k < count; k++) {
        const vf value = vf_load_as(a->data.input, pixel + k * VL, is_half);
        product[k % 4] = vf_fma(gradient[k], value, product[k % 4]);
      }
      const vf sum_of = (product[0] + product[1]) + (product[2] + product[3]);
      x = vf_fma(vf_set(row->slope * col->step), sum_of, x);
      y = vf_fma(vf_set(row->step * col->slope), sum_of, y);
    }
  }
  slopes->x = x;
  slopes->y = y;
}

/* The same for one vector, or a part of one: little is done for each pixel, as much as possible for
   a row of them. `filled` if the sums of a pixel are whole vectors. */
MLUOP_INLINE void add_vector(const struct roi_pool_args *a, const struct roi_block *block,
                             const struct tap_lists *taps, int64_t c, int64_t part, int filled,
                             int want_slopes, int is_half, struct slopes *slopes) {
  const int64_t at = taps->index * a->shape.C + c, sum_stride = block->stride,
                pixel_stride = a->shape.C;
  const vf gradient = vf_load_part_as(a->data.grad_output, at, part, is_half);
  vf x = vf_set(0.0f), y = x;
  for (int64_t i = 0; i < taps->rows; i++) {
    const struct roi_pool_tap *row = &taps->row[i];
    const int64_t sums = sums_of(block, taps, i) + c, pixels = pixels_of(a, block, taps, i) + c;
    const vf weighted = vf_set(row->weight) * gradient;
    vf row_x = vf_set(0.0f), row_y = row_x;
    for (int64_t j = 0; j < taps->cols; j++) {
      const struct roi_pool_tap *col = &taps->col[j];
      float *sum = block->sums + sums + col->at * sum_stride;
      if (filled) {
        vf_store(sum, vf_fma(vf_set(col->weight), weighted, vf_load(sum)));
      } else {
        const vf before = vf_load_part(sum, part);
        vf_store_part(sum, vf_fma(vf_set(col->weight), weighted, before), part);
      }
      if (!want_slopes) continue;
      const vf pixel =
          vf_load_part_as(a->data.input, pixels + col->at * pixel_stride, part, is_half);
      row_x = vf_fma(vf_set(col->step), pixel, row_x);
      row_y = vf_fma(vf_set(col->slope), pixel, row_y);
    }
    x = vf_fma(vf_set(row->slope), row_x, x);
    y = vf_fma(vf_set(row->step), row_y, y);
  }
  slopes->x = vf_fma(x, gradient, slopes->x);
  slopes->y = vf_fma(y, gradient, slopes->y);
}

/* Fewer channels than a vector has. */
MLUOP_INLINE void add_rest(const struct roi_pool_args *a, const struct roi_block *block,
                           const struct tap_lists *taps, int64_t c, int want_slopes, int is_half,
                           struct slopes *slopes) {
  if (a->plan.in_place) {
    add_vector(a, block, taps, c, a->shape.C - c, 0, want_slopes, is_half, slopes);
  } else {
    add_vector(a, block, taps, c, a->shape.C - c, 1, want_slopes, is_half, slopes);
  }
}

/* A map of one channel. */
MLUOP_INLINE struct roi_pool_slopes add_single(const struct roi_pool_args *a,
                                               const struct roi_block *block,
                                               const struct tap_lists *taps, int want_slopes,
                                               int is_half) {
  const float gradient = mluop_load_as(a->data.grad_output, taps->index, is_half);
  struct roi_pool_slopes slopes = {0.0f, 0.0f};
  for (int64_t i = 0; i < taps->rows; i++) {
    const struct roi_pool_tap *row = &taps->row[i];
    const int64_t sums = sums_of(block, taps, i), pixels = pixels_of(a, block, taps, i);
    const float weighted = row->weight * gradient;
    float row_x = 0.0f, row_y = 0.0f;
    for (int64_t j = 0; j < taps->cols; j++) {
      const struct roi_pool_tap *col = &taps->col[j];
      block->sums[sums + col->at] += col->weight * weighted;
      if (!want_slopes) continue;
      const float pixel = mluop_load_as(a->data.input, pixels + col->at, is_half);
      row_x += col->step * pixel;
      row_y += col->slope * pixel;
    }
    if (!want_slopes) continue;
    slopes.x += row->slope * row_x;
    slopes.y += row->step * row_y;
  }
  return (struct roi_pool_slopes){slopes.x * gradient, slopes.y * gradient};
}

MLUOP_INLINE void add_channels(const struct roi_pool_args *a, const struct roi_block *block,
                               const struct tap_lists *taps, int want_slopes, int is_half,
                               struct slopes *slopes) {
  int64_t c = 0;
  for (; c + VECTORS * VL <= a->shape.C; c += VECTORS * VL) {
    add_vectors(a, block, taps, c, VECTORS, want_slopes, is_half, slopes);
  }
  for (; c + 4 * VL <= a->shape.C; c += 4 * VL) {
    add_vectors(a, block, taps, c, 4, want_slopes, is_half, slopes);
  }
  if (c + 2 * VL <= a->shape.C) {
    add_vectors(a, block, taps, c, 2, want_slopes, is_half, slopes);
    c += 2 * VL;
  }
  for (; c + VL <= a->shape.C; c += VL) {
    add_vector(a, block, taps, c, VL, 1, want_slopes, is_half, slopes);
  }
  if (c < a->shape.C) add_rest(a, block, taps, c, want_slopes, is_half, slopes);
}

/* Finds the taps of a bin on the block, and returns whether there are any. */
static inline int find_taps(const struct roi_pool_args *a, const struct roi_block *block,
                            const struct roi_pool_bin *bin, int want_slopes,
                            struct tap_lists *taps) {
  const struct roi_pool_roi *roi = &a->memory.rois[bin->roi];
  const struct axis y = axis_y(a, roi, bin->y), x = axis_x(a, roi, bin->x);
  taps->index = bin->index;
  taps->rows = axis_taps(&y, block->rows, want_slopes, taps->row);
  if (taps->rows == 0) return 0;
  taps->cols = axis_taps(&x, block->cols, want_slopes, taps->col);
  return taps->cols != 0;
}

static inline void touch_pixels(struct roi_block *block, const struct tap_lists *taps) {
  uint64_t cols = 0;
  for (int64_t j = 0; j < taps->cols; j++) {
    cols |= UINT64_C(1) << (taps->col[j].at - block->cols.begin);
  }
  for (int64_t i = 0; i < taps->rows; i++) touch(block, taps->row[i].at - block->rows.begin, cols);
}

MLUOP_INLINE struct roi_pool_slopes add_bin_as(const struct roi_pool_args *a,
                                               const struct roi_block *block,
                                               const struct tap_lists *taps, int want_slopes,
                                               int is_half) {
  if (a->shape.C == 1) return add_single(a, block, taps, want_slopes, is_half);
  struct slopes slopes = {vf_set(0.0f), vf_set(0.0f)};
  add_channels(a, block, taps, want_slopes, is_half, &slopes);
  if (!want_slopes) return (struct roi_pool_slopes){0};
  return (struct roi_pool_slopes){vf_sum(slopes.x), vf_sum(slopes.y)};
}

/* Returns the slopes of the bin, if they are wanted. */
static struct roi_pool_slopes add_bin(const struct roi_pool_args *a, const struct roi_block *block,
                                      const struct tap_lists *taps, int want_slopes) {
  if (want_slopes) {
    return a->shape.is_half ? add_bin_as(a, block, taps, 1, 1) : add_bin_as(a, block, taps, 1, 0);
  }
  return a->shape.is_half ? add_bin_as(a, block, taps, 0, 1) : add_bin_as(a, block, taps, 0, 0);
}

static void add_list(const struct roi_pool_args *a, struct roi_block *block, int64_t list,
                     struct tap_lists *taps) {
  const struct roi_pool_blocks *blocks = &a->blocks;
  const uint32_t end = blocks->starts[list + 1];
  const int want_slopes = keeps_slopes(a, list);
  for (uint32_t i = blocks->starts[list]; i < end; i++) {
    if (i % ROI_POOL_QUESTION == 0 && mluop_interrupted(a->interrupt)) return;
    if (end - i > AHEAD) prefetch_gradient(a, blocks->entries[i + AHEAD]);
    const uint32_t entry = blocks->entries[i];
    struct roi_pool_slopes slopes = {0};
    if (find_taps(a, block, &a->memory.bins[entry], want_slopes, taps)) {
      if (!a->plan.dense) touch_pixels(block, taps);
      slopes = add_bin(a, block, taps, want_slopes);
    }
    if (want_slopes) *slopes_at(a, entry, list) = slopes;
  }
}

/* Item: a block of grad_input. It belongs to one thread, which adds the bins in the order of the
   lists: the sum for an element does not depend on the number of threads. */
void MLUOP_VARIANT(roi_pool_add_bins)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct roi_pool_args *a = vargs;
  struct tap_lists taps = {.row = (void *)((char *)scratch + a->blocks.buffer_bytes)};
  taps.col = taps.row + a->plan.max_taps_h;
  for (int64_t list = begin; list < end; list++) {
    struct roi_block block;
    start_block(a, list, scratch, &block);
    add_list(a, &block, list, &taps);
    add_list(a, &block, a->blocks.count + block.image, &taps);
    if (!a->plan.in_place) store_block(a, &block);
  }
  if (a->plan.stream) vf_stream_end();
}

/* Item: a row of a grad_input that is summed in place. */
void MLUOP_VARIANT(roi_pool_clear)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  const size_t row = (size_t)(a->shape.W * a->shape.C) * sizeof(float);
  memset((char *)a->data.grad_input + (size_t)begin * row, 0, (size_t)(end - begin) * row);
}

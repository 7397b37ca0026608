/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/deform_roi_pool_tile.h"

/* grad_input, bin by bin: without offsets, or where few bins touch a pixel. */

/* Vectors of channels whose gradients are held in registers at once. */
enum { VECTORS = VL == 16 ? 16 : 8 };

/* The gradient of a bin is prefetched while so many bins before it are added. */
enum { AHEAD = 4 };

/* The taps of a bin on a tile. */
struct bin_taps {
  struct deform_roi_pool_tap *row, *col;
  int64_t index, rows, cols;
};

MLUOP_INLINE float *sums_of(const struct tile *tile, const struct bin_taps *taps, int64_t i,
                            int64_t j) {
  return tile->sums + (taps->row[i].at - tile->rows.begin) * tile->pitch +
         (taps->col[j].at - tile->cols.begin) * tile->stride;
}

/* Adds `count` vectors of channels from c. */
MLUOP_INLINE void add_vectors(const struct deform_roi_pool_args *a, const struct tile *tile,
                              const struct bin_taps *taps, int64_t c, int count, int is_half) {
  const int64_t at = taps->index * a->C + c;
  vf gradient[VECTORS];
  for (int k = 0; k < count; k++) gradient[k] = vf_load_as(a->grad_output, at + k * VL, is_half);
  for (int64_t i = 0; i < taps->rows; i++) {
    for (int64_t j = 0; j < taps->cols; j++) {
      float *sums = sums_of(tile, taps, i, j) + c;
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      for (int k = 0; k < count; k++) {
        vf_store(sums + k * VL, vf_fma(weight, gradient[k], vf_load(sums + k * VL)));
      }
    }
  }
}

/* Adds the last channels, fewer than a vector. */
MLUOP_INLINE void add_rest(const struct deform_roi_pool_args *a, const struct tile *tile,
                           const struct bin_taps *taps, int64_t c, int64_t rest, int is_half) {
  const int64_t at = taps->index * a->C + c;
  const vf gradient = vf_load_part_as(a->grad_output, at, rest, is_half);
  for (int64_t i = 0; i < taps->rows; i++) {
    for (int64_t j = 0; j < taps->cols; j++) {
      float *sums = sums_of(tile, taps, i, j) + c;
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      vf_store_part(sums, vf_fma(weight, gradient, vf_load_part(sums, rest)), rest);
    }
  }
}

MLUOP_INLINE void add_channels(const struct deform_roi_pool_args *a, const struct tile *tile,
                               const struct bin_taps *taps, int is_half) {
  const int64_t channels = a->C;
  int64_t c = 0;
  for (; c + VECTORS * VL <= channels; c += VECTORS * VL) {
    add_vectors(a, tile, taps, c, VECTORS, is_half);
  }
  for (; c + 4 * VL <= channels; c += 4 * VL) add_vectors(a, tile, taps, c, 4, is_half);
  for (; c + VL <= channels; c += VL) add_vectors(a, tile, taps, c, 1, is_half);
  if (c < channels) add_rest(a, tile, taps, c, channels - c, is_half);
}

static void add_bin(const struct deform_roi_pool_args *a, const struct tile *tile,
                    const struct deform_roi_pool_bin *bin, struct bin_taps *taps) {
  const struct deform_roi_pool_roi *roi = &a->rois[bin->roi];
  const struct axis y = axis_y(a, roi, bin->y), x = axis_x(a, roi, bin->x);
  taps->index = bin->index;
  taps->rows = axis_taps(&y, tile->rows, 0, taps->row);
  if (taps->rows == 0) return;
  taps->cols = axis_taps(&x, tile->cols, 0, taps->col);
  if (taps->cols == 0) return;
  if (a->is_half) {
    add_channels(a, tile, taps, 1);
  } else {
    add_channels(a, tile, taps, 0);
  }
}

static void add_list(const struct deform_roi_pool_args *a, const struct tile *tile, int64_t list,
                     struct bin_taps *taps) {
  const struct deform_roi_pool_tiles *tiles = &a->tiles;
  const uint32_t end = tiles->starts[list + 1];
  for (uint32_t i = tiles->starts[list]; i < end; i++) {
    if (end - i > AHEAD) prefetch_gradient(a, tiles->entries[i + AHEAD]);
    add_bin(a, tile, &a->bins[tiles->entries[i]], taps);
  }
}

/* Item: a tile of grad_input. It belongs to one thread, which adds the bins in the order of the
   lists: the sum for an element does not depend on the number of threads. */
void MLUOP_VARIANT(deform_roi_pool_add_bins)(const void *vargs, int64_t begin, int64_t end,
                                             void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  struct bin_taps taps = {.row = (void *)((char *)scratch + a->tiles.buffer_bytes)};
  taps.col = taps.row + a->max_taps_h;
  for (int64_t list = begin; list < end; list++) {
    struct tile tile;
    if (!start_tile(a, list, scratch, &tile)) continue;
    add_list(a, &tile, list, &taps);
    add_list(a, &tile, a->tiles.count + tile.image, &taps);
    if (!a->in_place) store_tile(a, &tile);
  }
  if (a->stream) vf_stream_end();
}

/* Item: a row of a grad_input that is summed in place. */
void MLUOP_VARIANT(deform_roi_pool_clear)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  (void)scratch;
  const struct deform_roi_pool_args *a = vargs;
  const size_t row = (size_t)(a->W * a->C) * sizeof(float);
  memset((char *)a->grad_input + (size_t)begin * row, 0, (size_t)(end - begin) * row);
}

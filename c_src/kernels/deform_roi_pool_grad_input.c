/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/deform_roi_pool_tile.h"

/* Vectors of channels whose gradients are held in registers at once. */
enum { VECTORS = VL == 16 ? 16 : 8 };

/* The gradient of a bin is prefetched while the ones before it are added, so many bytes of it. */
enum { AHEAD = 4, PREFETCH_GRADIENT = 1 << 12 };

/* The taps of a bin on a tile. */
struct bin_taps {
  int64_t index, rows, cols;
};

MLUOP_INLINE float *sums_of(const struct tile *tile, int64_t i, int64_t j) {
  return tile->sums + (tile->row[i].at - tile->rows.begin) * tile->pitch +
         (tile->col[j].at - tile->cols.begin) * tile->stride;
}

/* Adds `count` vectors of channels from c. */
MLUOP_INLINE void add_vectors(const struct deform_roi_pool_args *a, const struct tile *tile,
                              const struct bin_taps *taps, int64_t c, int count, int is_half) {
  const int64_t at = taps->index * a->C + tile->channels.begin + c;
  vf gradient[VECTORS];
  for (int k = 0; k < count; k++) gradient[k] = vf_load_as(a->grad_output, at + k * VL, is_half);
  for (int64_t i = 0; i < taps->rows; i++) {
    for (int64_t j = 0; j < taps->cols; j++) {
      float *sums = sums_of(tile, i, j) + c;
      const vf weight = vf_set(tile->row[i].weight * tile->col[j].weight);
      for (int k = 0; k < count; k++) {
        vf_store(sums + k * VL, vf_fma(weight, gradient[k], vf_load(sums + k * VL)));
      }
    }
  }
}

/* Adds the last channels, fewer than a vector. */
MLUOP_INLINE void add_rest(const struct deform_roi_pool_args *a, const struct tile *tile,
                           const struct bin_taps *taps, int64_t c, int64_t rest, int is_half) {
  const int64_t at = taps->index * a->C + tile->channels.begin + c;
  const vf gradient = vf_load_part_as(a->grad_output, at, rest, is_half);
  for (int64_t i = 0; i < taps->rows; i++) {
    for (int64_t j = 0; j < taps->cols; j++) {
      float *sums = sums_of(tile, i, j) + c;
      const vf weight = vf_set(tile->row[i].weight * tile->col[j].weight);
      vf_store_part(sums, vf_fma(weight, gradient, vf_load_part(sums, rest)), rest);
    }
  }
}

MLUOP_INLINE void add_channels(const struct deform_roi_pool_args *a, const struct tile *tile,
                               const struct bin_taps *taps, int is_half) {
  const int64_t channels = tile->channels.end - tile->channels.begin;
  int64_t c = 0;
  for (; c + VECTORS * VL <= channels; c += VECTORS * VL) {
    add_vectors(a, tile, taps, c, VECTORS, is_half);
  }
  for (; c + 4 * VL <= channels; c += 4 * VL) add_vectors(a, tile, taps, c, 4, is_half);
  for (; c + VL <= channels; c += VL) add_vectors(a, tile, taps, c, 1, is_half);
  if (c < channels) add_rest(a, tile, taps, c, channels - c, is_half);
}

static void add_bin(const struct deform_roi_pool_args *a, const struct tile *tile,
                    const struct deform_roi_pool_bin *bin) {
  const struct deform_roi_pool_roi *roi = &a->rois[bin->roi];
  const struct axis y = axis_y(a, roi, bin->y), x = axis_x(a, roi, bin->x);
  struct bin_taps taps = {.index = bin->index};
  taps.rows = axis_taps(&y, tile->rows, 0, tile->row);
  if (taps.rows == 0) return;
  taps.cols = axis_taps(&x, tile->cols, 0, tile->col);
  if (taps.cols == 0) return;
  if (a->is_half) {
    add_channels(a, tile, &taps, 1);
  } else {
    add_channels(a, tile, &taps, 0);
  }
}

MLUOP_INLINE void prefetch_gradient(const struct deform_roi_pool_args *a, const struct tile *tile,
                                    uint32_t entry) {
  const int64_t element = a->is_half ? 2 : 4;
  const int64_t bytes = (tile->channels.end - tile->channels.begin) * element;
  const char *gradient =
      (const char *)a->grad_output + (a->bins[entry].index * a->C + tile->channels.begin) * element;
  for (int64_t b = 0; b < bytes && b < PREFETCH_GRADIENT; b += 64) mluop_prefetch(gradient + b);
}

static void add_list(const struct deform_roi_pool_args *a, const struct tile *tile, int64_t list) {
  const struct deform_roi_pool_tiles *tiles = &a->tiles;
  const uint32_t end = tiles->starts[list + 1];
  for (uint32_t i = tiles->starts[list]; i < end; i++) {
    if (end - i > AHEAD) prefetch_gradient(a, tile, tiles->entries[i + AHEAD]);
    add_bin(a, tile, &a->bins[tiles->entries[i]]);
  }
}

/* Item: a tile of grad_input and some of its channels. It belongs to one thread, which adds the
   bins in the order of the lists: the sum for an element does not depend on the number of threads.
 */
void MLUOP_VARIANT(deform_roi_pool_grad_input)(const void *vargs, int64_t begin, int64_t end,
                                               void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  const int64_t blocks = (a->C + a->tiles.channels - 1) / a->tiles.channels;
  struct tile tile = {.row = scratch};
  tile.col = tile.row + a->max_taps_h;
  float *buffer = (float *)(void *)(tile.col + a->max_taps_w);
  for (int64_t item = begin; item < end; item++) {
    const int64_t list = item / blocks;
    find_tile(a, list, item % blocks, &tile);
    const int64_t of_image = a->tiles.count + tile.image;
    const int any = list_length(a, list) > 0 || list_length(a, of_image) > 0;
    if (a->in_place) {
      if (any) place_in_result(a, &tile);
    } else {
      if (any) {
        place_in_buffer(&tile, buffer);
      } else {
        clear_tile(a, &tile);
      }
    }
    if (!any) continue;
    add_list(a, &tile, list);
    add_list(a, &tile, of_image);
    if (!a->in_place) store_tile(a, &tile);
  }
  if (a->stream) vf_stream_end();
}

/* Item: a block of grad_input. */
void MLUOP_VARIANT(deform_roi_pool_clear)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  (void)scratch;
  const struct deform_roi_pool_args *a = vargs;
  const int64_t bytes = a->N * a->H * a->W * a->C * (int64_t)sizeof(float);
  const int64_t from = begin * DEFORM_ROI_POOL_CLEAR_BYTES, to = end * DEFORM_ROI_POOL_CLEAR_BYTES;
  memset((char *)a->grad_input + from, 0, (size_t)((to < bytes ? to : bytes) - from));
}

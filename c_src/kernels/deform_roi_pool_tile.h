/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_DEFORM_ROI_POOL_TILE_H_
#define MLUOP_KERNELS_DEFORM_ROI_POOL_TILE_H_

/* A tile of grad_input, and where it is summed: in grad_input itself, or in a buffer from which it
   is stored. */

#include "kernels/deform_roi_pool_taps.h"

struct tile {
  int64_t image;
  struct range rows, cols;
  float *sums;           /* of its first pixel */
  int64_t stride, pitch; /* floats from pixel to pixel and from row to row */
};

static inline struct range part_of(int64_t index, int64_t size, int64_t extent) {
  const int64_t begin = index * size;
  return (struct range){begin, begin + size < extent ? begin + size : extent};
}

static inline void find_tile(const struct deform_roi_pool_args *a, int64_t number,
                             struct tile *tile) {
  const struct deform_roi_pool_tiles *tiles = &a->tiles;
  const int64_t row = number / tiles->across, col = number % tiles->across;
  tile->image = row / tiles->down;
  tile->rows = part_of(row % tiles->down, INT64_C(1) << tiles->shift_h, a->H);
  tile->cols = part_of(col, INT64_C(1) << tiles->shift_w, a->W);
}

/* Whether a bin is in the list of a tile or of its image. */
MLUOP_INLINE int is_touched(const struct deform_roi_pool_args *a, int64_t list) {
  const struct deform_roi_pool_tiles *tiles = &a->tiles;
  const int64_t of_image = tiles->count + list / (tiles->down * tiles->across);
  return tiles->starts[list] < tiles->starts[list + 1] ||
         tiles->starts[of_image] < tiles->starts[of_image + 1];
}

static inline void place_in_result(const struct deform_roi_pool_args *a, struct tile *tile) {
  tile->stride = a->C;
  tile->pitch = a->W * a->C;
  tile->sums = (float *)a->grad_input + (tile->image * a->H + tile->rows.begin) * tile->pitch +
               tile->cols.begin * a->C;
}

/* Pixels are filled up to whole vectors. */
static inline void place_in_buffer(const struct deform_roi_pool_args *a, struct tile *tile,
                                   float *buffer) {
  tile->stride = (a->C + VL - 1) / VL * VL;
  tile->pitch = (tile->cols.end - tile->cols.begin) * tile->stride;
  tile->sums = buffer;
  memset(buffer, 0, (size_t)((tile->rows.end - tile->rows.begin) * tile->pitch) * sizeof(*buffer));
}

/* Stores a run of floats of the tile as elements from `at`. */
MLUOP_INLINE void store_run(const struct deform_roi_pool_args *a, int64_t at, const float *sum,
                            int64_t count, int is_half) {
  if (!is_half && a->stream) {
    stream_run((float *)a->grad_input + at, sum, count);
    return;
  }
  int64_t c = 0;
  for (; c + VL <= count; c += VL) vf_store_as(a->grad_input, at + c, vf_load(sum + c), is_half);
  if (c < count) vf_store_part_as(a->grad_input, at + c, vf_load(sum + c), count - c, is_half);
}

static inline int64_t pixel_of(const struct deform_roi_pool_args *a, const struct tile *tile,
                               int64_t row, int64_t col) {
  return ((tile->image * a->H + tile->rows.begin + row) * a->W + tile->cols.begin + col) * a->C;
}

static inline void store_tile(const struct deform_roi_pool_args *a, const struct tile *tile) {
  const int64_t rows = tile->rows.end - tile->rows.begin, cols = tile->cols.end - tile->cols.begin;
  /* Pixels that are as wide in the tile as in grad_input make one run per row. */
  const int whole = tile->stride == a->C;
  const int64_t runs = whole ? 1 : cols, length = whole ? cols * a->C : a->C;
  const float *sum = tile->sums;
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t i = 0; i < runs; i++, sum += whole ? length : tile->stride) {
      if (a->is_half) {
        store_run(a, pixel_of(a, tile, row, i), sum, length, 1);
      } else {
        store_run(a, pixel_of(a, tile, row, i), sum, length, 0);
      }
    }
  }
}

/* A tile that no bin touches. */
static inline void clear_tile(const struct deform_roi_pool_args *a, const struct tile *tile) {
  const int64_t rows = tile->rows.end - tile->rows.begin, cols = tile->cols.end - tile->cols.begin;
  const size_t element = a->is_half ? 2 : 4;
  for (int64_t row = 0; row < rows; row++) {
    memset((char *)a->grad_input + (size_t)pixel_of(a, tile, row, 0) * element, 0,
           (size_t)(cols * a->C) * element);
  }
}

/* Finds a tile and where it is summed. Returns 0 if no bin touches it; then it is done. */
static inline int start_tile(const struct deform_roi_pool_args *a, int64_t list, float *buffer,
                             struct tile *tile) {
  find_tile(a, list, tile);
  if (a->in_place) {
    place_in_result(a, tile);
  } else if (is_touched(a, list)) {
    place_in_buffer(a, tile, buffer);
  } else {
    clear_tile(a, tile);
    return 0;
  }
  return is_touched(a, list);
}

/* Of the gradient of a bin up to so many bytes are prefetched, well before they are needed: in the
   order of the map they are scattered over memory. */
enum { PREFETCH_GRADIENT = 1 << 12 };

MLUOP_INLINE void prefetch_gradient(const struct deform_roi_pool_args *a, int64_t entry) {
  const int64_t bytes = a->C * (a->is_half ? 2 : 4);
  const char *gradient = (const char *)a->grad_output + a->bins[entry].index * bytes;
  for (int64_t b = 0; b < bytes && b < PREFETCH_GRADIENT; b += 64) mluop_prefetch(gradient + b);
}

#endif /* MLUOP_KERNELS_DEFORM_ROI_POOL_TILE_H_ */

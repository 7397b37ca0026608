/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_DEFORM_ROI_POOL_TILE_H_
#define MLUOP_KERNELS_DEFORM_ROI_POOL_TILE_H_

/* A tile of grad_input, and where it is summed: in grad_input itself, or in a buffer from which it
   is stored. */

#include "kernels/deform_roi_pool_taps.h"

struct tile {
  int64_t image;
  struct range rows, cols, channels;
  float *sums;           /* of its first pixel */
  int64_t stride, pitch; /* floats from pixel to pixel and from row to row */
  struct deform_roi_pool_tap *row, *col;
};

static inline struct range part_of(int64_t index, int64_t size, int64_t extent) {
  const int64_t begin = index * size;
  return (struct range){begin, begin + size < extent ? begin + size : extent};
}

static inline void find_tile(const struct deform_roi_pool_args *a, int64_t number,
                             int64_t channel_block, struct tile *tile) {
  const struct deform_roi_pool_tiles *tiles = &a->tiles;
  const int64_t row = number / tiles->across, col = number % tiles->across;
  tile->image = row / tiles->down;
  tile->rows = part_of(row % tiles->down, INT64_C(1) << tiles->shift_h, a->H);
  tile->cols = part_of(col, INT64_C(1) << tiles->shift_w, a->W);
  tile->channels = part_of(channel_block, tiles->channels, a->C);
}

static inline int64_t list_length(const struct deform_roi_pool_args *a, int64_t list) {
  return (int64_t)a->tiles.starts[list + 1] - (int64_t)a->tiles.starts[list];
}

static inline void place_in_result(const struct deform_roi_pool_args *a, struct tile *tile) {
  tile->stride = a->C;
  tile->pitch = a->W * a->C;
  tile->sums = (float *)a->grad_input + (tile->image * a->H + tile->rows.begin) * tile->pitch +
               tile->cols.begin * a->C + tile->channels.begin;
}

/* Pixels are filled up to whole vectors. */
static inline void place_in_buffer(struct tile *tile, float *buffer) {
  tile->stride = (tile->channels.end - tile->channels.begin + VL - 1) / VL * VL;
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

static inline void store_tile(const struct deform_roi_pool_args *a, const struct tile *tile) {
  const int64_t channels = tile->channels.end - tile->channels.begin;
  const int64_t width = tile->cols.end - tile->cols.begin;
  /* Pixels that are as wide in the tile as in grad_input make one run per row. */
  const int whole = channels == a->C && channels == tile->stride;
  const int64_t runs = whole ? 1 : width, length = whole ? width * channels : channels;
  const float *sum = tile->sums;
  for (int64_t h = tile->rows.begin; h < tile->rows.end; h++) {
    const int64_t row = ((tile->image * a->H + h) * a->W + tile->cols.begin) * a->C;
    for (int64_t i = 0; i < runs; i++, sum += whole ? length : tile->stride) {
      const int64_t at = row + i * a->C + tile->channels.begin;
      if (a->is_half) {
        store_run(a, at, sum, length, 1);
      } else {
        store_run(a, at, sum, length, 0);
      }
    }
  }
}

/* A tile that no bin touches. */
static inline void clear_tile(const struct deform_roi_pool_args *a, const struct tile *tile) {
  const int64_t channels = tile->channels.end - tile->channels.begin;
  const int64_t width = tile->cols.end - tile->cols.begin;
  const int64_t runs = channels == a->C ? 1 : width,
                length = runs == 1 ? width * channels : channels;
  const size_t element = a->is_half ? 2 : 4;
  for (int64_t h = tile->rows.begin; h < tile->rows.end; h++) {
    const int64_t row = ((tile->image * a->H + h) * a->W + tile->cols.begin) * a->C;
    for (int64_t i = 0; i < runs; i++) {
      const size_t at = (size_t)(row + i * a->C + tile->channels.begin) * element;
      memset((char *)a->grad_input + at, 0, (size_t)length * element);
    }
  }
}

#endif /* MLUOP_KERNELS_DEFORM_ROI_POOL_TILE_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_TILE_H_
#define MLUOP_SHARED_ROI_POOL_TILE_H_

/* A tile of grad_input, and where it is summed: in grad_input itself, or in a buffer from which it
   is stored. */

#include "shared/roi_pool/taps.h"

struct roi_tile {
  int64_t image;
  struct range rows, cols;
  float *sums;           /* of its first pixel */
  int64_t stride, pitch; /* floats from pixel to pixel and from row to row */
  /* Bit x of touched[y]: pixel x of row y has sums. The memory of the others is not set yet. */
  uint64_t touched[ROI_POOL_TILE_SIDE];
};

static inline struct range part_of(int64_t index, int64_t size, int64_t extent) {
  const int64_t begin = index * size;
  return (struct range){begin, begin + size < extent ? begin + size : extent};
}

/* Finds a tile and where it is summed. In a buffer pixels are filled up to whole vectors. */
static inline void start_tile(const struct roi_pool_args *a, int64_t number, float *buffer,
                              struct roi_tile *tile) {
  const struct roi_pool_tiles *tiles = &a->tiles;
  const int64_t row = number / tiles->across, col = number % tiles->across;
  tile->image = row / tiles->down;
  tile->rows = part_of(row % tiles->down, INT64_C(1) << tiles->shift_h, a->shape.H);
  tile->cols = part_of(col, INT64_C(1) << tiles->shift_w, a->shape.W);
  if (a->plan.in_place) {
    tile->stride = a->shape.C;
    tile->pitch = a->shape.W * a->shape.C;
    tile->sums = (float *)a->data.grad_input +
                 (tile->image * a->shape.H + tile->rows.begin) * tile->pitch +
                 tile->cols.begin * a->shape.C;
  } else {
    tile->stride = a->shape.C == 1 ? 1 : (a->shape.C + VL - 1) / VL * VL;
    tile->pitch = (tile->cols.end - tile->cols.begin) * tile->stride;
    tile->sums = buffer;
  }
  if (a->plan.dense && !a->plan.in_place) {
    const int64_t floats = (tile->rows.end - tile->rows.begin) * tile->pitch;
    memset(buffer, 0, (size_t)floats * sizeof(*buffer));
  }
  memset(tile->touched, a->plan.dense ? 0xff : 0,
         (size_t)(tile->rows.end - tile->rows.begin) * sizeof(*tile->touched));
}

/* The first run of ones in `bits`, which has some. */
MLUOP_INLINE struct range first_run(uint64_t bits) {
  const int64_t begin = __builtin_ctzll(bits);
  const uint64_t past = ~(bits >> begin);
  return (struct range){begin, past == 0 ? 64 : begin + __builtin_ctzll(past)};
}

MLUOP_INLINE uint64_t bits_of(struct range run) {
  return (run.end == 64 ? 0 : UINT64_C(1) << run.end) - (UINT64_C(1) << run.begin);
}

/* Makes the sums of the pixels in `cols` 0, unless they have been touched before. */
MLUOP_INLINE void touch(struct roi_tile *tile, int64_t row, uint64_t cols) {
  uint64_t fresh = cols & ~tile->touched[row];
  tile->touched[row] |= cols;
  while (fresh != 0) {
    const struct range run = first_run(fresh);
    memset(tile->sums + row * tile->pitch + run.begin * tile->stride, 0,
           (size_t)((run.end - run.begin) * tile->stride) * sizeof(float));
    fresh &= ~bits_of(run);
  }
}

/* Stores a run of floats of the tile as elements from `at`. */
MLUOP_INLINE void store_run(const struct roi_pool_args *a, int64_t at, const float *sum,
                            int64_t count, int is_half) {
  if (!is_half && a->plan.stream) {
    stream_run((float *)a->data.grad_input + at, sum, count);
    return;
  }
  int64_t c = 0;
  for (; c + VL <= count; c += VL)
    vf_store_as(a->data.grad_input, at + c, vf_load(sum + c), is_half);
  if (c < count) {
    const vf rest = vf_load_part(sum + c, count - c);
    vf_store_part_as(a->data.grad_input, at + c, rest, count - c, is_half);
  }
}

static inline int64_t pixel_of(const struct roi_pool_args *a, const struct roi_tile *tile,
                               int64_t row, int64_t col) {
  return ((tile->image * a->shape.H + tile->rows.begin + row) * a->shape.W + tile->cols.begin +
          col) *
         a->shape.C;
}

/* Stores zeros for `count` elements from `at`. */
static inline void clear_run(const struct roi_pool_args *a, int64_t at, int64_t count) {
  const int64_t element = a->shape.is_half ? 2 : 4;
  if (a->plan.stream) {
    stream_zeros((float *)a->data.grad_input + at, count);
  } else {
    memset((char *)a->data.grad_input + at * element, 0, (size_t)(count * element));
  }
}

/* Stores the sums of a run of pixels of a row. */
static inline void store_pixels(const struct roi_pool_args *a, const struct roi_tile *tile,
                                int64_t row, struct range run) {
  /* Pixels that are as wide in the tile as in grad_input make one run of floats. */
  const int whole = tile->stride == a->shape.C;
  const int64_t runs = whole ? 1 : run.end - run.begin;
  const int64_t length = whole ? (run.end - run.begin) * a->shape.C : a->shape.C;
  const float *sums = tile->sums + row * tile->pitch + run.begin * tile->stride;
  for (int64_t i = 0; i < runs; i++, sums += tile->stride) {
    const int64_t at = pixel_of(a, tile, row, run.begin + i);
    if (a->shape.is_half) {
      store_run(a, at, sums, length, 1);
    } else {
      store_run(a, at, sums, length, 0);
    }
  }
}

/* Stores what has been summed in a buffer, and zeros for the other pixels. */
static inline void store_tile(const struct roi_pool_args *a, const struct roi_tile *tile) {
  const int64_t rows = tile->rows.end - tile->rows.begin, cols = tile->cols.end - tile->cols.begin;
  const uint64_t all = bits_of((struct range){0, cols});
  for (int64_t row = 0; row < rows; row++) {
    for (uint64_t left = all; left != 0;) {
      const int touched = (int)(tile->touched[row] >> __builtin_ctzll(left) & 1);
      const struct range run =
          first_run(left & (touched ? tile->touched[row] : ~tile->touched[row]));
      if (!touched) {
        clear_run(a, pixel_of(a, tile, row, run.begin), (run.end - run.begin) * a->shape.C);
      } else {
        store_pixels(a, tile, row, run);
      }
      left &= ~bits_of(run);
    }
  }
}

/* Where the slopes of a bin from tile `list` belong. */
static inline struct roi_pool_slopes *slopes_at(const struct roi_pool_args *a, uint32_t entry,
                                                int64_t list) {
  const struct roi_pool_tiles *tiles = &a->tiles;
  const struct roi_pool_place *place = &tiles->places[entry];
  const int64_t down = (list - place->list) / tiles->across;
  const int64_t across = (list - place->list) % tiles->across;
  return &tiles->slopes[place->slopes + down * place->across + across];
}

/* Those of the bins of an image are left to grad_offset. */
MLUOP_INLINE int keeps_slopes(const struct roi_pool_args *a, int64_t list) {
  return a->tiles.slopes != NULL && list < a->tiles.count;
}

/* Of the gradient of a bin up to so many bytes are prefetched, well before they are needed: in the
   order of the map they are scattered over memory. */
enum { PREFETCH_GRADIENT = 1 << 12 };

MLUOP_INLINE void prefetch_gradient(const struct roi_pool_args *a, int64_t entry) {
  const int64_t bytes = a->shape.C * (a->shape.is_half ? 2 : 4);
  const char *gradient = (const char *)a->data.grad_output + a->memory.bins[entry].index * bytes;
  for (int64_t b = 0; b < bytes && b < PREFETCH_GRADIENT; b += 64) mluop_prefetch(gradient + b);
}

#endif /* MLUOP_SHARED_ROI_POOL_TILE_H_ */

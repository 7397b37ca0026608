/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_BLOCK_H_
#define MLUOP_SHARED_ROI_POOL_BLOCK_H_

/* A block of grad_input, and where it is summed: in grad_input itself, or in a buffer from which it
   is stored. */

#include "shared/roi_pool/taps.h"

struct roi_block {
  int64_t image;
  struct range rows, cols;
  float *sums;           /* of its first pixel */
  int64_t stride, pitch; /* floats from pixel to pixel and from row to row */
  /* Bit x of touched[y]: pixel x of row y has sums. The memory of the others is not set yet. */
  uint64_t touched[ROI_POOL_BLOCK_SIDE];
};

static inline struct range part_of(int64_t index, int64_t size, int64_t extent) {
  const int64_t begin = index * size;
  return (struct range){begin, begin + size < extent ? begin + size : extent};
}

/* Finds a block and where it is summed. In a buffer pixels are filled up to whole vectors. */
static inline void start_block(const struct roi_pool_args *a, int64_t number, float *buffer,
                               struct roi_block *block) {
  const struct roi_pool_blocks *blocks = &a->blocks;
  const int64_t row = number / blocks->across, col = number % blocks->across;
  block->image = row / blocks->down;
  block->rows = part_of(row % blocks->down, INT64_C(1) << blocks->shift_h, a->shape.H);
  block->cols = part_of(col, INT64_C(1) << blocks->shift_w, a->shape.W);
  if (a->plan.in_place) {
    block->stride = a->shape.C;
    block->pitch = a->shape.W * a->shape.C;
    block->sums = (float *)a->data.grad_input +
                  (block->image * a->shape.H + block->rows.begin) * block->pitch +
                  block->cols.begin * a->shape.C;
  } else {
    block->stride = a->shape.C == 1 ? 1 : (a->shape.C + VL - 1) / VL * VL;
    block->pitch = (block->cols.end - block->cols.begin) * block->stride;
    block->sums = buffer;
  }
  if (a->plan.dense && !a->plan.in_place) {
    const int64_t floats = (block->rows.end - block->rows.begin) * block->pitch;
    memset(buffer, 0, (size_t)floats * sizeof(*buffer));
  }
  memset(block->touched, a->plan.dense ? 0xff : 0,
         (size_t)(block->rows.end - block->rows.begin) * sizeof(*block->touched));
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
MLUOP_INLINE void touch(struct roi_block *block, int64_t row, uint64_t cols) {
  uint64_t fresh = cols & ~block->touched[row];
  block->touched[row] |= cols;
  while (fresh != 0) {
    const struct range run = first_run(fresh);
    memset(block->sums + row * block->pitch + run.begin * block->stride, 0,
           (size_t)((run.end - run.begin) * block->stride) * sizeof(float));
    fresh &= ~bits_of(run);
  }
}

/* Stores a run of floats of the block as elements from `at`. */
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

static inline int64_t pixel_of(const struct roi_pool_args *a, const struct roi_block *block,
                               int64_t row, int64_t col) {
  return ((block->image * a->shape.H + block->rows.begin + row) * a->shape.W + block->cols.begin +
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
static inline void store_pixels(const struct roi_pool_args *a, const struct roi_block *block,
                                int64_t row, struct range run) {
  /* Pixels that are as wide in the block as in grad_input make one run of floats. */
  const int whole = block->stride == a->shape.C;
  const int64_t runs = whole ? 1 : run.end - run.begin;
  const int64_t length = whole ? (run.end - run.begin) * a->shape.C : a->shape.C;
  const float *sums = block->sums + row * block->pitch + run.begin * block->stride;
  for (int64_t i = 0; i < runs; i++, sums += block->stride) {
    const int64_t at = pixel_of(a, block, row, run.begin + i);
    if (a->shape.is_half) {
      store_run(a, at, sums, length, 1);
    } else {
      store_run(a, at, sums, length, 0);
    }
  }
}

/* Stores what has been summed in a buffer, and zeros for the other pixels. */
static inline void store_block(const struct roi_pool_args *a, const struct roi_block *block) {
  const int64_t rows = block->rows.end - block->rows.begin,
                cols = block->cols.end - block->cols.begin;
  const uint64_t all = bits_of((struct range){0, cols});
  for (int64_t row = 0; row < rows; row++) {
    for (uint64_t left = all; left != 0;) {
      const int touched = (int)(block->touched[row] >> __builtin_ctzll(left) & 1);
      const struct range run =
          first_run(left & (touched ? block->touched[row] : ~block->touched[row]));
      if (!touched) {
        clear_run(a, pixel_of(a, block, row, run.begin), (run.end - run.begin) * a->shape.C);
      } else {
        store_pixels(a, block, row, run);
      }
      left &= ~bits_of(run);
    }
  }
}

/* Where the slopes of a bin from block `list` belong. */
static inline struct roi_pool_slopes *slopes_at(const struct roi_pool_args *a, uint32_t entry,
                                                int64_t list) {
  const struct roi_pool_blocks *blocks = &a->blocks;
  const struct roi_pool_place *place = &blocks->places[entry];
  const int64_t down = (list - place->list) / blocks->across;
  const int64_t across = (list - place->list) % blocks->across;
  return &blocks->slopes[place->slopes + down * place->across + across];
}

/* Those of the bins of an image are left to grad_offset. */
MLUOP_INLINE int keeps_slopes(const struct roi_pool_args *a, int64_t list) {
  return a->blocks.slopes != NULL && list < a->blocks.count;
}

/* Of the gradient of a bin up to so many bytes are prefetched, well before they are needed: in the
   order of the map they are scattered over memory. */
enum { PREFETCH_GRADIENT = 1 << 12 };

MLUOP_INLINE void prefetch_gradient(const struct roi_pool_args *a, int64_t entry) {
  const int64_t bytes = a->shape.C * (a->shape.is_half ? 2 : 4);
  const char *gradient = (const char *)a->data.grad_output + a->memory.bins[entry].index * bytes;
  for (int64_t b = 0; b < bytes && b < PREFETCH_GRADIENT; b += 64) mluop_prefetch(gradient + b);
}

#endif /* MLUOP_SHARED_ROI_POOL_BLOCK_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LANES_H_
#define MLUOP_FAMILIES_CARAFE_LANES_H_

/* Vectors that hold one number for each of VL blocks of a tensor: of groups side by side, or of
   pixels. Lane l of vector i is element i of block l; blocks begin `stride` elements apart, and in
   memory the elements of one are neighbours. Blocks that are missing have lanes of zeros. */

#include "families/carafe/item.h"

struct blocks {
  void *tensor;
  int64_t from, stride; /* elements: of the first block, and to the next one */
  int64_t count;        /* of blocks, at most VL */
  int64_t length;       /* elements of each */
  int is_half;
  int64_t ask; /* 0, or elements to those that are needed later */
};

/* Of halves, a block is converted when it is loaded or stored. */
MLUOP_INLINE const void *block_at(const struct blocks *b, int64_t element, int is_half) {
  return (const char *)b->tensor + (b->from + element) * (is_half ? 2 : 4);
}

MLUOP_INLINE void *next_block(const void *at, int64_t stride, int is_half) {
  return mluop_pin_pointer((const float *)((const char *)at + stride * (is_half ? 2 : 4)));
}

/* VL elements of each block, from `begin` on. */
MLUOP_INLINE void take_square(float *to, int64_t step, const struct blocks *b, int64_t begin,
                              int64_t count, int is_half) {
  const void *at = block_at(b, begin, is_half);
  const int64_t stride = b->stride, ask = b->ask * (is_half ? 2 : 4);
  vf rows[VL];
  MLUOP_UNROLL for (int l = 0; l < VL; l++) {
    rows[l] = l < count ? vf_load_as(at, 0, is_half) : vf_set(0.0f);
    mluop_prefetch((const char *)at + ask);
    at = next_block(at, stride, is_half);
  }
  vf_transpose(rows);
  to += begin * step;
  MLUOP_UNROLL for (int i = 0; i < VL; i++) {
    vf_store(to, rows[i]);
    to = mluop_pin_pointer(to + step);
  }
}

MLUOP_INLINE void put_square(const struct blocks *b, const float *from, int64_t step, int64_t begin,
                             int64_t count, int is_half) {
  void *at = (void *)block_at(b, begin, is_half);
  const int64_t stride = b->stride, ask = b->ask * (is_half ? 2 : 4);
  vf rows[VL];
  from += begin * step;
  MLUOP_UNROLL for (int i = 0; i < VL; i++) {
    rows[i] = vf_load(from);
    from = mluop_pin_pointer(from + step);
  }
  vf_transpose(rows);
  MLUOP_UNROLL for (int l = 0; l < VL; l++) {
    if (l < count) vf_store_as(at, 0, rows[l], is_half);
    mluop_prefetch((const char *)at + ask);
    at = next_block(at, stride, is_half);
  }
}

/* Four elements of VL blocks of floats, from `begin` on. */
MLUOP_INLINE void take_fours(float *to, int64_t step, const struct blocks *b, int64_t begin) {
  const float *at = block_at(b, begin, 0);
  vf rows[4];
  MLUOP_UNROLL for (int k = 0; k < 4; k++) {
    rows[k] = vf_load_fours(at + k * b->stride, 4 * b->stride);
  }
  vf_transpose_fours(rows);
  MLUOP_UNROLL for (int i = 0; i < 4; i++) vf_store(to + (begin + i) * step, rows[i]);
}

MLUOP_INLINE void put_fours(const struct blocks *b, const float *from, int64_t step,
                            int64_t begin) {
  float *at = (float *)block_at(b, begin, 0);
  const int64_t stride = b->stride;
  vf rows[4];
  MLUOP_UNROLL for (int i = 0; i < 4; i++) rows[i] = vf_load(from + (begin + i) * step);
  vf_transpose_fours(rows);
  MLUOP_UNROLL for (int k = 0; k < 4; k++) vf_store_fours(at + k * stride, 4 * stride, rows[k]);
}

/* One element after the other. */
MLUOP_INLINE void take_ones(float *to, int64_t step, const struct blocks *b, int is_half) {
  const int64_t length = b->length, stride = b->stride, count = b->count;
  const void *at = block_at(b, 0, is_half);
  for (int64_t i = 0; i < length; i++) {
    for (int64_t l = 0; l < VL; l++) {
      to[i * step + l] = l < count ? mluop_load_as(at, l * stride + i, is_half) : 0.0f;
    }
  }
}

MLUOP_INLINE void put_ones(const struct blocks *b, const float *from, int64_t step, int is_half) {
  const int64_t length = b->length, stride = b->stride, count = b->count;
  void *at = (void *)block_at(b, 0, is_half);
  for (int64_t l = 0; l < count; l++) {
    for (int64_t i = 0; i < length; i++) {
      mluop_store_as(at, l * stride + i, from[i * step + l], is_half);
    }
  }
}

/* What is less than a square at the end is done as one that ends there: some elements twice. */
MLUOP_INLINE void take_as(float *to, int64_t step, const struct blocks *b, int is_half) {
  const int64_t length = b->length;
  if (length >= VL) {
    for (int64_t i = 0; i < length; i += VL) {
      const int64_t begin = carafe_min(i, length - VL);
      if (b->count == VL) {
        take_square(to, step, b, begin, VL, is_half);
      } else {
        take_square(to, step, b, begin, b->count, is_half);
      }
    }
  } else if (length >= 4 && b->count == VL && !is_half) {
    for (int64_t i = 0; i < length; i += 4) take_fours(to, step, b, carafe_min(i, length - 4));
  } else {
    take_ones(to, step, b, is_half);
  }
}

MLUOP_INLINE void put_as(const struct blocks *b, const float *from, int64_t step, int is_half) {
  const int64_t length = b->length;
  if (length >= VL) {
    for (int64_t i = 0; i < length; i += VL) {
      const int64_t begin = carafe_min(i, length - VL);
      if (b->count == VL) {
        put_square(b, from, step, begin, VL, is_half);
      } else {
        put_square(b, from, step, begin, b->count, is_half);
      }
    }
  } else if (length >= 4 && b->count == VL && !is_half) {
    for (int64_t i = 0; i < length; i += 4) put_fours(b, from, step, carafe_min(i, length - 4));
  } else {
    put_ones(b, from, step, is_half);
  }
}

/* Vector i goes to to[i * step], and comes from from[i * step]. */
static inline void lanes_take(float *to, int64_t step, const struct blocks *b) {
  if (b->is_half) {
    take_as(to, step, b, 1);
  } else {
    take_as(to, step, b, 0);
  }
}

static inline void lanes_put(const struct blocks *b, const float *from, int64_t step) {
  if (b->is_half) {
    put_as(b, from, step, 1);
  } else {
    put_as(b, from, step, 0);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_LANES_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LANES_H_
#define MLUOP_FAMILIES_CARAFE_LANES_H_

/* PACK and STORE of small_channels: a vector holds one number for each of VL runs of a tensor, in
   which the elements of a run are neighbours. They are transposed in registers. */

#include "families/carafe/job.h"
#include "vector/simd.h"

struct runs {
  void *tensor;
  int64_t from;        /* the first element of run 0 */
  const int64_t *lane; /* numbers of the runs */
  int64_t count;       /* of runs, at most VL; vectors have zeros for the others */
  int64_t length;      /* elements of each */
  int neighbours;      /* all runs follow each other */
  int64_t next;        /* from lane[0] to the run that is prefetched */
  int is_half;
};

/* Vectors are made of runs, or runs of vectors. */
enum lanes_way { LANES_TAKE, LANES_PUT };

/* `length` elements of each run from `begin` on: VL or less. */
MLUOP_INLINE void move_square(const struct runs *b, float *vectors, int64_t step, int64_t begin,
                              int64_t length, enum lanes_way way) {
  const int64_t from = b->from + begin, run = b->length, ahead = b->next * b->length;
  const int64_t count = b->count, *lane = b->lane;
  const int put = way == LANES_PUT, is_half = b->is_half;
  int64_t element = from + lane[0] * run;
  vf rows[VL];
  float *at = vectors + begin * step;
  MLUOP_UNROLL for (int i = 0; i < VL && put; i++) {
    rows[i] = i < length ? vf_load(at) : vf_set(0.0f);
    at = mluop_opaque_pointer(at + step);
  }
  if (put) vf_transpose(rows);
  MLUOP_UNROLL for (int l = 0; l < VL; l++) {
    if (put && l >= count) continue;
    if (l > 0) element = mluop_opaque(b->neighbours ? element + run : from + lane[l] * run);
    mluop_prefetch(mluop_at(b->tensor, element + ahead, is_half));
    if (!put) {
      rows[l] = l >= count     ? vf_set(0.0f)
                : length == VL ? vf_load_as(b->tensor, element, is_half)
                               : vf_load_part_as(b->tensor, element, length, is_half);
    } else if (length == VL) {
      vf_store_as(b->tensor, element, rows[l], is_half);
    } else {
      vf_store_part_as(b->tensor, element, rows[l], length, is_half);
    }
  }
  if (put) return;
  vf_transpose(rows);
  MLUOP_UNROLL for (int i = 0; i < VL; i++) {
    if (i < length) vf_store(at, rows[i]);
    at = mluop_opaque_pointer(at + step);
  }
}

/* What is less than a square at the end is done as one that ends there: some elements twice. */
MLUOP_INLINE void move_squares(const struct runs *b, float *vectors, int64_t step,
                               enum lanes_way way) {
  const int64_t length = mluop_min(VL, b->length);
  for (int64_t i = 0; i < b->length; i += VL) {
    move_square(b, vectors, step, mluop_max(0, mluop_min(i, b->length - VL)), length, way);
  }
}

/* Vector i, at vectors[i * step], has elements i. Of VL neighbours, which are usual, the compiler
   is told what it needs not look at for each. Runs of one element are a vector as they are then. */
MLUOP_INLINE void move_lanes(struct runs b, float *vectors, int64_t step, enum lanes_way way) {
  const int64_t first = b.from + b.lane[0];
  b.neighbours = b.neighbours && b.count == VL;
  if (!b.neighbours) {
    move_squares(&b, vectors, step, way);
  } else if (b.length == 1) {
    mluop_prefetch(mluop_at(b.tensor, first + b.next, b.is_half));
    if (way == LANES_TAKE) vf_store(vectors, vf_load_as(b.tensor, first, b.is_half));
    if (way == LANES_PUT) vf_store_as(b.tensor, first, vf_load(vectors), b.is_half);
  } else {
    b.count = VL;
    if (b.is_half) move_squares(&b, vectors, step, way);
    if (!b.is_half) move_squares(&b, vectors, step, way);
  }
}

static inline void lanes_take(float *to, int64_t step, const struct runs *b) {
  move_lanes(*b, to, step, LANES_TAKE);
}

static inline void lanes_put(const struct runs *b, float *from, int64_t step) {
  move_lanes(*b, from, step, LANES_PUT);
}

#endif /* MLUOP_FAMILIES_CARAFE_LANES_H_ */

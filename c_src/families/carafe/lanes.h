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

/* `count` runs, `length` elements of them from `begin` on: VL or less. */
MLUOP_INLINE void take_square(float *to, int64_t step, const struct runs *b, int64_t begin,
                              int64_t count, int64_t length, int is_half) {
  const int64_t from = b->from + begin, run = b->length, ahead = b->next * b->length;
  const int64_t *lane = b->lane;
  vf rows[VL];
  MLUOP_UNROLL for (int l = 0; l < VL; l++) {
    const int64_t at = mluop_opaque(from + lane[l] * run);
    mluop_prefetch(mluop_at(b->tensor, at + ahead, is_half));
    rows[l] = l >= count     ? vf_set(0.0f)
              : length == VL ? vf_load_as(b->tensor, at, is_half)
                             : vf_load_part_as(b->tensor, at, length, is_half);
  }
  vf_transpose(rows);
  to += begin * step;
  MLUOP_UNROLL for (int i = 0; i < VL; i++) {
    if (i < length) vf_store(to, rows[i]);
    to = mluop_opaque_pointer(to + step);
  }
}

MLUOP_INLINE void put_square(const struct runs *b, const float *from, int64_t step, int64_t begin,
                             int64_t count, int64_t length, int is_half) {
  const int64_t to = b->from + begin, run = b->length, ahead = b->next * b->length;
  const int64_t *lane = b->lane;
  vf rows[VL];
  from += begin * step;
  MLUOP_UNROLL for (int i = 0; i < VL; i++) {
    rows[i] = i < length ? vf_load(from) : vf_set(0.0f);
    from = mluop_opaque_pointer(from + step);
  }
  vf_transpose(rows);
  MLUOP_UNROLL for (int l = 0; l < VL; l++) {
    if (l >= count) continue;
    const int64_t at = mluop_opaque(to + lane[l] * run);
    mluop_prefetch(mluop_at(b->tensor, at + ahead, is_half));
    if (length == VL) {
      vf_store_as(b->tensor, at, rows[l], is_half);
    } else {
      vf_store_part_as(b->tensor, at, rows[l], length, is_half);
    }
  }
}

/* Runs of one element that are neighbours are a vector as they are. */
static inline int are_vector(const struct runs *b) {
  return b->length == 1 && b->neighbours && b->count == VL;
}

/* What is less than a square at the end is done as one that ends there: some elements twice. */
static inline int64_t square_at(const struct runs *b, int64_t i) {
  return carafe_max(0, carafe_min(i, b->length - VL));
}

/* Vector i, of elements i, goes to to[i * step], and comes from from[i * step]. */
static inline void lanes_take(float *to, int64_t step, const struct runs *b) {
  if (are_vector(b)) {
    mluop_prefetch(mluop_at(b->tensor, b->from + b->lane[0] + b->next, b->is_half));
    vf_store(to, vf_load_as(b->tensor, b->from + b->lane[0], b->is_half));
    return;
  }
  const int64_t length = carafe_min(VL, b->length);
  for (int64_t i = 0; i < b->length; i += VL) {
    take_square(to, step, b, square_at(b, i), b->count, length, b->is_half);
  }
}

static inline void lanes_put(const struct runs *b, const float *from, int64_t step) {
  if (are_vector(b)) {
    mluop_prefetch(mluop_at(b->tensor, b->from + b->lane[0] + b->next, b->is_half));
    vf_store_as(b->tensor, b->from + b->lane[0], vf_load(from), b->is_half);
    return;
  }
  const int64_t length = carafe_min(VL, b->length);
  for (int64_t i = 0; i < b->length; i += VL) {
    put_square(b, from, step, square_at(b, i), b->count, length, b->is_half);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_LANES_H_ */

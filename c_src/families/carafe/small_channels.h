/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_
#define MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_

/* Groups of no more channels than a vector has lanes share vectors. Each is packed into a power of
   two of lanes. The weights of a group are neighbours: four of them are loaded into a quarter of a
   vector for each of its groups, and one shuffle within the quarters gives those of a tap, each as
   often as its group has lanes. A tile is one vector of the pixels under a window.

       loaded, 4 lanes    | a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3 | d0 d1 d2 d3 |
       for tap 1          | a1 a1 a1 a1 | b1 b1 b1 b1 | c1 c1 c1 c1 | d1 d1 d1 d1 |  */

#include "families/carafe/tile.h"

enum { MAX_LANES = CARAFE_PAD };

/* Weights that come later are prefetched every so many taps, the more often the more groups are in
   a vector: all at once, they would hold up the loads in between. */
static inline int64_t prefetch_taps(int64_t lanes) { return lanes < 4 ? 8 : 32; }

/* The taps of a window that are on the map: as runs of weights that are neighbours, each summed on
   its own, and where the packed pixels are, in floats from the first one. */
struct tap_list {
  const float *row; /* what they have been listed for */
  int64_t rows, begin, columns;
  int64_t runs, first[CARAFE_FORWARD_K], count[CARAFE_FORWARD_K];
  int64_t at[CARAFE_FORWARD_K * CARAFE_FORWARD_K];
};

static void list_taps(struct tap_list *taps, const struct tiles *t, const struct columns *span) {
  if (taps->row == t->rows[0] && taps->rows == t->row_count && taps->begin == span->begin &&
      taps->columns == span->count) {
    return;
  }
  taps->row = t->rows[0];
  taps->rows = t->row_count;
  taps->begin = span->begin;
  taps->columns = span->count;
  taps->runs = 0;
  int64_t *at = taps->at, last = CARAFE_SUM_LENGTH;
  for (int64_t i = 0; i < t->row_count; i++) {
    for (int64_t x = 0; x < span->count; x++) *at++ = t->rows[i] - t->rows[0] + x * t->column;
    if (span->count == t->K && last + t->K <= CARAFE_SUM_LENGTH) {
      last += t->K;
      taps->count[taps->runs - 1] = last;
    } else {
      taps->first[taps->runs] = i * t->K + span->begin;
      taps->count[taps->runs++] = last = span->count;
    }
  }
}

/* Weights of the four taps from `weights` on of the first group of a vector; the next group's are
   `step` further. */
MLUOP_INLINE void load_fours(vf w[4], const float *weights, int64_t step, int lanes) {
  if (lanes >= 4) {
    const vf fours = vf_load_fours_times(weights, step, lanes / 4);
    MLUOP_UNROLL for (int q = 0; q < 4; q++) w[q] = vf_broadcast128(fours, q);
  } else if (lanes == 2) {
    const vf even = vf_load_fours_times(weights, 2 * step, 1);
    const vf odd = vf_load_fours_times(weights + step, 2 * step, 1);
    MLUOP_UNROLL for (int q = 0; q < 4; q++) w[q] = vf_broadcast128_two(even, odd, q);
  } else {
    MLUOP_UNROLL for (int g = 0; g < 4; g++) w[g] = vf_load_fours(weights + g * step, 4 * step);
    vf_transpose_fours(w);
  }
}

/* As many sums of a pixel as keep the adders busy. */
MLUOP_INLINE int chains_of(int pixels) { return pixels > 1 ? 2 : 4; }

/* Four taps, or the first `count` of them. */
MLUOP_INLINE void add_fours(vf sum[PIXELS][4], const int64_t *at, const float *x,
                            const float *const *weights, int64_t tap, int64_t step, int64_t count,
                            int pixels, int lanes) {
  vf channels[4];
  MLUOP_UNROLL for (int q = 0; q < 4; q++) {
    if (q < count) channels[q] = vf_opaque(vf_load(x + at[q]));
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    vf w[4];
    load_fours(w, weights[e] + tap, step, lanes);
    MLUOP_UNROLL for (int q = 0; q < 4; q++) {
      vf *const chain = &sum[e][q % chains_of(pixels)];
      if (q < count) *chain = vf_fma(w[q], channels[q], *chain);
    }
  }
}

MLUOP_INLINE void sum_taps(vf total[PIXELS], const struct tiles *t, const struct tap_list *taps,
                           const float *x, const float *const *weights, int64_t step, int pixels,
                           int lanes) {
  const int64_t *at = taps->at;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) total[e] = vf_set(0.0f);
  for (int64_t i = 0; i < taps->runs; i++) {
    vf sum[PIXELS][4];
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int q = 0; q < 4; q++) sum[e][q] = vf_set(0.0f);
    }
    int64_t tap = taps->first[i], left = taps->count[i];
    for (; left >= 4; left -= 4, tap += 4, at += 4) {
      if ((at - taps->at) % prefetch_taps(lanes) < 4)
        prefetch_lines(t->prefetch, t->prefetch->at_once);
      add_fours(sum, at, x, weights, tap, step, 4, pixels, lanes);
    }
    if (left == 1) add_fours(sum, at, x, weights, tap, step, 1, pixels, lanes);
    if (left == 2) add_fours(sum, at, x, weights, tap, step, 2, pixels, lanes);
    if (left == 3) add_fours(sum, at, x, weights, tap, step, 3, pixels, lanes);
    at += left;
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      vf run = sum[e][0] + sum[e][1];
      if (chains_of(pixels) == 4) run = run + (sum[e][2] + sum[e][3]);
      total[e] = total[e] + run;
    }
  }
}

struct small_channels {
  int64_t padded;    /* lanes of a group */
  int64_t weights;   /* floats from group to group */
  int32_t lanes[VL]; /* of a vector, that hold channels: the others pad their groups */
  struct tap_list taps;
};

static void list_lanes(struct small_channels *s, int64_t C, int64_t lanes) {
  s->padded = lanes;
  for (int64_t i = 0; i < VL; i++) s->lanes[i] = (int32_t)((i / C * lanes + i % C) % MAX_LANES);
}

MLUOP_INLINE vf without_padding(vf padded, const int32_t *lanes) {
  float table[MAX_LANES];
  MLUOP_UNROLL for (int i = 0; i < MAX_LANES; i += VL) vf_store(table + i, padded);
  return vf_table16(table, vi_load(lanes));
}

MLUOP_INLINE void store_small(const struct tiles *t, const struct small_channels *s, int64_t at,
                              vf sum, int64_t count, int lanes) {
  const struct output *o = t->output;
  if (lanes != o->C) sum = without_padding(sum, s->lanes);
  if (count == VL) {
    vf_store_as(o->values, at, sum, o->is_half);
  } else {
    vf_store_part_as(o->values, at, sum, count, o->is_half);
  }
}

/* All groups of some pixels under a window, vector by vector. */
MLUOP_INLINE void sum_small(struct tiles *t, struct small_channels *s, int pixels, int lanes) {
  const int64_t step = s->weights, in_vector = VL / lanes * t->output->C;
  const struct columns span = window_span(t, t->begin, 0);
  const float *x = t->rows[0] + span.offset, *weights[PIXELS];
  list_taps(&s->taps, t, &span);
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) weights[e] = t->weights + t->weights_of[e];
  for (int64_t c = 0; c < t->length; c += in_vector, x += VL) {
    vf sum[PIXELS];
    sum_taps(sum, t, &s->taps, x, weights, step, pixels, lanes);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      weights[e] += VL / lanes * step;
      const int64_t count = carafe_min(t->length - c, in_vector);
      store_small(t, s, t->at + t->at_of[e] + c, sum[e], count, lanes);
    }
  }
}

MLUOP_INLINE void sum_lanes(struct tiles *t, struct small_channels *s, int pixels) {
  if (s->padded == 1) sum_small(t, s, pixels, 1);
  if (s->padded == 2) sum_small(t, s, pixels, 2);
  if (s->padded == 4) sum_small(t, s, pixels, 4);
  if (VL >= 8 && s->padded == 8) sum_small(t, s, pixels, 8);
  if (VL >= 16 && s->padded == 16) sum_small(t, s, pixels, 16);
}

static void sum_small_pixels(struct tiles *t, struct small_channels *s, int64_t pixels) {
  if (pixels == 1) sum_lanes(t, s, 1);
  if (pixels == 3) sum_lanes(t, s, 3);
  if (pixels == 4) sum_lanes(t, s, 4);
}

#endif /* MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_ */

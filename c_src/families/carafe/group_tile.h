/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GROUP_TILE_H_
#define MLUOP_FAMILIES_CARAFE_GROUP_TILE_H_

/* Sums of tiles whose vectors hold several groups, of `lanes` channels each: a power of two, to
   which packed groups are padded. Weights of a group are neighbours in memory. Four of them are
   loaded into a quarter of a vector for each group of that vector; a shuffle within the quarters
   then gives the weights of one tap, each as often as its group has lanes.

       loaded, 4 lanes    | a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3 | d0 d1 d2 d3 |
       for tap 1          | a1 a1 a1 a1 | b1 b1 b1 b1 | c1 c1 c1 c1 | d1 d1 d1 d1 |  */

#include "families/carafe/item.h"

enum { PIXELS = 4, SUM_LENGTH = 128, MAX_LANES = 16, FORWARD_K = 45 };

/* As many sums for each vector of the output as are needed to keep the adders busy. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { CHAINS = 2 };
#else
enum { CHAINS = 1 };
#endif

/* Taps `tap` and after of a window; those of a run are neighbours in the mask. */
struct run {
  int64_t tap, count;
  int ends_part; /* of the sums */
};

/* The taps of a window that lie on the map. */
struct taps {
  int64_t runs;
  struct run run[FORWARD_K + FORWARD_K * FORWARD_K / SUM_LENGTH + 1];
  int64_t at[FORWARD_K * FORWARD_K]; /* floats from the first column's pixel under the window */
};

/* The channels of a block of groups, of up to 4 pixels. */
struct tile {
  const struct taps *taps;
  int64_t K, C, groups, vectors;
  const float *x[PIXELS]; /* the map under the windows: x[0] alone if they share it */
  /* Weights of the first group, and of those of the last vector: of as many groups as fit. */
  const void *weights[PIXELS], *last[PIXELS];
  int64_t ask[2],
      ask_turn; /* bytes to weights needed later, of vectors before ask_turn and after */
  void *output;
  int64_t at[PIXELS];
  const int32_t *squeeze; /* NULL, or the lanes of a vector that hold channels */
};

/* A vector of a tile. */
struct spot {
  int64_t channel, ask;
  const void *weights[PIXELS];
};

typedef void tile_function(const struct tile *t);

/* Weights of the four taps from element `at` on of the first group of a vector. */
MLUOP_INLINE void load_weights(vf w[4], const void *weights, int64_t at, int64_t step, int lanes,
                               int is_half) {
  if (lanes >= 4) {
    const vf fours = vf_load_fours_times_as(weights, at, step, lanes / 4, is_half);
    MLUOP_UNROLL for (int q = 0; q < 4; q++) w[q] = vf_dup_fours(fours, q);
  } else if (lanes == 2) {
    const vf even = vf_load_fours_times_as(weights, at, 2 * step, 1, is_half);
    const vf odd = vf_load_fours_times_as(weights, at + step, 2 * step, 1, is_half);
    MLUOP_UNROLL for (int q = 0; q < 4; q++) w[q] = vf_dup2_fours(even, odd, q);
  } else {
    MLUOP_UNROLL for (int g = 0; g < 4; g++) {
      w[g] = vf_load_fours_times_as(weights, at + g * step, 4 * step, 1, is_half);
    }
    vf_transpose_fours(w);
  }
}

/* The memory is asked for weights that are needed later, as much as four taps of a vector take. */
MLUOP_INLINE void ask_ahead(const void *const *weights, int64_t ask, int64_t tap, int pixels,
                            int lanes, int is_half) {
  const int64_t bytes = VL / lanes * (is_half ? 2 : 4);
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int64_t i = 0; i < 4 * bytes; i += 64) {
      mluop_prefetch((const char *)weights[e] + ask + tap * bytes + i);
    }
  }
}

/* The first `count` of the four taps from `tap` on. */
MLUOP_INLINE void add_taps(vf sum[PIXELS][CHAINS], const struct tile *t, const struct spot *s,
                           const int64_t *at, int64_t tap, int64_t count, int pixels, int shared,
                           int lanes, int is_half) {
  vf x[4];
  ask_ahead(s->weights, s->ask, tap, pixels, lanes, is_half);
  if (shared) {
    MLUOP_UNROLL for (int q = 0; q < 4; q++) {
      if (q < count) x[q] = vf_pin(vf_load(t->x[0] + s->channel + at[q]));
    }
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    vf w[4];
    load_weights(w, s->weights[e], tap, t->K * t->K, lanes, is_half);
    MLUOP_UNROLL for (int q = 0; q < 4; q++) {
      if (q < count) {
        if (!shared) x[q] = vf_load(t->x[e] + s->channel + at[q]);
        sum[e][q % CHAINS] = vf_fma(w[q], x[q], sum[e][q % CHAINS]);
      }
    }
  }
}

MLUOP_INLINE void add_run(vf sum[PIXELS][CHAINS], const struct tile *t, const struct spot *s,
                          const int64_t *at, const struct run *run, int pixels, int shared,
                          int lanes, int is_half) {
  int64_t tap = run->tap, left = run->count;
  for (; left >= 4; left -= 4, tap += 4, at += 4) {
    add_taps(sum, t, s, at, tap, 4, pixels, shared, lanes, is_half);
  }
  if (left == 1) {
    add_taps(sum, t, s, at, tap, 1, pixels, shared, lanes, is_half);
  } else if (left == 2) {
    add_taps(sum, t, s, at, tap, 2, pixels, shared, lanes, is_half);
  } else if (left == 3) {
    add_taps(sum, t, s, at, tap, 3, pixels, shared, lanes, is_half);
  }
}

MLUOP_INLINE void add_runs(vf total[PIXELS], const struct tile *t, const struct spot *s, int pixels,
                           int shared, int lanes, int is_half) {
  vf sum[PIXELS][CHAINS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int i = 0; i < CHAINS; i++) sum[e][i] = vf_set(0.0f);
    total[e] = vf_set(0.0f);
  }
  const int64_t *at = t->taps->at;
  for (int64_t i = 0; i < t->taps->runs; i++) {
    const struct run *run = &t->taps->run[i];
    add_run(sum, t, s, at, run, pixels, shared, lanes, is_half);
    at += run->count;
    if (!run->ends_part) continue;
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      if (CHAINS == 2) sum[e][0] = sum[e][0] + sum[e][CHAINS - 1];
      total[e] = total[e] + sum[e][0];
      MLUOP_UNROLL for (int c = 0; c < CHAINS; c++) sum[e][c] = vf_set(0.0f);
    }
  }
}

MLUOP_INLINE void store_sum(const struct tile *t, int64_t at, vf sum, int64_t count, int is_half) {
  if (t->squeeze != NULL) {
    float padded[MAX_LANES];
    for (int i = 0; i < MAX_LANES; i += VL) vf_store(padded + i, sum);
    sum = vf_lookup16(padded, vi_load(t->squeeze));
  }
  if (count == VL) {
    vf_store_as(t->output, at, sum, is_half);
  } else {
    vf_store_part_as(t->output, at, sum, count, is_half);
  }
}

MLUOP_INLINE void sum_tile(const struct tile *t, int pixels, int shared, int lanes, int is_half) {
  const int64_t size = is_half ? 2 : 4, taps = t->K * t->K;
  for (int64_t v = 0; v < t->vectors; v++) {
    const int64_t group = v * (VL / lanes);
    const int64_t count = carafe_min(VL / lanes, t->groups - group) * t->C;
    const int last = v + 1 == t->vectors;
    struct spot s = {.channel = v * VL, .ask = t->ask[v >= t->ask_turn]};
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      s.weights[e] = last ? t->last[e] : (const char *)t->weights[e] + group * taps * size;
    }
    vf total[PIXELS];
    add_runs(total, t, &s, pixels, shared, lanes, is_half);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      store_sum(t, t->at[e] + group * t->C, total[e], count, is_half);
    }
  }
}

/* A function for every size of a tile, number of lanes that fits a vector, and type; and the table
   of them, by is_half, the logarithm of lanes, shared, and pixels - 1. */
/* clang-format off */
#define TILE_FUNCTION(pixels, shared, lanes, is_half)                                    \
  static void sum_tile_##pixels##_##shared##_##lanes##_##is_half(const struct tile *t) { \
    sum_tile(t, pixels, shared, lanes, is_half);                                         \
  }
#define TILE_FUNCTIONS(lanes)     \
  TILE_FUNCTION(1, 0, lanes, 0)   \
  TILE_FUNCTION(4, 0, lanes, 0)   \
  TILE_FUNCTION(3, 1, lanes, 0)   \
  TILE_FUNCTION(4, 1, lanes, 0)   \
  TILE_FUNCTION(1, 0, lanes, 1)   \
  TILE_FUNCTION(4, 0, lanes, 1)   \
  TILE_FUNCTION(3, 1, lanes, 1)   \
  TILE_FUNCTION(4, 1, lanes, 1)
#define TILE_ENTRY(lanes, is_half)                                                     \
  {{sum_tile_1_0_##lanes##_##is_half, NULL, NULL, sum_tile_4_0_##lanes##_##is_half},   \
   {NULL, NULL, sum_tile_3_1_##lanes##_##is_half, sum_tile_4_1_##lanes##_##is_half}}

TILE_FUNCTIONS(1)
TILE_FUNCTIONS(2)
TILE_FUNCTIONS(4)
#if defined(__AVX512F__)
TILE_FUNCTIONS(8)
TILE_FUNCTIONS(16)
#define TILE_ENTRIES(is_half)                                                          \
  {TILE_ENTRY(1, is_half), TILE_ENTRY(2, is_half), TILE_ENTRY(4, is_half),             \
   TILE_ENTRY(8, is_half), TILE_ENTRY(16, is_half)}
#elif defined(__AVX2__)
TILE_FUNCTIONS(8)
#define TILE_ENTRIES(is_half)                                                          \
  {TILE_ENTRY(1, is_half), TILE_ENTRY(2, is_half), TILE_ENTRY(4, is_half),             \
   TILE_ENTRY(8, is_half)}
#else
#define TILE_ENTRIES(is_half)                                                          \
  {TILE_ENTRY(1, is_half), TILE_ENTRY(2, is_half), TILE_ENTRY(4, is_half)}
#endif
/* clang-format on */

static tile_function *const tile_functions[2][5][2][PIXELS] = {TILE_ENTRIES(0), TILE_ENTRIES(1)};

#endif /* MLUOP_FAMILIES_CARAFE_GROUP_TILE_H_ */

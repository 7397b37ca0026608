/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LANE_DOTS_H_
#define MLUOP_FAMILIES_CARAFE_LANE_DOTS_H_

/* grad_mask of up to 4 pixels that share a window, for VL groups or VL windows at once: a vector
   has one channel of each, or one tap. */

#include "families/carafe/item.h"

/* Of 32 registers, 4 x 5 hold sums; of 16, 4 x 3. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { SUMS = 5 };
#else
enum { SUMS = 3 };
#endif

enum { TILE = CARAFE_TILE, STEP = TILE * VL, MAX_TAPS = CARAFE_GROUPS_K * CARAFE_GROUPS_K };

/* Tap t of pixel e is at taps[t * STEP + e * VL], channel c of its gradient at
   grads[c * STEP + e * VL]. */
struct tile {
  float *taps, *grads;
  const int32_t *place;    /* of each tap in the map, in floats from the corner of the window */
  struct carafe_span span; /* of taps */
  int64_t channels, plane; /* plane: to the next channel, in the map */
};

/* Taps [tap, tap + count) of grad_mask. */
MLUOP_INLINE void dot_taps(const struct tile *t, const float *corner, int64_t tap, int pixels,
                           int count) {
  vf sum[TILE][SUMS];
  const float *x[SUMS];
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    x[i] = corner + t->place[tap + i];
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) sum[e][i] = vf_set(0.0f);
  }
  const float *grads = t->grads;
  const int64_t end = t->channels * t->plane;
  for (int64_t c = 0; c < end; c += t->plane, grads += STEP) {
    vf seen[SUMS];
    MLUOP_UNROLL for (int i = 0; i < count; i++) seen[i] = vf_pin(vf_load(x[i] + c));
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      const vf g = vf_load(grads + e * VL);
      MLUOP_UNROLL for (int i = 0; i < count; i++) sum[e][i] = vf_fma(g, seen[i], sum[e][i]);
    }
  }
  float *to = t->taps + tap * STEP;
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) vf_store(to + i * STEP + e * VL, sum[e][i]);
  }
}

MLUOP_INLINE void dot_tile(const struct tile *t, const float *corner, int pixels) {
  int64_t tap = t->span.begin;
  for (; tap + SUMS <= t->span.end; tap += SUMS) dot_taps(t, corner, tap, pixels, SUMS);
  for (; tap + 2 <= t->span.end; tap += 2) dot_taps(t, corner, tap, pixels, 2);
  if (tap < t->span.end) dot_taps(t, corner, tap, pixels, 1);
}

typedef void dots_function(const struct tile *t, const float *corner);

static void dots_1(const struct tile *t, const float *corner) { dot_tile(t, corner, 1); }
static void dots_3(const struct tile *t, const float *corner) { dot_tile(t, corner, 3); }
static void dots_4(const struct tile *t, const float *corner) { dot_tile(t, corner, 4); }

/* By pixels - 1. */
static dots_function *const dots_functions[TILE] = {dots_1, 0, dots_3, dots_4};

#endif /* MLUOP_FAMILIES_CARAFE_LANE_DOTS_H_ */

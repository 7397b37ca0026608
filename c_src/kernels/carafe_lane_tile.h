/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_CARAFE_LANE_TILE_H_
#define MLUOP_KERNELS_CARAFE_LANE_TILE_H_

/* Gradients of a tile of pixels that share a window, for VL groups at once: a vector has one
   channel of each, or one tap. */

#include "kernels/carafe_item.h"

/* Of 32 registers, 4 x 5 hold sums of grad_mask, and 4 x 4 gradients; of 16, 4 x 3 and 4 x 2. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { SUMS = 5, CHANNELS = 4 };
#else
enum { SUMS = 3, CHANNELS = 2 };
#endif

enum { TILE = CARAFE_TILE, STEP = TILE * VL, MAX_TAPS = CARAFE_GROUPS_K * CARAFE_GROUPS_K };

/* Up to 4 pixels of grad_output that share a window, for VL groups. Tap t of pixel e is at
   taps[t * STEP + e * VL], channel c of its gradient at grads[c * STEP + e * VL]. */
struct tile {
  float *taps, *grads;
  const int32_t *place;    /* of each tap in the map, in floats from the corner of the window */
  struct carafe_span span; /* of taps */
  int64_t channels;
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
  for (int64_t c = 0; c < t->channels * VL; c += VL, grads += STEP) {
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

/* Adds what `count` channels from the first one on give to the map. */
MLUOP_INLINE void spread_channels(const struct tile *t, float *corner, int64_t first, int pixels,
                                  int count) {
  vf grad[TILE][CHANNELS];
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      grad[e][i] = vf_load(t->grads + (first + i) * STEP + e * VL);
    }
  }
  corner += first * VL;
  const float *weights = t->taps + t->span.begin * STEP;
  for (int64_t tap = t->span.begin; tap < t->span.end; tap++, weights += STEP) {
    float *to = corner + t->place[tap];
    vf sum[CHANNELS];
    MLUOP_UNROLL for (int i = 0; i < count; i++) sum[i] = vf_load(to + i * VL);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      const vf w = vf_pin(vf_load(weights + e * VL));
      MLUOP_UNROLL for (int i = 0; i < count; i++) sum[i] = vf_fma(w, grad[e][i], sum[i]);
    }
    MLUOP_UNROLL for (int i = 0; i < count; i++) vf_store(to + i * VL, sum[i]);
  }
}

MLUOP_INLINE void spread_tile(const struct tile *t, float *corner, int pixels) {
  int64_t c = 0;
  for (; c + CHANNELS <= t->channels; c += CHANNELS) {
    spread_channels(t, corner, c, pixels, CHANNELS);
  }
  if (CHANNELS > 2 && t->channels - c == 3) spread_channels(t, corner, c, pixels, CHANNELS - 1);
  if (CHANNELS > 2 && t->channels - c == 2) spread_channels(t, corner, c, pixels, 2);
  if (t->channels - c == 1) spread_channels(t, corner, c, pixels, 1);
}

typedef void tile_function(const struct tile *t, float *corner);

#define TILE_FUNCTIONS(pixels)                                                                   \
  static void dot_##pixels(const struct tile *t, float *corner) { dot_tile(t, corner, pixels); } \
  static void spread_##pixels(const struct tile *t, float *corner) {                             \
    spread_tile(t, corner, pixels);                                                              \
  }
TILE_FUNCTIONS(1)
TILE_FUNCTIONS(3)
TILE_FUNCTIONS(4)

/* By pixels - 1. */
static tile_function *const dot_functions[TILE] = {dot_1, 0, dot_3, dot_4};
static tile_function *const spread_functions[TILE] = {spread_1, 0, spread_3, spread_4};

#endif /* MLUOP_KERNELS_CARAFE_LANE_TILE_H_ */

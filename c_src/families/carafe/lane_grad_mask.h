/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LANE_GRAD_MASK_H_
#define MLUOP_FAMILIES_CARAFE_LANE_GRAD_MASK_H_

/* grad_mask of small_channels: of up to 4 pixels that share a window, for VL positions at once. A
   vector has one channel of each, or one tap. */

#include "families/carafe/planes.h"

/* Taps [tap, tap + count). */
MLUOP_INLINE void dot_taps(const struct lane_windows *t, int64_t tap, int pixels, int count) {
  const int64_t unit = t->input_unit, step = t->values_unit;
  vf sum[CARAFE_TILE][LANE_TAPS];
  const float *x[LANE_TAPS];
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    x[i] = t->input + t->place[tap + i];
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) sum[e][i] = vf_set(0.0f);
  }
  const float *grads = t->values;
  for (int64_t c = 0; c < t->channels; c++, grads += CARAFE_TILE * step) {
    vf seen[LANE_TAPS];
    MLUOP_UNROLL for (int i = 0; i < count; i++) seen[i] = vf_opaque(vf_load(x[i] + c * unit));
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      const vf g = vf_load(grads + e * step);
      MLUOP_UNROLL for (int i = 0; i < count; i++) sum[e][i] = vf_fma(g, seen[i], sum[e][i]);
    }
  }
  float *to = t->taps + tap * CARAFE_TILE * VL;
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++)
        vf_store(to + (i * CARAFE_TILE + e) * VL, sum[e][i]);
  }
}

MLUOP_INLINE void dot_lanes(const struct lane_windows *t, int pixels) {
  int64_t tap = t->span.begin;
  for (; tap + LANE_TAPS <= t->span.end; tap += LANE_TAPS) dot_taps(t, tap, pixels, LANE_TAPS);
  for (; tap + 2 <= t->span.end; tap += 2) dot_taps(t, tap, pixels, 2);
  if (tap < t->span.end) dot_taps(t, tap, pixels, 1);
}

static void dot_lane_pixels(const struct lane_windows *t, int pixels) {
  if (pixels == 1) dot_lanes(t, 1);
  if (pixels == 3) dot_lanes(t, 3);
  if (pixels == 4) dot_lanes(t, 4);
}

#endif /* MLUOP_FAMILIES_CARAFE_LANE_GRAD_MASK_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LANE_SUMS_H_
#define MLUOP_FAMILIES_CARAFE_LANE_SUMS_H_

/* grad_input of small_channels: what the pixels of a slice contribute to VL positions of some rows
   of the map, for some channels. It is added up in registers over K columns of windows, and in
   memory once. */

#include "families/carafe/planes.h"

/* Rows of the map that are done together. */
enum { LANE_ROWS = 5 };

struct lane_sums {
  const float *weights, *grads; /* of the window whose tap 0 of a row is on the first position */
  float *sums[LANE_ROWS];
  int64_t K, channels, plane, pitch; /* number t of pixel e is in plane 4 * t + e */
};

/* The window with tap kw on a position lies kw columns before the one with tap 0 there. */
MLUOP_INLINE void add_lanes(const struct lane_sums *t, int64_t channel, int pixels, int rows,
                            int channels) {
  const int64_t plane = t->plane, step = CARAFE_TILE * plane;
  vf sum[LANE_ROWS][LANE_CHANNELS];
  MLUOP_UNROLL for (int y = 0; y < rows; y++) {
    MLUOP_UNROLL for (int c = 0; c < channels; c++) sum[y][c] = vf_set(0.0f);
  }
  const float *weights = t->weights, *grads = t->grads + channel * step;
  for (int64_t kw = 0; kw < t->K; kw++) {
    for (int64_t e = 0; e < pixels; e++) {
      vf grad[LANE_CHANNELS];
      MLUOP_UNROLL for (int c = 0; c < channels; c++) {
        grad[c] = vf_opaque(vf_load(grads + c * step + e * plane));
      }
      MLUOP_UNROLL for (int y = 0; y < rows; y++) {
        const vf w = vf_opaque(vf_load(weights + e * plane + y * t->K * step));
        MLUOP_UNROLL for (int c = 0; c < channels; c++) sum[y][c] = vf_fma(w, grad[c], sum[y][c]);
      }
    }
    weights += step - t->pitch;
    grads -= t->pitch;
  }
  MLUOP_UNROLL for (int y = 0; y < rows; y++) {
    MLUOP_UNROLL for (int c = 0; c < channels; c++) {
      float *to = t->sums[y] + (channel + c) * plane;
      vf_store(to, vf_load(to) + sum[y][c]);
    }
  }
}

MLUOP_INLINE void add_channels(const struct lane_sums *t, int pixels, int rows) {
  int64_t c = 0;
  for (; c + LANE_CHANNELS <= t->channels; c += LANE_CHANNELS) {
    add_lanes(t, c, pixels, rows, LANE_CHANNELS);
  }
  if (LANE_CHANNELS > 2 && t->channels - c == 3) add_lanes(t, c, pixels, rows, LANE_CHANNELS - 1);
  if (LANE_CHANNELS > 2 && t->channels - c == 2) add_lanes(t, c, pixels, rows, 2);
  if (t->channels - c == 1) add_lanes(t, c, pixels, rows, 1);
}

static void add_rows_of_lanes(const struct lane_sums *t, int pixels, int64_t rows) {
  if (rows == 1) add_channels(t, pixels, 1);
  if (rows == 2) add_channels(t, pixels, 2);
  if (rows == 3) add_channels(t, pixels, 3);
  if (rows == 4) add_channels(t, pixels, 4);
  if (rows == 5) add_channels(t, pixels, 5);
}

#endif /* MLUOP_FAMILIES_CARAFE_LANE_SUMS_H_ */

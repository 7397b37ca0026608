/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LANE_GRAD_INPUT_H_
#define MLUOP_FAMILIES_CARAFE_LANE_GRAD_INPUT_H_

/* grad_input of small_channels, in one of two layouts (planes.h). */

#include "families/carafe/planes.h"

/* Numbers in planes: what the pixels of a slice contribute to VL positions of some rows of the map,
   for some channels, is added up in registers over K columns of windows, and in memory once. */

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

/* Columns that have vectors of groups: what the pixels of a slice contribute to the pixels of the
   map under their window is added in memory. Columns [begin, end) and `rows` rows of the window are
   in the block. */
struct lane_spread {
  const float *weights,
      *grads; /* tap or channel t of pixel e is number 4 * t + e; tap: of `rows` */
  float *sums[CARAFE_SMALL_BACKWARD_K]; /* of column `begin` of each row */
  int64_t K, channels, begin, end, rows;
  int64_t column; /* floats of sums to the next one */
};

MLUOP_INLINE void spread_channels(const struct lane_spread *t, int64_t channel, int pixels,
                                  int count) {
  const int64_t skip = t->K - (t->end - t->begin);
  vf grad[CARAFE_TILE][LANE_CHANNELS];
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      grad[e][i] = vf_load(t->grads + ((channel + i) * CARAFE_TILE + e) * VL);
    }
  }
  const float *weights = t->weights + t->begin * CARAFE_TILE * VL;
  for (int64_t y = 0; y < t->rows; y++, weights += skip * CARAFE_TILE * VL) {
    float *sums = t->sums[y] + channel * VL;
    for (int64_t kw = t->begin; kw < t->end; kw++, sums += t->column) {
      vf sum[LANE_CHANNELS];
      MLUOP_UNROLL for (int i = 0; i < count; i++) sum[i] = vf_load(sums + i * VL);
      MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
        const vf w = vf_opaque(vf_load(weights + e * VL));
        MLUOP_UNROLL for (int i = 0; i < count; i++) sum[i] = vf_fma(w, grad[e][i], sum[i]);
      }
      MLUOP_UNROLL for (int i = 0; i < count; i++) vf_store(sums + i * VL, sum[i]);
      weights += CARAFE_TILE * VL;
    }
  }
}

MLUOP_INLINE void spread_tile(const struct lane_spread *t, int pixels) {
  int64_t c = 0;
  for (; c + LANE_CHANNELS <= t->channels; c += LANE_CHANNELS) {
    spread_channels(t, c, pixels, LANE_CHANNELS);
  }
  for (; c < t->channels; c++) spread_channels(t, c, pixels, 1);
}

static void spread_pixels(const struct lane_spread *t, int pixels) {
  if (pixels == 1) spread_tile(t, 1);
  if (pixels == 3) spread_tile(t, 3);
  if (pixels == 4) spread_tile(t, 4);
}

#endif /* MLUOP_FAMILIES_CARAFE_LANE_GRAD_INPUT_H_ */

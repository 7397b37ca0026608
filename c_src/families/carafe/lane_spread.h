/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LANE_SPREAD_H_
#define MLUOP_FAMILIES_CARAFE_LANE_SPREAD_H_

/* grad_input of small_channels where columns have vectors of groups: what the pixels of a slice
   contribute to the pixels of the map under their window is added in memory. */

#include "families/carafe/lane_dots.h"

/* Columns [begin, end) and `rows` rows of the window are in the block. */
struct lane_spread {
  const float *weights,
      *grads;         /* tap or channel t of pixel e is number 4 * t + e; tap: of `rows` */
  float *const *sums; /* of column `begin` of each row */
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

#endif /* MLUOP_FAMILIES_CARAFE_LANE_SPREAD_H_ */

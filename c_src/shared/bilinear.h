/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_BILINEAR_H_
#define MLUOP_SHARED_BILINEAR_H_

/* The one bilinear sampler. Coordinates and weights are float32 with one rounding per operation, so
   that every CPU samples the same points. */

#include <stdint.h>

/* One coordinate on an axis of `extent` pixels: it lies between `low` and `high`, `frac` of the way
   to `high`. */
struct mluop_axis {
  int64_t low, high;
  float frac;
};

/* False if the coordinate is outside [-1, extent] or NaN: such a sample is 0. Huge and infinite
   coordinates never reach the conversion to an integer. */
static inline int mluop_axis_at(float at, int64_t extent, struct mluop_axis *axis) {
  if (!(at >= -1.0f && at <= (float)extent)) return 0;
  if (at <= 0.0f) at = 0.0f;
  axis->low = (int64_t)at;
  if (axis->low >= extent - 1) {
    axis->low = axis->high = extent - 1;
    axis->frac = 0.0f;
  } else {
    axis->high = axis->low + 1;
    axis->frac = at - (float)axis->low;
  }
  return 1;
}

#endif /* MLUOP_SHARED_BILINEAR_H_ */

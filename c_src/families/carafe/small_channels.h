/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_
#define MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_

/* How a thread's memory is laid out where groups have few channels. `lanes`: of a vector. */

#include "core/arena.h"
#include "families/carafe/job.h"

struct carafe_small_scratch {
  float *input, *sums;    /* rings of rows, channel by channel */
  float *weights, *grads; /* of a slice of pixels, for a row of windows: tap by tap */
  float *taps;            /* of a vector of windows */
  int64_t plane;          /* floats of a channel of a row */
  int spreads;            /* columns have vectors of groups */
};

/* The rows of the map under the windows of a row are kept in rings of so many. */
static inline int64_t carafe_small_slots(const struct carafe_args *a) {
  return mluop_min(a->K, a->H);
}

static inline int carafe_small_spreads(const struct carafe_args *a, int64_t lanes) {
  return a->output == NULL && a->K * a->K * a->S * a->S <= CARAFE_SUM_TERMS && a->G >= lanes;
}

/* Positions of a column of `groups` groups. */
static inline int64_t carafe_small_pitch(const struct carafe_args *a, int64_t groups,
                                         int64_t lanes) {
  return carafe_small_spreads(a, lanes) ? mluop_div_up(groups, lanes) * lanes : groups;
}

static inline struct carafe_small_scratch carafe_small_layout(struct mluop_arena *arena,
                                                              const struct carafe_args *a,
                                                              int64_t lanes) {
  const int64_t pitch = carafe_small_pitch(a, a->plan.groups, lanes), taps = a->K * a->K;
  const int64_t margin = carafe_padded((a->K - 1) / 2 * pitch);
  const int is_forward = a->output != NULL;
  struct carafe_small_scratch s = {.spreads = carafe_small_spreads(a, lanes)};
  s.plane = carafe_padded(margin + a->plan.windows * pitch + CARAFE_PAD) | CARAFE_PAD;
  const int64_t ring = carafe_small_slots(a) * a->C * s.plane;
  const int64_t plane = CARAFE_TILE * (s.spreads || is_forward ? CARAFE_PAD : s.plane);
  s.input = mluop_take(arena, ring, sizeof(float));
  s.sums = mluop_take(arena, is_forward ? 0 : ring, sizeof(float));
  s.weights = mluop_take(arena, taps * plane, sizeof(float));
  s.grads = mluop_take(arena, a->C * plane, sizeof(float));
  s.taps = mluop_take(arena, is_forward ? 0 : taps * CARAFE_TILE * CARAFE_PAD, sizeof(float));
  return s;
}

#endif /* MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_ */

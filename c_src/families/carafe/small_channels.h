/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_
#define MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_

/* How a thread's memory is laid out where groups have few channels. */

#include "core/arena.h"
#include "families/carafe/job.h"

struct carafe_small_scratch {
  float *input, *sums;    /* rings of rows, channel by channel */
  float *weights, *grads; /* of a slice of pixels, for a row of windows: tap by tap */
  float *taps;            /* of a vector of windows */
};

/* The rows of the map under the windows of a row are kept in rings of so many. */
static inline int64_t carafe_small_slots(const struct carafe_shape *a) {
  return carafe_min(a->K, a->H);
}

/* Positions of a column of `groups` groups. */
static inline int64_t carafe_small_pitch(const struct carafe_plan *plan, int64_t groups) {
  return plan->spread > 0 ? carafe_div_up(groups, plan->spread) * plan->spread : groups;
}

static inline struct carafe_small_scratch carafe_small_layout(struct mluop_arena *arena,
                                                              const struct carafe_args *args) {
  const struct carafe_shape *a = &args->shape;
  const int is_forward = args->grad_output == NULL, spread = args->plan.spread > 0;
  const int64_t ring = carafe_small_slots(a) * a->C * args->plan.plane, taps = a->K * a->K;
  const int64_t plane = spread || is_forward ? CARAFE_PAD : args->plan.plane;
  struct carafe_small_scratch s;
  s.input = mluop_take(arena, ring, sizeof(float));
  s.sums = mluop_take(arena, is_forward ? 0 : ring, sizeof(float));
  s.weights = mluop_take(arena, taps * CARAFE_TILE * plane, sizeof(float));
  s.grads = mluop_take(arena, a->C * CARAFE_TILE * plane, sizeof(float));
  s.taps = mluop_take(arena, is_forward ? 0 : taps * CARAFE_TILE * CARAFE_PAD, sizeof(float));
  return s;
}

#endif /* MLUOP_FAMILIES_CARAFE_SMALL_CHANNELS_H_ */

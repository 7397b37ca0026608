/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_BACKWARD_H_
#define MLUOP_FAMILIES_CARAFE_BACKWARD_H_

/* How a thread's memory is laid out, for the backward. */

#include "core/arena.h"
#include "families/carafe/job.h"

/* With S == 1, tiles of 4 neighbours reach up to 3 columns beside the map. */
static inline int64_t carafe_margin_columns(const struct carafe_shape *a) {
  return a->S == 1 ? CARAFE_TILE - 1 : 0;
}

/* Floats of a pixel in the rings, of one part of the channels. */
static inline int64_t carafe_pixel_floats(const struct carafe_args *args) {
  return args->cut.groups * carafe_padded(args->plan.part);
}

static inline int64_t carafe_input_row_floats(const struct carafe_args *args) {
  const struct carafe_shape *a = &args->shape;
  return (carafe_min(a->W, args->cut.columns + a->K - 1) + 2 * carafe_margin_columns(a)) *
         carafe_pixel_floats(args);
}

static inline int64_t carafe_sums_row_floats(const struct carafe_args *args) {
  return args->cut.columns * carafe_pixel_floats(args);
}

/* Of the general kernel. Each ring has its rows part by part of the channels. */
struct carafe_general_scratch {
  float *input, *sums, *totals; /* totals: NULL if sums are made directly */
  float *grads;                 /* of a slice of pixels */
  float *taps;                  /* their weights, or their grad_mask, if those are half */
};

static inline struct carafe_general_scratch carafe_general_layout(struct mluop_arena *arena,
                                                                  const struct carafe_args *args) {
  const struct carafe_shape *a = &args->shape;
  const struct carafe_plan *plan = &args->plan;
  const int64_t rows = plan->parts * carafe_slots(a), pixels = plan->windows * CARAFE_TILE;
  struct carafe_general_scratch s = {.totals = NULL};
  s.input = mluop_take(arena, rows * carafe_input_row_floats(args), sizeof(float));
  s.sums = mluop_take(arena, rows * carafe_sums_row_floats(args), sizeof(float));
  if (plan->total_rows > 0) {
    s.totals = mluop_take(arena, rows * carafe_sums_row_floats(args), sizeof(float));
  }
  s.grads = mluop_take(arena, pixels * plan->parts * carafe_padded(plan->part), sizeof(float));
  s.taps = mluop_take(arena, a->is_half ? pixels * carafe_padded(a->K * a->K) : 0, sizeof(float));
  return s;
}

#endif /* MLUOP_FAMILIES_CARAFE_BACKWARD_H_ */

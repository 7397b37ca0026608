/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GENERAL_H_
#define MLUOP_FAMILIES_CARAFE_GENERAL_H_

/* How a thread's memory is laid out, for the general kernels of both directions. */

#include "core/arena.h"
#include "families/carafe/job.h"

/* Rows of the map, packed as floats. A ring has those under the windows of a row; row y is in slot
   y % slots. The pixels of a column lie side by side: windows are in one piece, and spread over all
   sets of the first-level cache. */
struct carafe_rings {
  float *input;
  float *sums, *totals;         /* of grad_input; totals: NULL if sums are made directly */
  float *grads;                 /* of a slice of pixels */
  float *taps;                  /* their weights, or their grad_mask, if those are half */
  int64_t slots, pixel, column; /* floats of a packed pixel, and from a column to the next */
};

/* Tiles of 4 neighbours reach up to 3 columns beside the map. */
enum { CARAFE_MARGIN = CARAFE_TILE - 1 };

/* The forward packs one row ahead. */
static inline int64_t carafe_slots(const struct carafe_args *args) {
  return carafe_min(args->shape.K + (args->output != NULL), args->shape.H);
}

/* Floats of a packed pixel: an odd number of cache lines, and one of them at least is free. */
static inline int64_t carafe_pixel_floats(const struct carafe_args *args) {
  const int64_t floats = args->plan.groups * carafe_padded(args->plan.channels);
  return ((floats / CARAFE_PAD + 1) | 1) * CARAFE_PAD;
}

static inline int64_t carafe_column_floats(const struct carafe_args *args) {
  return carafe_slots(args) * carafe_pixel_floats(args);
}

static inline struct carafe_rings carafe_lay_out(struct mluop_arena *arena,
                                                 const struct carafe_args *args) {
  const struct carafe_shape *a = &args->shape;
  const struct carafe_plan *plan = &args->plan;
  const int is_forward = args->output != NULL;
  const int64_t pixels = plan->windows * CARAFE_TILE, taps = a->K * a->K;
  const int64_t around = carafe_min(a->W, plan->columns + a->K - 1) + 2 * CARAFE_MARGIN;
  const int64_t own = is_forward ? 0 : plan->columns;
  const int64_t weights =
      is_forward ? plan->windows * a->S * a->S * plan->groups * taps : pixels * carafe_padded(taps);
  struct carafe_rings m = {.slots = carafe_slots(args), .pixel = carafe_pixel_floats(args)};
  m.column = m.slots * m.pixel;
  m.input = mluop_take(arena, around * m.column, sizeof(float));
  m.sums = mluop_take(arena, own * m.column, sizeof(float));
  if (plan->total_rows > 0) m.totals = mluop_take(arena, own * m.column, sizeof(float));
  m.grads = mluop_take(arena, is_forward ? 0 : pixels * carafe_padded(a->C), sizeof(float));
  m.taps = mluop_take(arena, a->is_half ? weights : 0, sizeof(float));
  return m;
}

#endif /* MLUOP_FAMILIES_CARAFE_GENERAL_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GENERAL_H_
#define MLUOP_FAMILIES_CARAFE_GENERAL_H_

/* How a thread's memory is laid out, for the general kernels of both directions.

   Rows of the map, packed as floats, are in rings. A ring has those under the windows of a row; row
   y is in slot y % slots. The pixels of a column lie side by side: windows are in one piece, and
   spread over all sets of the first-level cache. */

#include "core/arena.h"
#include "families/carafe/job.h"

/* Tiles of 4 neighbours reach up to 3 columns beside the map. */
enum { CARAFE_MARGIN = CARAFE_TILE - 1 };

/* The forward packs one row ahead, which needs a slot of its own. */
static inline int64_t carafe_slots(const struct carafe_args *a) {
  return mluop_min(a->K + (a->output != NULL), a->H);
}

/* Floats of a packed pixel: an odd number of cache lines, and one of them at least is free. */
static inline int64_t carafe_pixel_floats(const struct carafe_args *a) {
  const int64_t floats = a->plan.groups * carafe_padded(a->plan.channels);
  return ((floats / CARAFE_PAD + 1) | 1) * CARAFE_PAD;
}

/* Floats from a column to the next. */
static inline int64_t carafe_column_floats(const struct carafe_args *a) {
  return carafe_slots(a) * carafe_pixel_floats(a);
}

/* Floats of a ring of the input. */
static inline int64_t carafe_ring_floats(const struct carafe_args *a) {
  const int64_t columns = mluop_min(a->W, a->plan.columns + a->K - 1) + 2 * CARAFE_MARGIN;
  return columns * carafe_column_floats(a);
}

/* Floats of the weights of some windows, if those are half. */
static inline int64_t carafe_weight_floats(const struct carafe_args *a) {
  const int64_t pixels = a->plan.windows * a->S * a->S;
  return a->is_half ? carafe_padded(pixels * a->plan.groups * a->K * a->K) : 0;
}

/* Takes the ring of the input, and scratch memory for half weights of some windows and, behind
   them, for an output that becomes NCHW. */
static inline float *carafe_lay_out_forward(struct mluop_arena *arena, const struct carafe_args *a,
                                            float **scratch) {
  const int64_t pixels = a->plan.planes != NULL ? a->plan.windows * a->S * a->S : 0;
  const int64_t floats = carafe_weight_floats(a) + pixels * carafe_pixel_floats(a);
  float *ring = mluop_take(arena, carafe_ring_floats(a), sizeof(float));
  *scratch = mluop_take(arena, floats, sizeof(float));
  return ring;
}

/* Channels are cut into parts, each with rings of its own: windows of one stay in the first-level
   cache. */
struct carafe_rings {
  float *input;
  float *sums, *totals; /* of grad_input; totals: NULL if sums are made directly */
  float *grads;         /* of a slice of pixels, of a part */
  float *weights, *results /* of a slice: the mask and grad_mask, if those are half */;
};

static inline int64_t carafe_parts(const struct carafe_args *a) {
  return mluop_div_up(a->C, a->plan.channels);
}

/* Two-level sums: 0, or rows of windows that are summed together; and slices of their pixels. */
static inline int64_t carafe_total_rows(const struct carafe_args *a) {
  const int64_t terms = a->K * a->S * a->S;
  return a->K * terms > CARAFE_SUM_TERMS ? mluop_max(1, CARAFE_SUM_TERMS / 2 / terms) : 0;
}

static inline int64_t carafe_total_slices(const struct carafe_args *a) {
  return mluop_max(1, CARAFE_SUM_TERMS / (CARAFE_TILE * a->K));
}

static inline struct carafe_rings carafe_lay_out_backward(struct mluop_arena *arena,
                                                          const struct carafe_args *a) {
  const int64_t parts = carafe_parts(a), pixels = a->plan.windows * CARAFE_TILE;
  const int64_t own = parts * a->plan.columns * carafe_column_floats(a);
  const int64_t taps = a->is_half ? pixels * carafe_padded(a->K * a->K) : 0;
  struct carafe_rings m = {.totals = NULL};
  m.input = mluop_take(arena, parts * carafe_ring_floats(a), sizeof(float));
  m.sums = mluop_take(arena, own, sizeof(float));
  if (carafe_total_rows(a) > 0) m.totals = mluop_take(arena, own, sizeof(float));
  m.grads = mluop_take(arena, pixels * carafe_padded(a->plan.channels), sizeof(float));
  m.weights = mluop_take(arena, taps, sizeof(float));
  m.results = mluop_take(arena, taps, sizeof(float));
  return m;
}

#endif /* MLUOP_FAMILIES_CARAFE_GENERAL_H_ */

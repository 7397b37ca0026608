/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_BACKWARD_PLAN_H_
#define MLUOP_FAMILIES_CARAFE_BACKWARD_PLAN_H_

/* The call of a backward, how it is cut into items, and the memory that a thread works in. */

#include "core/arena.h"
#include "families/carafe/job.h"

struct carafe_backward_plan {
  int64_t part, parts;  /* a group's channels: parts of at most so many, and how many parts */
  int64_t segment;      /* windows of a row that are done together */
  int64_t plane;        /* small_channels: floats of a channel of a row; */
  int64_t spread;       /* and 0, or the lanes of a vector, if columns have vectors of groups */
  int64_t total_rows;   /* two-level sums: 0, or rows of windows that are summed together; */
  int64_t total_slices; /* and slices of the pixels of a window */
};

struct carafe_backward_args {
  struct carafe_shape shape;
  const void *input, *mask, *grad_output;
  void *grad_input, *grad_mask;
  int large; /* the tensors exceed the caches */
  struct carafe_cut cut;
  struct carafe_backward_plan plan;
};

/* A thread keeps the rows of the map under its windows, and the sums of grad_input for them, in
   rings of so many rows. */
static inline int64_t carafe_slots(const struct carafe_shape *a) { return carafe_min(a->K, a->H); }

/* With S == 1, tiles of 4 neighbours reach up to 3 columns beside the map. */
static inline int64_t carafe_margin_columns(const struct carafe_shape *a) {
  return a->S == 1 ? CARAFE_TILE - 1 : 0;
}

/* Floats of a pixel in the rings, of one part of the channels. */
static inline int64_t carafe_pixel_floats(const struct carafe_backward_args *args) {
  return args->cut.groups * carafe_padded(args->plan.part);
}

static inline int64_t carafe_input_row_floats(const struct carafe_backward_args *args) {
  const struct carafe_shape *a = &args->shape;
  return (carafe_min(a->W, args->cut.columns + a->K - 1) + 2 * carafe_margin_columns(a)) *
         carafe_pixel_floats(args);
}

static inline int64_t carafe_sums_row_floats(const struct carafe_backward_args *args) {
  return args->cut.columns * carafe_pixel_floats(args);
}

/* Of the general kernel. Each ring has its rows part by part of the channels. */
struct carafe_general_scratch {
  float *input, *sums, *totals; /* totals: NULL if sums are made directly */
  float *grads;                 /* of a slice of pixels */
  float *taps;                  /* their weights, or their grad_mask, if those are half */
};

static inline struct carafe_general_scratch carafe_general_layout(
    struct mluop_arena *arena, const struct carafe_backward_args *args) {
  const struct carafe_shape *a = &args->shape;
  const struct carafe_backward_plan *plan = &args->plan;
  const int64_t rows = plan->parts * carafe_slots(a), pixels = plan->segment * CARAFE_TILE;
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

/* small_channels: windows up to this size. */
enum { CARAFE_SMALL_K = 11 };

struct carafe_small_scratch {
  float *input, *sums;    /* rings of rows, channel by channel */
  float *weights, *grads; /* of a slice of pixels, for a row of windows: tap by tap */
  float *taps;            /* of a vector of windows */
};

/* Positions of a column of `groups` groups. */
static inline int64_t carafe_small_pitch(const struct carafe_backward_plan *plan, int64_t groups) {
  return plan->spread > 0 ? carafe_div_up(groups, plan->spread) * plan->spread : groups;
}

static inline struct carafe_small_scratch carafe_small_layout(
    struct mluop_arena *arena, const struct carafe_backward_args *args) {
  const struct carafe_shape *a = &args->shape;
  const int64_t ring = carafe_slots(a) * a->C * args->plan.plane, taps = a->K * a->K;
  struct carafe_small_scratch s;
  s.input = mluop_take(arena, ring, sizeof(float));
  s.sums = mluop_take(arena, ring, sizeof(float));
  const int64_t plane = args->plan.spread > 0 ? CARAFE_PAD : args->plan.plane;
  s.weights = mluop_take(arena, taps * CARAFE_TILE * plane, sizeof(float));
  s.grads = mluop_take(arena, a->C * CARAFE_TILE * plane, sizeof(float));
  s.taps = mluop_take(arena, taps * CARAFE_TILE * CARAFE_PAD, sizeof(float));
  return s;
}

#endif /* MLUOP_FAMILIES_CARAFE_BACKWARD_PLAN_H_ */

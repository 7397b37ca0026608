/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_FORWARD_H_
#define MLUOP_FAMILIES_CARAFE_FORWARD_H_

/* How a thread's memory is laid out, for the forward. */

#include "core/arena.h"
#include "families/carafe/job.h"

/* Elements of a cache line. */
static inline int64_t carafe_line_elements(const struct carafe_shape *shape) {
  return shape->is_half ? 2 * CARAFE_PAD : CARAFE_PAD;
}

/* Packed rows: a ring of those under a window, and the one that is packed meanwhile; each of a
   block's columns and those around it. */
static inline int64_t carafe_ring_slots(const struct carafe_shape *shape) {
  return carafe_min(shape->K + 1, shape->H);
}

/* Floats of a packed pixel: an odd number of cache lines, and one of them at least is free. */
static inline int64_t carafe_ring_pixel(const struct carafe_args *args) {
  const int64_t floats = args->cut.groups * carafe_padded(args->cut.channels);
  return ((floats / CARAFE_PAD + 1) | 1) * CARAFE_PAD;
}

/* A thread's ring of packed rows, and packed weights of the windows that are done together. */
static inline void carafe_lay_out(const struct carafe_args *args, struct mluop_arena *arena,
                                  float **ring, float **weights) {
  const struct carafe_shape *a = &args->shape;
  const int64_t columns = carafe_min(a->W, args->cut.columns + a->K - 1);
  const int64_t pixels = args->plan.windows * a->S * a->S;
  *ring =
      mluop_take(arena, carafe_ring_slots(a) * columns * carafe_ring_pixel(args), sizeof(float));
  *weights =
      mluop_take(arena, a->is_half ? pixels * args->cut.groups * a->K * a->K : 0, sizeof(float));
}

#endif /* MLUOP_FAMILIES_CARAFE_FORWARD_H_ */

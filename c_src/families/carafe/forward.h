/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_FORWARD_H_
#define MLUOP_FAMILIES_CARAFE_FORWARD_H_

/* What the plan of the forward operator tells its kernel, and how a thread's memory is laid out. */

#include "core/arena.h"
#include "families/carafe/job.h"

struct carafe_forward_args {
  struct carafe_shape shape;
  struct carafe_cut cut;
  int64_t padded; /* 0, or floats of a packed group where vectors hold several groups */
  const void *input, *mask;
  void *output;
  int large; /* the tensors do not fit the caches */
};

/* Elements of a cache line. */
static inline int64_t carafe_line_elements(const struct carafe_shape *shape) {
  return shape->is_half ? 2 * CARAFE_PAD : CARAFE_PAD;
}

/* Rounding errors grow with the length of a sum: longer ones are made in two levels, as sums of
   sums of about this length. */
enum { CARAFE_SUM_LENGTH = 128, CARAFE_FORWARD_K = 45 };

/* Packed rows: a ring of those under a window, and the one that is packed meanwhile; each of a
   strip's columns and those around it. */
static inline int64_t carafe_ring_slots(const struct carafe_shape *shape) {
  return carafe_min(shape->K + 1, shape->H);
}

static inline int64_t carafe_ring_columns(const struct carafe_forward_args *args) {
  return carafe_min(args->shape.W, args->cut.columns + args->shape.K - 1);
}

/* Floats of a block of channels of a packed pixel. */
static inline int64_t carafe_block_floats(const struct carafe_forward_args *args) {
  return args->padded > 0 ? carafe_padded(args->cut.groups * args->padded)
                          : args->cut.groups * carafe_padded(args->cut.channels);
}

/* An odd number of cache lines, and one of them at least is free. */
static inline int64_t carafe_ring_pixel(const struct carafe_forward_args *args) {
  return ((carafe_block_floats(args) / CARAFE_PAD + 1) | 1) * CARAFE_PAD;
}

/* Window centres of a row that are done together. */
enum { CARAFE_SEGMENT = 16 };

/* Floats for the weights of the windows of a row that are done together, about. */
enum { CARAFE_PACKED_WEIGHTS = 1 << 14 };

static inline int64_t carafe_segment(const struct carafe_forward_args *args) {
  const struct carafe_shape *a = &args->shape;
  int64_t most = CARAFE_SEGMENT;
  if (a->is_half || args->padded > 0) {
    const int64_t weights = a->S * a->S * args->cut.groups * a->K * a->K;
    most = carafe_min(most, CARAFE_PACKED_WEIGHTS / weights);
  }
  return a->S == 1 ? carafe_max(CARAFE_TILE, most / CARAFE_TILE * CARAFE_TILE)
                   : carafe_max(1, most);
}

/* Scratch memory of a thread: packed rows, packed weights of a segment. */
struct carafe_forward_memory {
  float *ring, *weights;
};

/* Floats after the weights of a segment that groups of few channels may read: of the groups that
   the last vector has room for, and of three taps. */
static inline int64_t carafe_overread(const struct carafe_shape *shape) {
  return CARAFE_PAD * shape->K * shape->K + 3;
}

static inline struct carafe_forward_memory carafe_lay_out(const struct carafe_forward_args *args,
                                                          struct mluop_arena *arena) {
  const struct carafe_shape *a = &args->shape;
  const int64_t pixels = carafe_segment(args) * a->S * a->S;
  const int64_t weights = pixels * args->cut.groups * a->K * a->K + carafe_overread(a);
  struct carafe_forward_memory memory;
  memory.ring =
      mluop_take(arena, carafe_ring_slots(a) * carafe_ring_columns(args) * carafe_ring_pixel(args),
                 sizeof(float));
  memory.weights = mluop_take(arena, a->is_half || args->padded > 0 ? weights : 0, sizeof(float));
  return memory;
}

#endif /* MLUOP_FAMILIES_CARAFE_FORWARD_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_JOB_H_
#define MLUOP_FAMILIES_CARAFE_JOB_H_

#include <stdint.h>

/* Input [N, H, W, G*C] and output [N, S*H, S*W, G*C] have G groups of C channels; the mask is
   [N, S*H, S*W, G, K, K]. Output pixel (p, q) sees the K x K window of the input around
   (p / S, q / S). */
struct carafe_shape {
  int64_t N, H, W, C, G, K, S;
  int is_half;
};

/* Channels that are done together, of one group or several. */
enum { CARAFE_BLOCK_CHANNELS = 256 };

/* How a job is cut into items: each does one row of a tile of columns of the map, for a block of
   channels. A block is either some whole groups (part == C) or a part of one (groups == 1). The
   rows of a strip follow each other, so that what was prepared for one serves the next. */
struct carafe_plan {
  int64_t groups, part;  /* of a full block */
  int64_t columns, rows; /* of a full strip */
  int64_t lanes;         /* 0, or floats of a packed group where vectors hold several groups */
};

/* Channels of a group are padded to this in packed rows: a multiple of every vector. */
enum { CARAFE_PAD = 16 };

/* Elements of a cache line. */
static inline int64_t carafe_line_elements(const struct carafe_shape *shape) {
  return shape->is_half ? 2 * CARAFE_PAD : CARAFE_PAD;
}

static inline int64_t carafe_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t carafe_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t carafe_div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t carafe_padded(int64_t channels) {
  return carafe_div_up(channels, CARAFE_PAD) * CARAFE_PAD;
}

/* Blocks of the channels, tiles of the columns, and items of a job. */
static inline int64_t carafe_blocks(const struct carafe_shape *shape,
                                    const struct carafe_plan *plan) {
  return carafe_div_up(shape->G, plan->groups) * carafe_div_up(shape->C, plan->part);
}

static inline int64_t carafe_tiles(const struct carafe_shape *shape,
                                   const struct carafe_plan *plan) {
  return carafe_div_up(shape->W, plan->columns);
}

/* Items of the job, those below the map included. */
static inline int64_t carafe_items(const struct carafe_shape *shape,
                                   const struct carafe_plan *plan) {
  return shape->N * carafe_div_up(shape->H, plan->rows) * carafe_tiles(shape, plan) *
         carafe_blocks(shape, plan) * plan->rows;
}

/* Packed rows: a ring of as many as a window has, each of a tile's columns and those around it. The
   pixels of a column lie side by side: a window is in one piece, and prefetches that run ahead of
   strided reads stay near. */
static inline int64_t carafe_ring_rows(const struct carafe_shape *shape) {
  return carafe_min(shape->K, shape->H);
}

static inline int64_t carafe_ring_columns(const struct carafe_shape *shape,
                                          const struct carafe_plan *plan) {
  return carafe_min(shape->W, plan->columns + shape->K - 1);
}

/* Floats of a block of channels of a packed pixel. */
static inline int64_t carafe_block_floats(const struct carafe_plan *plan) {
  return plan->lanes > 0 ? carafe_padded(plan->groups * plan->lanes)
                         : plan->groups * carafe_padded(plan->part);
}

/* An odd number of cache lines, and one of them at least is free. */
static inline int64_t carafe_ring_pixel(const struct carafe_plan *plan) {
  return ((carafe_block_floats(plan) / CARAFE_PAD + 1) | 1) * CARAFE_PAD;
}

/* Window centres of a row that are done together. */
enum { CARAFE_SEGMENT = 16 };

/* Output pixels under a window that are done together. */
enum { CARAFE_TILE = 4 };

#endif /* MLUOP_FAMILIES_CARAFE_JOB_H_ */

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
  int packed;            /* input rows are read from copies in scratch memory, as floats */
  int64_t gap;           /* floats between packed pixels */
  int64_t lanes;         /* 0, or floats of a packed group where vectors hold several groups */
  int64_t turn;          /* groups begin with this many channels from their end */
};

/* Channels of a group are padded to this in packed rows: a multiple of every vector. */
enum { CARAFE_PAD = 16 };

/* Elements of a cache line, which is CARAFE_PAD words: one is a float, or two halves. */
static inline int64_t carafe_line_elements(const struct carafe_shape *shape) {
  return shape->is_half ? 2 * CARAFE_PAD : CARAFE_PAD;
}

static inline int64_t carafe_words(const struct carafe_shape *shape, int64_t elements) {
  return shape->is_half ? elements / 2 : elements;
}

struct carafe_backward_args {
  struct carafe_shape shape;
  struct carafe_plan plan; /* of blocks of whole groups */
  int64_t part;            /* channels of a group that are done together */
  const void *input, *mask, *grad_output;
  void *grad_input, *grad_mask;
  int large; /* the tensors do not fit the caches: what comes next is asked for */
};

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

static inline int64_t carafe_ring_pixel(const struct carafe_plan *plan) {
  return carafe_block_floats(plan) + plan->gap;
}

/* Window centres of a row that are done together. */
enum { CARAFE_SEGMENT = 16 };

/* Pixels of an output row in a segment, and the one before. */
static inline int64_t carafe_ends_row(const struct carafe_shape *shape) {
  return CARAFE_SEGMENT * shape->S + 1;
}

/* Floats for the vectors of a segment of the output that hold both ends of a group. */
static inline int64_t carafe_ends_size(const struct carafe_shape *shape,
                                       const struct carafe_plan *plan) {
  return plan->turn > 0 ? shape->S * carafe_ends_row(shape) * plan->groups * CARAFE_PAD : 0;
}

/* Floats for the weights of a segment, which are converted from halves: of 4 pixels at once, or of
   all if those are few. */
enum { CARAFE_SEGMENT_WEIGHTS = 6400 };

static inline int64_t carafe_weights_size(const struct carafe_shape *shape) {
  if (!shape->is_half) return 0;
  return carafe_max(CARAFE_SEGMENT * carafe_padded(4 * shape->K * shape->K),
                    CARAFE_SEGMENT_WEIGHTS + shape->S * CARAFE_PAD);
}

/* Backward, floats of scratch memory: for a tile of grad_output; for the rows of the
   input under the windows of a strip, one part of the channels and all; for the sums of grad_input
   that are not complete. */
static inline int64_t carafe_grads_size(const struct carafe_backward_args *args) {
  return 4 * carafe_padded(args->part);
}

/* With S == 1, tiles of 4 neighbours reach up to 3 columns beside the map. */
static inline int64_t carafe_margin(const struct carafe_shape *shape) {
  return shape->S == 1 ? 3 : 0;
}

static inline int64_t carafe_row_floats(const struct carafe_backward_args *args) {
  return (carafe_ring_columns(&args->shape, &args->plan) + 2 * carafe_margin(&args->shape)) *
         args->plan.groups * carafe_padded(args->part);
}

static inline int64_t carafe_part_floats(const struct carafe_backward_args *args) {
  return carafe_ring_rows(&args->shape) * carafe_row_floats(args);
}

static inline int64_t carafe_input_floats(const struct carafe_backward_args *args) {
  return carafe_div_up(args->shape.C, args->part) * carafe_part_floats(args);
}

static inline int64_t carafe_sums_floats(const struct carafe_backward_args *args) {
  return 2 * carafe_div_up(args->shape.C, args->part) * carafe_ring_rows(&args->shape) *
         args->plan.columns * args->plan.groups * carafe_padded(args->part);
}

/* Rounding errors grow with the length of a sum: where S * K x S * K products may meet in one of
   grad_input, each row of windows is summed on its own first, and of many pixels under a window
   only as many together as give an element about CARAFE_PART_TERMS products. */
enum { CARAFE_DIRECT_K = 11, CARAFE_DIRECT_SIDE = 45, CARAFE_PART_TERMS = 1024 };

static inline int carafe_sums_are_long(const struct carafe_shape *shape) {
  return shape->K > CARAFE_DIRECT_K || shape->S * shape->K > CARAFE_DIRECT_SIDE;
}

/* Many groups of few channels: vectors hold groups, whose number is padded to CARAFE_PAD. */
enum { CARAFE_GROUPS_K = 11, CARAFE_TILE = 4 };

static inline int64_t carafe_groups_pixel(const struct carafe_backward_args *args) {
  return carafe_padded(args->plan.groups) * args->shape.C;
}

/* Floats of a row of the map: of the columns that windows of a strip's neighbours reach. */
static inline int64_t carafe_groups_row(const struct carafe_backward_args *args) {
  return (args->plan.columns + 2 * (args->shape.K - 1)) * carafe_groups_pixel(args);
}

/* Floats for the taps of a tile, and the gradients of its pixels. */
static inline int64_t carafe_groups_tile(const struct carafe_backward_args *args) {
  return CARAFE_TILE * (args->shape.K * args->shape.K + args->shape.C) * CARAFE_PAD;
}

static inline int64_t carafe_groups_floats(const struct carafe_backward_args *args) {
  return carafe_groups_tile(args) + 2 * carafe_ring_rows(&args->shape) * carafe_groups_row(args);
}

/* Few groups of few channels: vectors hold columns. Floats of a row of the map for one channel: of
   the columns that windows of a strip's neighbours reach, and a vector beside them; an odd number
   of cache lines. */
static inline int64_t carafe_columns_plane(const struct carafe_backward_args *args) {
  return (carafe_padded(args->plan.columns + 2 * (args->shape.K - 1)) + CARAFE_PAD) | CARAFE_PAD;
}

static inline int64_t carafe_columns_row(const struct carafe_backward_args *args) {
  return args->plan.groups * args->shape.C * carafe_columns_plane(args);
}

/* Rows of the map, of a tile of the mask and of its gradients, and VL columns of those. */
static inline int64_t carafe_columns_floats(const struct carafe_backward_args *args) {
  const struct carafe_shape *a = &args->shape;
  return 2 * carafe_ring_rows(a) * carafe_columns_row(args) +
         CARAFE_TILE * (a->K * a->K + a->C) * (carafe_columns_plane(args) + CARAFE_PAD);
}

/* Groups of at most this many channels have vectors of taps instead, if a row of those fits. */
enum { CARAFE_NARROW = 4, CARAFE_NARROW_K = 11 };

/* Floats of a row of the map for one channel: of the columns that windows of a strip's neighbours
   reach, and a vector beside them. An odd number of cache lines, as between rows: what is stored in
   one is not taken for what is loaded from the next, as it is at multiples of 4 KiB. */
static inline int64_t carafe_narrow_plane(const struct carafe_backward_args *args) {
  return (carafe_padded(args->plan.columns + 2 * (args->shape.K - 1)) + CARAFE_PAD) | CARAFE_PAD;
}

static inline int64_t carafe_narrow_row(const struct carafe_backward_args *args) {
  return (args->plan.groups * args->shape.C * carafe_narrow_plane(args) + 3 * CARAFE_PAD) |
         CARAFE_PAD;
}

static inline int64_t carafe_narrow_floats(const struct carafe_backward_args *args) {
  const struct carafe_shape *a = &args->shape;
  if (a->C > CARAFE_NARROW || a->K > CARAFE_NARROW_K) return 0;
  return 2 * carafe_ring_rows(a) * carafe_narrow_row(args);
}

#endif /* MLUOP_FAMILIES_CARAFE_JOB_H_ */

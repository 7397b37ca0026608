/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_JOB_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_JOB_H_

#include "core/arena.h"

/* Every border of a box is straight: it lies between two neighbouring lines of the map, rows for
   the top and the bottom, columns for the left and the right border. The borders of one kind in one
   image form a list; a plan orders each list by line, and the kernels keep the two lines that they
   work on in scratch memory, as floats. */

/* From this pool_size on, the forward samples only the ends of the borders' parts within a pixel.
 */
enum { BORDER_ALIGN_POOL_LIMIT = 4096 };

/* Up to there, it finds the points of so many borders at once. */
enum { BORDER_ALIGN_LANES = 16 };

/* The map is [N,H,W,4C], `boxes` [N,K,4]. */
struct border_align_shape {
  int64_t N, H, W, C, K;
  int32_t pool_size;
  int is_half;
  const void *boxes;
};

struct border_align_plan {
  int large; /* tensors do not fit the caches: what is needed next is fetched ahead */
  /* Channels are done in blocks; a pixel of a line in scratch memory takes pixel_floats. */
  int64_t block, blocks, pixel_floats;
  int64_t line_floats, lines; /* room for the longest line, and lines that a thread holds */
  /* Of the forward: how many borders are sampled together, BORDER_ALIGN_LANES or 1, and room for
     their points. */
  int64_t together, point_groups;
};

/* `rows` and `argmax` are [N,K,4,C]. */
struct border_align_args {
  struct border_align_shape shape;
  struct border_align_plan plan;
  const void *map, *rows;   /* input, grad_output */
  void *map_out, *rows_out; /* grad_input, output */
  const int32_t *argmax;
  int32_t *argmax_out;
  int64_t *bad;    /* the first element of argmax outside [0, pool_size] */
  int32_t *orders; /* of all lists, see border_align_order_of */
};

/* The borders of a list in order: the boxes of image n, by the line of border b, those without a
   line last. `first` has K + 3 numbers, the others K: see order_list. */
struct border_align_order {
  int32_t *boxes, *first, *on_line;
};

static inline int64_t border_align_order_size(const struct border_align_shape *shape) {
  return 3 * shape->K + 3;
}

/* That of list n * 4 + b. */
static inline struct border_align_order border_align_order_of(const struct border_align_args *args,
                                                              int64_t list) {
  int32_t *const boxes = args->orders + list * border_align_order_size(&args->shape);
  const int64_t K = args->shape.K;
  return (struct border_align_order){boxes, boxes + K, boxes + 2 * K + 3};
}

/* Some points on borders: where they are along the border, the pixel before each, and the weights
   of the four pixels around it. */
struct border_align_points {
  float at[BORDER_ALIGN_LANES], weight[4][BORDER_ALIGN_LANES];
  int32_t place[BORDER_ALIGN_LANES], step[BORDER_ALIGN_LANES];
};

/* What a thread works in. */
struct border_align_scratch {
  float *lines;
  struct border_align_points *points;
};

static inline struct border_align_scratch border_align_take(const struct border_align_plan *plan,
                                                            struct mluop_arena *arena) {
  struct border_align_scratch scratch;
  scratch.lines = mluop_take(arena, plan->lines * plan->line_floats, sizeof(*scratch.lines));
  scratch.points = mluop_take(arena, plan->point_groups, sizeof(*scratch.points));
  return scratch;
}

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_JOB_H_ */

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

/* Up to these limits (floats count no further) it finds the points of so many borders at once. */
enum {
  BORDER_ALIGN_TOGETHER_POOL = 64,
  BORDER_ALIGN_TOGETHER_EXTENT = 1 << 24,
  BORDER_ALIGN_LANES = 16
};

/* One sample of each of so many borders, or so many of one border. */
struct border_sample_group {
  float weight[4][BORDER_ALIGN_LANES];
  int32_t place[BORDER_ALIGN_LANES]; /* the pixel along the border */
  int32_t step[BORDER_ALIGN_LANES];
};

/* The map is [N,H,W,4C], `boxes` [N,K,4]. */
struct border_align_shape {
  int64_t N, H, W, C, K;
  int32_t pool_size;
  int is_half;
  const void *boxes;
};

struct border_align_plan {
  int large;  /* tensors do not fit the caches: what is needed next is fetched ahead */
  int stream; /* ... and results lie so that whole vectors of them can go past the caches */
  /* Channels are done in blocks; a pixel of a line in scratch memory takes pixel_floats. */
  int64_t block, blocks, pixel_floats;
  int64_t line_floats, lines; /* room for the longest line, and lines that a thread holds */
  /* Of the forward: how many borders are sampled together, BORDER_ALIGN_LANES or 1, and the room
     for that. */
  int64_t together, sample_groups;
  int64_t sums;       /* of small channels: numbers that a thread adds up in */
  int64_t own_orders; /* 1: a thread orders each list that it comes to; 0: they are ordered */
};

/* The borders of a list in order: the boxes of image n, by the line of border b, those without a
   line last. `first` has K + 2 numbers, `keys` K, see order_list. */
struct border_align_order {
  int32_t *boxes, *first, *keys;
};

/* `rows` and `argmax` are [N,K,4,C]. */
struct border_align_args {
  struct border_align_shape shape;
  struct border_align_plan plan;
  const void *map, *rows;   /* input, grad_output */
  void *map_out, *rows_out; /* grad_input, output */
  const int32_t *argmax;
  int32_t *argmax_out;
  int64_t *bad; /* the first element of argmax outside [0, pool_size] */
  /* Of list n * 4 + b, K (or K + 2) numbers further on for each list; NULL if threads order lists
     by themselves. */
  struct border_align_order order;
};

static inline struct border_align_order border_align_take_orders(
    const struct border_align_shape *shape, int64_t lists, struct mluop_arena *arena) {
  struct border_align_order order;
  order.boxes = mluop_take(arena, lists * shape->K, sizeof(*order.boxes));
  order.first = mluop_take(arena, lists * (shape->K + 2), sizeof(*order.first));
  order.keys = mluop_take(arena, lists * shape->K, sizeof(*order.keys));
  return order;
}

/* What a thread works in. */
struct border_align_scratch {
  float *lines;
  double *sums;
  struct border_sample_group *samples;
  struct border_align_order order;
};

static inline struct border_align_scratch border_align_take(const struct border_align_args *args,
                                                            struct mluop_arena *arena) {
  const struct border_align_plan *plan = &args->plan;
  struct border_align_scratch scratch;
  scratch.lines = mluop_take(arena, plan->lines * plan->line_floats, sizeof(*scratch.lines));
  scratch.sums = mluop_take(arena, plan->sums, sizeof(*scratch.sums));
  scratch.samples = mluop_take(arena, plan->sample_groups, sizeof(*scratch.samples));
  scratch.order = border_align_take_orders(&args->shape, plan->own_orders, arena);
  return scratch;
}

/* The sums of a list: pixels in the order of its lines, and one more line, and place in each. */
static inline int64_t border_align_sums(const struct border_align_shape *shape) {
  return (shape->H + 1) * (shape->W + 1) * shape->C;
}

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_JOB_H_ */

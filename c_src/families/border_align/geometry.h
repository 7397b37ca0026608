/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_GEOMETRY_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_GEOMETRY_H_

#include "families/border_align/job.h"
#include "shared/bilinear.h"
#include "vector/simd.h"

/* One block of the channels of a list, and the map as its borders see it: `lines` across them,
   `places` along them. Steps are in elements of the map. */
struct border_list {
  const struct border_align_args *a;
  int64_t n;
  int b;
  int vertical; /* lines are columns */
  int64_t lines, places;
  int64_t line_step, place_step;
  int64_t channel, width; /* the block: `width` channels from `channel` on */
  int64_t origin;         /* the first of them in the first pixel of the map */
  struct border_align_order order;
};

static inline struct border_list border_list_of(const struct border_align_args *a, int64_t index,
                                                int64_t block) {
  const int64_t pixel = 4 * a->shape.C, row = a->shape.W * pixel;
  struct border_list list = {.a = a, .n = index / 4, .b = (int)(index % 4)};
  list.vertical = list.b % 2;
  list.lines = list.vertical ? a->shape.W : a->shape.H;
  list.places = list.vertical ? a->shape.H : a->shape.W;
  list.line_step = list.vertical ? pixel : row;
  list.place_step = list.vertical ? row : pixel;
  list.channel = block * a->plan.block;
  list.width =
      a->shape.C - list.channel < a->plan.block ? a->shape.C - list.channel : a->plan.block;
  list.origin = list.n * a->shape.H * row + list.b * a->shape.C + list.channel;
  list.order = border_align_order_of(a, index);
  return list;
}

/* Where the block of channels of box k starts in [N,K,4,C]. */
static inline int64_t border_row(const struct border_list *list, int64_t k) {
  return ((list->n * list->a->shape.K + k) * 4 + list->b) * list->a->shape.C + list->channel;
}

/* A border: where it is across the lines, and where it starts and ends and how it steps along
   them. */
struct border {
  float across, start, stride;
};

static inline struct border border_of(const struct border_list *list, int64_t k) {
  const struct border_align_args *a = list->a;
  const int64_t box = (list->n * a->shape.K + k) * 4;
  const int along = list->vertical ? 1 : 0, far = list->b >= 2 ? 2 : 0;
  const float low = mluop_load_as(a->shape.boxes, box + along, a->shape.is_half);
  const float high = mluop_load_as(a->shape.boxes, box + along + 2, a->shape.is_half);
  const float stride = (high - low) / (float)a->shape.pool_size;
  const float across = mluop_load_as(a->shape.boxes, box + 1 - along + far, a->shape.is_half);
  return far ? (struct border){across, high, -stride} : (struct border){across, low, stride};
}

/* Rows of borders in the order of a plan are too far apart for the CPU to see them coming. Lines
   that are about to be written are fetched too. (Always inline: compilers drop calls of functions
   that do nothing but prefetch.) */
MLUOP_INLINE void prefetch_elements(const void *base, int64_t first, int64_t count, int is_half) {
  const int64_t size = is_half ? 2 : 4;
  mluop_prefetch_bytes(base, first * size, count * size);
}

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_GEOMETRY_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_BORDER_ALIGN_GEOMETRY_H_
#define MLUOP_KERNELS_BORDER_ALIGN_GEOMETRY_H_

#include "kernels/bilinear.h"
#include "kernels/border_align.h"
#include "kernels/simd.h"

/* The map as the borders of one list see it: `lines` across them, `places` along them. Steps are in
   elements of the map; `origin` is the first channel of the list in the first pixel. */
struct border_list {
  int64_t n;
  int b;
  int vertical; /* lines are columns */
  int64_t lines, places;
  int64_t line_step, place_step, origin;
  const int32_t *order, *first;
};

static inline struct border_list border_list_of(const struct border_align_args *a, int64_t index) {
  const int64_t pixel = 4 * a->C, row = a->W * pixel;
  struct border_list list = {.n = index / 4, .b = (int)(index % 4)};
  list.vertical = list.b % 2;
  list.lines = list.vertical ? a->W : a->H;
  list.places = list.vertical ? a->H : a->W;
  list.line_step = list.vertical ? pixel : row;
  list.place_step = list.vertical ? row : pixel;
  list.origin = list.n * a->H * row + list.b * a->C;
  list.order = a->plan_order + index * a->K;
  list.first = a->plan_first + index * (a->K + 2);
  return list;
}

/* A border: where it is across the lines, and where it starts and how it steps along them. */
struct border {
  float across, start, stride, end;
};

static inline struct border border_of(const struct border_align_args *a,
                                      const struct border_list *list, int64_t k) {
  const int64_t box = (list->n * a->K + k) * 4;
  const int along = list->vertical ? 1 : 0, far = list->b >= 2 ? 2 : 0;
  const float low = mluop_load_as(a->boxes, box + along, a->is_half);
  const float high = mluop_load_as(a->boxes, box + along + 2, a->is_half);
  const float stride = (high - low) / (float)a->pool_size;
  const float across = mluop_load_as(a->boxes, box + 1 - along + far, a->is_half);
  return far ? (struct border){across, high, -stride, low}
             : (struct border){across, low, stride, high};
}

/* Where the channels of a border start in [N,K,4,C]. */
static inline int64_t row_of(const struct border_align_args *a, const struct border_list *list,
                             int64_t k) {
  return ((list->n * a->K + k) * 4 + list->b) * a->C;
}

/* Rows of borders in the order of a plan, and pixels of one border's channels, are too far apart
   for the CPU to see them coming. Lines that are about to be written are fetched too. */
static inline void prefetch_elements(const void *base, int64_t first, int64_t count, int is_half) {
  const int64_t size = is_half ? 2 : 4;
  const char *from = (const char *)base + first * size;
  for (int64_t i = 0; i < count * size; i += 64) mluop_prefetch(from + i);
}

/* So many pixels ahead. */
enum { AHEAD = 2 };

#endif /* MLUOP_KERNELS_BORDER_ALIGN_GEOMETRY_H_ */

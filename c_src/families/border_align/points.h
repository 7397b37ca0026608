/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_POINTS_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_POINTS_H_

#include "families/border_align/geometry.h"

/* The points at which the forward looks. */

enum {
  LANES = BORDER_ALIGN_LANES,
  NOWHERE = -2 /* the place of points outside: a pixel of zeros, and one after it */
};

/* The least float that is not below `value`. */
static inline float float_from(int64_t value) {
  const float nearest = (float)value;
  return (int64_t)nearest < value ? mluop_float_of_bits(mluop_bits_of_float(nearest) + 1) : nearest;
}

/* The places and weights of VL points, as mluop_axis_at says. */
MLUOP_INLINE void fill_points(struct border_align_points *points, int64_t lane, vf at, vf far_line,
                              const struct border_list *list) {
  const vf zero = vf_set(0.0f), one = vf_set(1.0f), extent = vf_set((float)list->places);
  const vf before_end = vf_select(vf_at_least(extent, at), one, zero);
  const vm inside = vf_nonzero(vf_select(vf_at_least(at, vf_set(-1.0f)), before_end, zero));
  const vf clamped = vf_select(inside, vf_max(at, zero), zero);
  const vi low = vi_truncate(clamped);
  const vm inner = vf_greater(vf_set(float_from(list->places - 1)), vf_of_int(low));
  const vf far_place = vf_select(inner, clamped - vf_of_int(low), zero);
  const vf near_line = one - far_line, near_place = one - far_place;
  const vi place = vi_select(inner, low, vi_set((int32_t)list->places - 1));
  vi_store(points->place + lane, vi_select(inside, place, vi_set(NOWHERE)));
  vf_store(points->weight[0] + lane, near_line * near_place);
  vf_store(points->weight[list->vertical ? 2 : 1] + lane, near_line * far_place);
  vf_store(points->weight[list->vertical ? 1 : 2] + lane, far_line * near_place);
  vf_store(points->weight[3] + lane, far_line * far_place);
}

/* A border that is sampled: it lies between `line` and the next one, `far` of the way to that. */
struct border_walk {
  int64_t line;
  float far, start, stride;
  int64_t count; /* of points, once they have been found */
};

/* A border outside the map's lines has no point inside: neither has one that stays before the map.
   (One that starts at NaN would raise a floating-point exception.) */
static inline struct border_walk walk_of(const struct border_list *list, int64_t k) {
  const struct border border = border_of(list, k);
  struct mluop_axis across;
  if (!mluop_axis_at(border.across, list->lines, &across)) {
    return (struct border_walk){.start = -2.0f};
  }
  return (struct border_walk){across.low, across.frac, border.start, border.stride, 0};
}

/* Every step of borders side by side, each in a lane. (Without a stride, all show the same.) */
static inline void sample_together(struct border_align_points *points, struct border_walk *walks,
                                   int64_t count, const struct border_list *list) {
  const int64_t all = list->a->shape.pool_size + 1;
  float start[LANES] = {0}, stride[LANES] = {0}, far[LANES] = {0};
  for (int64_t k = 0; k < count; k++) {
    start[k] = walks[k].start;
    stride[k] = walks[k].stride;
    far[k] = walks[k].far;
    walks[k].count = walks[k].stride != 0.0f ? all : 1;
  }
  for (int64_t k = 0; k < count; k += VL) {
    vf at = vf_load(start + k);
    for (int32_t step = 0; step < all; step++) {
      fill_points(&points[step], k, at, vf_load(far + k), list);
      vi_store(points[step].step + k, vi_set(step));
      at = at + vf_load(stride + k);
    }
  }
}

static inline int same_exponent(float a, float b) {
  return (mluop_bits_of_float(a) ^ mluop_bits_of_float(b)) >> 23 == 0;
}

/* What `at` is after `steps` additions of the stride, each rounded to float32. While the exponent
   stays, floats are evenly spaced, and every addition moves by the same number of spaces: from the
   second one on also if the sum lies halfway between two floats, because it then starts from an
   even one. Such stretches are taken in one go. */
static inline float border_advance(float at, float stride, int64_t steps) {
  while (steps > 0) {
    const float one = at + stride, two = one + stride, three = two + stride;
    if (!(one < at || one > at)) return one; /* a fixed point, or NaN */
    if (steps < 3 || !same_exponent(one, two) || !same_exponent(two, three)) {
      at = one;
      steps--;
      continue;
    }
    /* Staying one space away from the exponent's lower end keeps to roundings at this spacing. */
    const int64_t bits = mluop_bits_of_float(three), place = bits & 0x7fffff;
    const int64_t move = bits - (int64_t)mluop_bits_of_float(two);
    if (move == 0) return three;
    int64_t jump = move > 0 ? (0x7fffff - place) / move : place > 1 ? (place - 1) / -move : 0;
    if (jump > steps - 3) jump = steps - 3;
    at = mluop_float_of_bits((uint32_t)(bits + jump * move));
    steps -= 3 + jump;
  }
  return at;
}

/* The pixel that a coordinate is in, so that it grows with the coordinate: -1 before the map,
   `extent` behind it. */
static inline int64_t border_cell(float at, int64_t extent) {
  struct mluop_axis axis;
  if (mluop_axis_at(at, extent, &axis)) return axis.low;
  return at > 0.0f ? extent : -1;
}

/* Point i of a border that has all lanes to itself. */
static inline void add_point(struct border_align_points *points, int64_t i, float at, int64_t step,
                             int64_t groups) {
  points[i % groups].at[i / groups] = at;
  points[i % groups].step[i / groups] = (int32_t)step;
}

/* The first and the last step in each pixel. Along an axis the value is linear within a pixel, so
   one of the two is its largest, up to rounding. */
static inline void find_ends(struct border_align_points *points, struct border_walk *walk,
                             const struct border_list *list) {
  const int64_t pool_size = list->a->shape.pool_size, groups = list->a->plan.point_groups;
  float at = walk->start;
  for (int64_t step = 0; step <= pool_size; step++) {
    add_point(points, walk->count++, at, step, groups);
    const int64_t cell = border_cell(at, list->places);
    /* So many steps more stay in the cell, and so many do not. */
    int64_t more = 0, beyond = pool_size - step + 1;
    while (beyond - more > 1) {
      const int64_t middle = more + (beyond - more) / 2;
      if (border_cell(border_advance(at, walk->stride, middle), list->places) == cell) {
        more = middle;
      } else {
        beyond = middle;
      }
    }
    at = border_advance(at, walk->stride, more);
    step += more;
    if (more > 0) add_point(points, walk->count++, at, step, groups);
    at = at + walk->stride;
  }
}

/* Also lanes without an end are computed: they have been written. */
static inline void sample_ends(struct border_align_points *points, struct border_walk *walk,
                               const struct border_list *list) {
  const int64_t groups = list->a->plan.point_groups;
  for (int64_t i = 0; i < groups; i++) memset(points[i].at, 0, sizeof(points[i].at));
  find_ends(points, walk, list);
  for (int64_t i = 0; i < groups && i < walk->count; i++) {
    for (int lane = 0; lane < LANES; lane += VL) {
      fill_points(&points[i], lane, vf_load(points[i].at + lane), vf_set(walk->far), list);
    }
  }
}

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_POINTS_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_SAMPLES_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_SAMPLES_H_

#include "families/border_align/geometry.h"

/* The points at which the forward looks. Along a border coordinates only grow or only shrink, so
   those inside the map are neighbours in the order of steps; before and after them the value is 0.
 */

enum { LANES = BORDER_ALIGN_LANES };

/* The samples of a border that are inside: `count` of them, from number `first` on. */
struct border_range {
  int64_t line; /* the border lies between this line and the next one */
  int64_t first, count;
  int zero_first;    /* is step 0 outside? */
  int32_t zero_last; /* the first step outside after those inside, or 0 */
};

struct border_samples {
  struct border_sample_group *groups;
  struct border_range range[LANES];
};

/* What to sample: borders side by side. */
struct border_lanes {
  float start[LANES], stride[LANES], across[LANES];
  float moving[LANES]; /* 1 or 0, where all points are outside */
};

/* The results of mluop_axis_at, and the weights; anything for points outside. */
MLUOP_INLINE void fill_lanes(struct border_sample_group *group, int64_t lane, vf at, vf far_line,
                             const struct border_list *list) {
  const vf zero = vf_set(0.0f), one = vf_set(1.0f), last = vf_set((float)(list->places - 1));
  const vf above = vf_select(vf_greater(at, zero), at, zero);
  const vf clamped = vf_select(vf_at_least(vf_set((float)list->places), above), above, zero);
  const vf low = vf_of_int(vi_truncate(clamped));
  const vm inner = vf_greater(last, low);
  const vf frac = vf_select(inner, clamped - low, zero);
  const vf near_line = one - far_line, near_place = one - frac;
  vi_store(group->place + lane, vi_truncate(vf_select(inner, low, last)));
  vf_store(group->weight[0] + lane, near_line * near_place);
  vf_store(group->weight[list->vertical ? 2 : 1] + lane, near_line * frac);
  vf_store(group->weight[list->vertical ? 1 : 2] + lane, far_line * near_place);
  vf_store(group->weight[3] + lane, far_line * frac);
}

/* Every step of the borders in lanes `lane` to `lane` + VL - 1. All numbers are small enough to be
   exact as floats. */
MLUOP_INLINE void sample_lanes(struct border_samples *samples, const struct border_lanes *lanes,
                               int64_t lane, const struct border_list *list) {
  const vf zero = vf_set(0.0f), one = vf_set(1.0f);
  const vf extent = vf_set((float)list->places), stride = vf_load(lanes->stride + lane);
  const vf far_line = vf_load(lanes->across + lane);
  vf at = vf_load(lanes->start + lane), moving = vf_load(lanes->moving + lane);
  vf steps = zero, before = zero, inside = zero;
  for (int64_t step = 0; step <= list->a->shape.pool_size; step++) {
    fill_lanes(&samples->groups[step], lane, at, far_line, list);
    /* A border that has stopped moving shows nothing new. */
    const vf below = vf_select(vf_at_least(extent, at), moving, zero);
    inside = inside + vf_select(vf_at_least(at, vf_set(-1.0f)), below, zero);
    before = before + vf_select(vf_nonzero(inside), zero, one);
    steps = steps + moving;
    const vf next = at + stride;
    moving = vf_select(vf_nonzero(next - at), moving, zero);
    at = next;
  }
  int32_t first[VL], count[VL], stop[VL];
  vi_store(first, vi_truncate(before));
  vi_store(count, vi_truncate(inside));
  vi_store(stop, vi_truncate(steps));
  for (int64_t i = 0; i < VL; i++) {
    struct border_range *range = &samples->range[lane + i];
    range->first = first[i];
    range->count = count[i];
    range->zero_first = first[i] > 0;
    range->zero_last = count[i] > 0 && first[i] + count[i] < stop[i] ? first[i] + count[i] : 0;
  }
}

/* Every step of a border of each of up to LANES boxes. */
static inline void sample_together(struct border_samples *samples, const int32_t *boxes,
                                   int64_t count, const struct border_list *list) {
  struct border_lanes lanes = {.moving = {0}};
  for (int64_t i = 0; i < count; i++) {
    const struct border border = border_of(list, boxes[i]);
    struct mluop_axis across = {.low = 0, .frac = 0.0f};
    lanes.moving[i] = mluop_axis_at(border.across, list->lines, &across) ? 1.0f : 0.0f;
    lanes.across[i] = across.frac;
    lanes.start[i] = border.start;
    lanes.stride[i] = border.stride;
    samples->range[i].line = across.low;
  }
  for (int64_t lane = 0; lane < count; lane += VL) sample_lanes(samples, &lanes, lane, list);
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

/* The next point of a border that has all lanes to itself. */
static inline void add_point(struct border_samples *samples, int64_t step, float at, float far_line,
                             const struct border_list *list) {
  struct border_range *range = samples->range;
  struct mluop_axis along;
  if (!mluop_axis_at(at, list->places, &along)) {
    if (step == 0) range->zero_first = 1;
    if (range->count > 0 && range->zero_last == 0) range->zero_last = (int32_t)step;
    return;
  }
  const float near_line = 1.0f - far_line, near_place = 1.0f - along.frac;
  struct border_sample_group *group = &samples->groups[range->count / LANES];
  const int64_t lane = range->count++ % LANES;
  group->step[lane] = (int32_t)step;
  group->place[lane] = (int32_t)along.low;
  group->weight[0][lane] = near_line * near_place;
  group->weight[list->vertical ? 2 : 1][lane] = near_line * along.frac;
  group->weight[list->vertical ? 1 : 2][lane] = far_line * near_place;
  group->weight[3][lane] = far_line * along.frac;
}

/* Every step. */
static inline void add_all(struct border_samples *samples, const struct border *border,
                           float far_line, const struct border_list *list) {
  float at = border->start;
  for (int64_t step = 0; step <= list->a->shape.pool_size; step++) {
    add_point(samples, step, at, far_line, list);
    const float next = at + border->stride;
    if (next == at) return; /* and so is every later one */
    at = next;
  }
}

/* The first and the last step in each pixel. Along an axis the value is linear within a pixel, so
   one of the two is its largest, up to rounding. */
static inline void add_ends(struct border_samples *samples, const struct border *border,
                            float far_line, const struct border_list *list) {
  const int64_t pool_size = list->a->shape.pool_size;
  float at = border->start;
  for (int64_t step = 0; step <= pool_size; step++) {
    add_point(samples, step, at, far_line, list);
    const int64_t cell = border_cell(at, list->places);
    /* So many steps more stay in the cell, and so many do not. */
    int64_t more = 0, beyond = pool_size - step + 1;
    while (beyond - more > 1) {
      const int64_t middle = more + (beyond - more) / 2;
      if (border_cell(border_advance(at, border->stride, middle), list->places) == cell) {
        more = middle;
      } else {
        beyond = middle;
      }
    }
    at = border_advance(at, border->stride, more);
    step += more;
    if (more > 0) add_point(samples, step, at, far_line, list);
    at = at + border->stride;
  }
}

static inline void sample_alone(struct border_samples *samples, const struct border *border,
                                const struct border_list *list) {
  struct mluop_axis across = {.low = 0, .frac = 0.0f};
  const int outside = !mluop_axis_at(border->across, list->lines, &across);
  samples->range[0] = (struct border_range){.line = across.low, .zero_first = outside};
  if (outside) return;
  if (list->a->shape.pool_size <= BORDER_ALIGN_POOL_LIMIT) {
    add_all(samples, border, across.frac, list);
  } else {
    add_ends(samples, border, across.frac, list);
  }
}

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_SAMPLES_H_ */

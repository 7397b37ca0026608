/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_BORDER_ALIGN_SAMPLES_H_
#define MLUOP_KERNELS_BORDER_ALIGN_SAMPLES_H_

#include "kernels/border_align_geometry.h"

/* The points at which the forward looks. Along a border coordinates only grow or only shrink, so
   those inside the map are neighbours in the order of steps; before and after them the value is 0.
 */

struct border_samples {
  const float *pixel[4]; /* the pixels of a sample, for an offset of 0, in the order of weights */
  struct border_sample *inside;
  int64_t count;
  int zero_first;    /* step 0 is outside */
  int32_t zero_last; /* the first step outside after those inside, or 0 */
};

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

static inline void add_sample(struct border_samples *samples, int64_t step, float at,
                              const struct border_list *list, float across) {
  struct mluop_axis along;
  if (!mluop_axis_at(at, list->places, &along)) {
    if (step == 0) samples->zero_first = 1;
    if (samples->count > 0 && samples->zero_last == 0) samples->zero_last = (int32_t)step;
    return;
  }
  const float near_line = 1.0f - across, near_place = 1.0f - along.frac;
  const float far_place = near_line * along.frac, far_line = across * near_place;
  samples->inside[samples->count++] =
      (struct border_sample){along.low * list->a->pixel_floats,
                             {near_line * near_place, list->vertical ? far_line : far_place,
                              list->vertical ? far_place : far_line, across * along.frac},
                             (int32_t)step};
}

/* Every step. */
static inline void sample_all(struct border_samples *samples, const struct border *border,
                              const struct border_list *list, float across) {
  float at = border->start;
  for (int64_t step = 0; step <= list->a->pool_size; step++) {
    add_sample(samples, step, at, list, across);
    const float next = at + border->stride;
    if (next == at) return; /* and so is every later one */
    at = next;
  }
}

/* The first and the last step in each pixel. Along an axis the value is linear within a pixel, so
   one of the two is its largest, up to rounding. */
static inline void sample_ends(struct border_samples *samples, const struct border *border,
                               const struct border_list *list, float across) {
  const int64_t pool_size = list->a->pool_size;
  float at = border->start;
  for (int64_t step = 0; step <= pool_size; step++) {
    add_sample(samples, step, at, list, across);
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
    if (more > 0) add_sample(samples, step, at, list, across);
    at = at + border->stride;
  }
}

#endif /* MLUOP_KERNELS_BORDER_ALIGN_SAMPLES_H_ */

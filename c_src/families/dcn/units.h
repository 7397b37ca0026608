/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_UNITS_H_
#define MLUOP_FAMILIES_DCN_UNITS_H_

#include "families/dcn/job.h"

/* Backward data: a unit is some channels of a group of the convolution, or merged groups, and a
   strip some rows of a map. One thread adds everything to a unit of a strip, from the first pixel
   to the last. So every gradient is summed in the same order by any number of threads. */

struct dcn_unit {
  int64_t index;
  int64_t first, channels; /* of all */
};

static inline int64_t dcn_units_of_group(const struct dcn_args *a) {
  return dcn_blocks(dcn_block_channels(a), a->plan.unit);
}

static inline int64_t dcn_units(const struct dcn_args *a) {
  return a->shape.groups / a->plan.merged * dcn_units_of_group(a);
}

static inline struct dcn_unit dcn_unit(const struct dcn_args *a, int64_t index) {
  const int64_t units = dcn_units_of_group(a), channels = dcn_block_channels(a);
  const int64_t first = index % units * a->plan.unit;
  return (struct dcn_unit){index, index / units * channels + first,
                           dcn_least(a->plan.unit, channels - first)};
}

/* What group g of those merged has of a unit: a unit without merged groups is that of its only
   one. */
static inline struct dcn_unit dcn_unit_in(const struct dcn_args *a, const struct dcn_unit *unit,
                                          int64_t g) {
  const int64_t channels = unit->channels / a->plan.merged;
  return (struct dcn_unit){unit->index, unit->first + g * channels, channels};
}

/* The unit of a channel. */
static inline int64_t dcn_unit_of(const struct dcn_args *a, int64_t channel) {
  const int64_t channels = dcn_block_channels(a);
  return channel / channels * dcn_units_of_group(a) + channel % channels / a->plan.unit;
}

/* A strip: elements of an image of the map. */
struct dcn_strip {
  int64_t index, begin, end;
};

static inline struct dcn_strip dcn_strip(const struct dcn_args *a, int64_t index) {
  const struct dcn_shape *s = &a->shape;
  return (struct dcn_strip){index, dcn_part(s->H, a->plan.strips, index) * s->W * s->C,
                            dcn_part(s->H, a->plan.strips, index + 1) * s->W * s->C};
}

/* Whether a block of pixels is at home in a strip, which it may reach besides others. */
static inline int dcn_is_home(const struct dcn_args *a, const struct dcn_pixels *pixels,
                              const struct dcn_strip *strip) {
  const struct dcn_pixels middle = {.first = pixels->first + pixels->count / 2};
  return dcn_first_pixel(a, &middle).p * a->plan.strips / a->shape.ho == strip->index;
}

/* A unit and a deformable group may have channels in common. Both are in the order of the channels,
   so the sum of their indices tells such pairs apart. */
static inline int64_t dcn_pairs(const struct dcn_args *a) {
  return dcn_units(a) + a->shape.deformable_groups - 1;
}

/* The sums over the channels of such a pair for the pixels of a block of the wave: of each tap
   three, for mask, y and x. */
static inline float *dcn_partials(const struct dcn_args *a, int64_t image, int64_t block,
                                  int64_t pair) {
  const struct dcn_wave *wave = &a->wave;
  const int64_t row = (image - wave->image) * dcn_pairs(a) + pair;
  const int64_t at = row * (wave->end - wave->begin) + block - wave->begin;
  return a->partials + at * dcn_rows(a) * dcn_taps(&a->shape) * 3;
}

#endif /* MLUOP_FAMILIES_DCN_UNITS_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_SLICES_H_
#define MLUOP_FAMILIES_DCN_SLICES_H_

#include "families/dcn/job.h"

/* Backward data: a slice is some channels of a group of the convolution, or merged groups, and a
   slab some rows of a map. One thread adds everything to a slice of a slab, from the first pixel
   to the last. So every gradient is summed in the same order by any number of threads. */

struct dcn_slice {
  int64_t index;
  int64_t first, channels; /* of all */
};

static inline int64_t dcn_slices(const struct dcn_args *a) {
  return a->shape.groups / a->plan.merged * a->plan.slices;
}

static inline struct dcn_slice dcn_slice(const struct dcn_args *a, int64_t index) {
  const int64_t slices = a->plan.slices, channels = dcn_block_channels(a);
  const int64_t first = index % slices * a->plan.slice;
  return (struct dcn_slice){index, index / slices * channels + first,
                            mluop_min(a->plan.slice, channels - first)};
}

/* Of a slice of merged groups, what belongs to group g of them; else the slice itself. */
static inline struct dcn_slice dcn_slice_in(const struct dcn_args *a, const struct dcn_slice *slice,
                                            int64_t g) {
  const int64_t channels = slice->channels / a->plan.merged;
  return (struct dcn_slice){slice->index, slice->first + g * channels, channels};
}

/* The slice of a channel. */
static inline int64_t dcn_slice_of(const struct dcn_args *a, int64_t channel) {
  const int64_t channels = dcn_block_channels(a);
  return channel / channels * a->plan.slices + channel % channels / a->plan.slice;
}

/* The block of pixels that a slice has its turn with. Every other slice begins in the middle of
   each stretch: neighbours, which write to the same cache lines, do not come to a pixel together.
 */
static inline int64_t dcn_turn(const struct dcn_args *a, const struct dcn_slice *slice,
                               int64_t turn) {
  const int64_t stretch = a->plan.stretch, first = turn - turn % stretch;
  const int64_t length = mluop_min(stretch, a->plan.blocks - first);
  return first + (turn - first + slice->index % 2 * (length / 2)) % length;
}

/* A slab: elements of an image of the map. */
struct dcn_slab {
  int64_t index, begin, end;
};

static inline struct dcn_slab dcn_slab(const struct dcn_args *a, int64_t index) {
  const struct dcn_shape *s = &a->shape;
  return (struct dcn_slab){index, dcn_part(s->H, a->plan.slabs, index) * s->W * s->C,
                           dcn_part(s->H, a->plan.slabs, index + 1) * s->W * s->C};
}

/* Whether a block of pixels is at home in a slab, which it may reach besides others. */
static inline int dcn_is_home(const struct dcn_args *a, const struct dcn_pixels *pixels,
                              const struct dcn_slab *slab) {
  const struct dcn_pixels middle = {.first = pixels->first + pixels->count / 2};
  return dcn_first_pixel(a, &middle).p * a->plan.slabs / a->shape.ho == slab->index;
}

/* A slice and a deformable group may have channels in common. Both are in the order of the
   channels, so the sum of their indices tells such pairs apart. */
static inline int64_t dcn_pairs(const struct dcn_args *a) {
  return dcn_slices(a) + a->shape.deformable_groups - 1;
}

/* The sums over the channels of such a pair for the pixels of a block of the wave: of each tap
   three, for mask, y and x. */
static inline float *dcn_partials(const struct dcn_args *a, int64_t image, int64_t block,
                                  int64_t pair) {
  const struct dcn_wave *wave = &a->wave;
  const int64_t row = (image - wave->image) * dcn_pairs(a) + pair;
  const int64_t at = row * (wave->end - wave->begin) + block - wave->begin;
  return a->partials + at * a->plan.rows * dcn_taps(&a->shape) * 3;
}

#endif /* MLUOP_FAMILIES_DCN_SLICES_H_ */

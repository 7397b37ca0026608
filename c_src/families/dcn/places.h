/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_PLACES_H_
#define MLUOP_FAMILIES_DCN_PLACES_H_

#include <string.h>

#include "families/dcn/job.h"
#include "vector/simd.h"

/* Where samples lie: some taps of some deformable groups of some pixels, first all coordinates, and
   then by vectors what follows from them. Every operation is rounded once. */

/* What all pixels of a block have in common. */
struct dcn_taps {
  int64_t row, column; /* of the first tap in the filter */
  int64_t from;        /* the first tap and group among the samples of a pixel */
  int64_t each;        /* samples of a pixel, of all groups and taps */
};

/* The coordinates of a pixel's samples, which have the numbers from `at` on. */
MLUOP_INLINE void dcn_coordinates(const struct dcn_args *a, const struct dcn_range *range,
                                  const struct dcn_taps *taps, const struct dcn_pixel *pixel,
                                  struct dcn_places *places, size_t at, int with_mask,
                                  int is_half) {
  const struct dcn_shape *s = &a->shape;
  const int64_t group_taps = dcn_taps(s), left = pixel->q * s->stride_w - s->pad_left;
  int64_t y = pixel->p * s->stride_h - s->pad_top + taps->row * s->dilation_h;
  int64_t x = left + taps->column * s->dilation_w, to_right = s->kw - taps->column;
  int64_t from = dcn_number(a, &range->pixels, pixel) * taps->each + taps->from;
  struct dcn_places *to = &places[at / DCN_LANES];
  size_t lane = at % DCN_LANES;
  for (int64_t t = 0; t < range->taps; t++, from++) {
    const float base_y = (float)y, base_x = (float)x;
    for (int64_t g = 0, sample = from; g < range->groups; g++, sample += group_taps) {
      to->ly[lane] = base_y + mluop_load_as(a->data.offset, sample * 2, is_half);
      to->lx[lane] = base_x + mluop_load_as(a->data.offset, sample * 2 + 1, is_half);
      to->mask[lane] = with_mask ? mluop_load_as(a->data.mask, sample, is_half) : 1.0f;
      if (++lane == DCN_LANES) lane = 0, to++;
    }
    x += s->dilation_w;
    if (--to_right == 0) x = left, y += s->dilation_h, to_right = s->kw;
  }
}

MLUOP_INLINE void dcn_all_coordinates(const struct dcn_args *a, const struct dcn_range *range,
                                      const struct dcn_taps *taps, struct dcn_places *places,
                                      int with_mask, int is_half) {
  const size_t each = (size_t)(range->taps * range->groups);
  struct dcn_pixel pixel = dcn_first_pixel(a, &range->pixels);
  for (size_t r = 0; r < (size_t)range->pixels.count; r++, dcn_next_pixel(a, &pixel)) {
    dcn_coordinates(a, range, taps, &pixel, places, r * each, with_mask, is_half);
  }
}

/* The largest integer that is not above v; v fits into an int32_t. */
MLUOP_INLINE int32_t dcn_floor(float v) {
  const int32_t truncated = (int32_t)v;
  return truncated - (v < (float)truncated);
}

/* The bits of a number, or 0. Without a choice between numbers, a loop becomes vectors. */
MLUOP_INLINE float dcn_keep(float v, uint32_t all) {
  return mluop_float_of_bits(mluop_bits_of_float(v) & all);
}

/* The smallest float that is not below an extent: a float is below both or neither. */
static inline float dcn_limit(int64_t extent) {
  const float nearest = (float)extent;
  const uint32_t above = (int64_t)nearest < extent;
  return mluop_float_of_bits(mluop_bits_of_float(nearest) + above);
}

struct dcn_map {
  int32_t H, W;
  uint32_t C;
  float height, width;
};

/* One lane: its coordinates are in ly and lx. */
MLUOP_INLINE void dcn_place(struct dcn_places *p, int i, struct dcn_map map) {
  const float y = p->ly[i], x = p->lx[i], mask = p->mask[i];
  const int32_t inside = (y > -1.0f) & (y < map.height) & (x > -1.0f) & (x < map.width);
  const uint32_t all = 0u - (uint32_t)inside, W = (uint32_t)map.W;
  const float safe_y = dcn_keep(y, all), safe_x = dcn_keep(x, all);
  const int32_t y0 = dcn_floor(safe_y), x0 = dcn_floor(safe_x);
  const float ly = safe_y - (float)y0, lx = safe_x - (float)x0;
  const float hy = 1.0f - ly, hx = 1.0f - lx;
  const int32_t top = inside & (y0 >= 0), bottom = inside & (y0 < map.H - 1);
  const int32_t left = x0 >= 0, right = x0 < map.W - 1;
  const uint32_t at = ((uint32_t)y0 * W + (uint32_t)x0) * map.C, below = at + W * map.C;
  p->at[0][i] = (int32_t)(at | ((uint32_t)(top & left) - 1u));
  p->at[1][i] = (int32_t)((at + map.C) | ((uint32_t)(top & right) - 1u));
  p->at[2][i] = (int32_t)(below | ((uint32_t)(bottom & left) - 1u));
  p->at[3][i] = (int32_t)((below + map.C) | ((uint32_t)(bottom & right) - 1u));
  p->weight[0][i] = hy * hx;
  p->weight[1][i] = hy * lx;
  p->weight[2][i] = ly * hx;
  p->weight[3][i] = ly * lx;
  p->ly[i] = ly;
  p->lx[i] = lx;
  p->mask[i] = dcn_keep(mask, all);
}

static inline void dcn_place_samples(const struct dcn_args *a, const struct dcn_range *range,
                                     struct dcn_places *places) {
  const struct dcn_shape *s = &a->shape;
  const int64_t each = range->taps * range->groups;
  const int64_t blocks = mluop_div_up(range->pixels.count * each, DCN_LANES);
  memset(&places[blocks - 1], 0, sizeof(*places)); /* it may have lanes without a sample */
  const int64_t row = range->tap / s->kw;
  const struct dcn_taps taps = {row, range->tap - row * s->kw,
                                range->group * dcn_taps(s) + range->tap,
                                s->deformable_groups * dcn_taps(s)};
  if (s->is_half) {
    dcn_all_coordinates(a, range, &taps, places, a->data.mask != NULL, 1);
  } else if (a->data.mask != NULL) {
    dcn_all_coordinates(a, range, &taps, places, 1, 0);
  } else {
    dcn_all_coordinates(a, range, &taps, places, 0, 0);
  }
  const struct dcn_map map = {(int32_t)s->H, (int32_t)s->W, (uint32_t)s->C, dcn_limit(s->H),
                              dcn_limit(s->W)};
  for (int64_t i = 0; i < blocks; i++) {
    for (int lane = 0; lane < DCN_LANES; lane++) dcn_place(&places[i], lane, map);
  }
}

/* A sample: where its corners begin, from channel c of the map on, and their weights. What is
   outside of the map reads zeros. */
struct dcn_sample {
  const void *corner[4];
  vf weight[4];
};

/* As many as a block has columns; floats or halves. */
static const float dcn_zeros[PRODUCT_DEPTH] = {0};

MLUOP_INLINE struct dcn_sample dcn_sample_at(const struct dcn_places *p, size_t lane,
                                             const void *map, int is_half) {
  struct dcn_sample sample;
  for (int k = 0; k < 4; k++) {
    const int64_t at = p->at[k][lane];
    sample.corner[k] = at < 0 ? dcn_zeros : mluop_at(map, at, is_half);
    sample.weight[k] = vf_set(p->weight[k][lane]);
  }
  return sample;
}

/* VL values from channel i on, or less. */
MLUOP_INLINE vf dcn_corner(const struct dcn_sample *sample, int k, int64_t i, int64_t count,
                           int is_half) {
  return count == VL ? vf_load_as(sample->corner[k], i, is_half)
                     : vf_load_part_as(sample->corner[k], i, count, is_half);
}

MLUOP_INLINE vf dcn_blend(const struct dcn_sample *sample, const vf v[4]) {
  const vf upper = vf_fma(sample->weight[1], v[1], sample->weight[0] * v[0]);
  return vf_fma(sample->weight[3], v[3], vf_fma(sample->weight[2], v[2], upper));
}

#endif /* MLUOP_FAMILIES_DCN_PLACES_H_ */

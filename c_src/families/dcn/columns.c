/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/columns.h"

#include <string.h>

#include "families/dcn/places.h"

/* `count` channels of a sample, from where its corners begin. */
MLUOP_INLINE void sample_channels(const struct dcn_sample *sample, vf mask, int64_t count,
                                  float *to, int is_half) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) {
    const vf v[4] = {dcn_corner(sample, 0, i, VL, is_half), dcn_corner(sample, 1, i, VL, is_half),
                     dcn_corner(sample, 2, i, VL, is_half), dcn_corner(sample, 3, i, VL, is_half)};
    vf_store(to + i, dcn_blend(sample, v) * mask);
  }
  if (i == count) return;
  vf v[4];
  for (int k = 0; k < 4; k++) v[k] = dcn_corner(sample, k, i, count - i, is_half);
  vf_store_part(to + i, dcn_blend(sample, v) * mask, count - i);
}

/* The row of a pixel, whose samples have the numbers from `at` on. `map` is its image. */
MLUOP_INLINE void sample_pixel(const struct dcn_args *a, const struct dcn_block *block,
                               const struct dcn_samples *samples, int64_t at, const void *map,
                               float *row, int is_half) {
  const int64_t channels = dcn_group_channels(&a->shape), base = block->group * channels;
  const int64_t shared = a->shape.C / a->shape.deformable_groups;
  const int64_t end = block->begin + block->depth;
  int64_t column = block->begin, tap = samples->tap * channels - base;
  for (int64_t t = 0; t < samples->taps; t++, tap += channels) {
    for (int64_t g = samples->group + 1; g <= samples->group + samples->groups; g++, at++) {
      /* Channel c of the map is column tap + c. */
      const int64_t last = dcn_least(dcn_least(g * shared, base + channels) + tap, end);
      if (column >= last) continue;
      const struct dcn_places *places = &samples->places[at / DCN_LANES];
      const void *from = mluop_at(map, column - tap, is_half);
      const struct dcn_sample sample = dcn_sample_at(a, places, at % DCN_LANES, from, is_half);
      sample_channels(&sample, vf_set(places->mask[at % DCN_LANES]), last - column,
                      row + column - block->begin, is_half);
      column = last;
    }
  }
}

MLUOP_INLINE void sample_rows(const struct dcn_args *a, const struct dcn_block *block,
                              const struct dcn_samples *samples, float *tile, int is_half) {
  const struct dcn_shape *s = &a->shape;
  const void *map = mluop_at(a->data.input, block->pixels.image * s->H * s->W * s->C, is_half);
  for (int64_t r = 0; r < dcn_count(&block->pixels); r++, tile += PRODUCT_STRIDE) {
    sample_pixel(a, block, samples, r * samples->taps * samples->groups, map, tile, is_half);
    memset(tile + block->depth, 0, PRODUCT_WHOLE_ROWS * sizeof(float));
  }
}

void MLUOP_VARIANT(dcn_sample)(const struct dcn_args *a, const struct dcn_block *block,
                               struct dcn_places *places, float *tile) {
  const int64_t channels = dcn_group_channels(&a->shape), tap = block->begin / channels;
  const int64_t rows = dcn_count(&block->pixels);
  struct dcn_samples samples = {.pixels = &block->pixels, .tap = tap, .places = places};
  samples.taps = (block->begin + block->depth - 1) / channels + 1 - tap;
  dcn_set_groups(&a->shape, block->group * channels, channels, &samples);
  dcn_place_samples(a, &samples);
  if (a->shape.is_half) {
    sample_rows(a, block, &samples, tile, 1);
  } else {
    sample_rows(a, block, &samples, tile, 0);
  }
  for (int64_t r = rows; r < dcn_whole_rows(rows); r++) {
    memset(tile + r * PRODUCT_STRIDE, 0,
           (size_t)(block->depth + PRODUCT_WHOLE_ROWS) * sizeof(float));
  }
}

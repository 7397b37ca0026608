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

/* The rows of all pixels. `map` is their image. */
MLUOP_INLINE void sample_rows(const struct dcn_samples *b, int64_t each, const void *map,
                              int64_t depth, float *tile, int is_half) {
  const struct dcn_piece *const end = b->pieces + b->piece_count;
  const int64_t rows = b->pixels->count;
  size_t at = 0;
  for (int64_t r = 0; r < rows; r++, at += (size_t)each, tile += PRODUCT_STRIDE) {
    for (const struct dcn_piece *piece = b->pieces; piece < end; piece++) {
      const size_t number = at + (size_t)piece->sample, lane = number % DCN_LANES;
      const struct dcn_places *places = &b->places[number / DCN_LANES];
      dcn_fetch(b, number, map, piece, is_half);
      const struct dcn_sample sample =
          dcn_sample_at(places, lane, mluop_at(map, piece->channel, is_half), is_half);
      sample_channels(&sample, vf_set(places->mask[lane]), piece->count, tile + piece->column,
                      is_half);
    }
    memset(tile + depth, 0, PRODUCT_WHOLE_ROWS * sizeof(float));
  }
}

void MLUOP_VARIANT(dcn_sample)(const struct dcn_args *a, const struct dcn_block *block,
                               const struct dcn_samples_memory *memory, float *tile) {
  const struct dcn_shape *s = &a->shape;
  const int64_t channels = dcn_group_channels(s), rows = block->pixels.count;
  const int64_t map = block->pixels.image * s->H * s->W * s->C;
  struct dcn_samples b = {
      .pixels = &block->pixels, .places = memory->places, .pieces = memory->pieces};
  dcn_set_pieces(s, block->group * channels, channels, block->begin, block->depth, &b);
  dcn_place_samples(a, &b);
  const int64_t each = b.taps * b.groups;
  if (s->is_half) {
    sample_rows(&b, each, mluop_at(a->data.input, map, 1), block->depth, tile, 1);
  } else {
    sample_rows(&b, each, mluop_at(a->data.input, map, 0), block->depth, tile, 0);
  }
  for (int64_t r = rows; r < dcn_whole_rows(rows); r++) {
    memset(tile + r * PRODUCT_STRIDE, 0,
           (size_t)(block->depth + PRODUCT_WHOLE_ROWS) * sizeof(float));
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/columns.h"

#include <string.h>

#include "families/dcn/places.h"

/* `count` channels of a sample, from where its corners begin. On the way it fetches those of a
   later one, line by line: a CPU waits for less than for many at once. */
MLUOP_INLINE void sample_channels(const struct dcn_sample *sample, vf mask, int64_t count,
                                  float *to, const struct dcn_sample *later, int is_half) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) {
    for (int k = 0; k < 4; k++) mluop_prefetch(mluop_at(later->corner[k], i, is_half));
    const vf v[4] = {dcn_corner(sample, 0, i, VL, is_half), dcn_corner(sample, 1, i, VL, is_half),
                     dcn_corner(sample, 2, i, VL, is_half), dcn_corner(sample, 3, i, VL, is_half)};
    vf_store(to + i, dcn_blend(sample, v) * mask);
  }
  if (i == count) return;
  vf v[4];
  for (int k = 0; k < 4; k++) v[k] = dcn_corner(sample, k, i, count - i, is_half);
  vf_store_part(to + i, dcn_blend(sample, v) * mask, count - i);
}

/* A row of merged groups, tap by tap: group by group in the matrix. */
static void part_groups(const struct dcn_args *a, const float *row, float *matrix) {
  const int64_t channels = dcn_group_channels(&a->shape), taps = dcn_taps(&a->shape);
  const int64_t all = dcn_block_channels(a);
  for (int64_t c = 0; c < all; c++) {
    float *to = matrix + c / channels * dcn_group_stride(a) + c % channels;
    for (int64_t t = 0; t < taps; t++) to[t * channels] = row[t * all + c];
  }
}

/* The rows of all pixels. `map` is their image. */
MLUOP_INLINE void sample_rows(const struct dcn_args *a, const struct dcn_samples b, const void *map,
                              int64_t width, float *matrix, int is_half) {
  const struct dcn_piece *const end = b.pieces + b.piece_count;
  const int64_t rows = b.range.pixels.count, merged = a->plan.merged;
  const size_t each = (size_t)(b.range.taps * b.range.groups);
  float row[PRODUCT_STRIDE];
  size_t at = 0;
  for (int64_t r = 0; r < rows; r++, at += each, matrix += PRODUCT_STRIDE) {
    float *const to = merged > 1 ? row : matrix;
    const size_t ahead = r + DCN_AHEAD < rows ? DCN_AHEAD * each : 0;
    for (const struct dcn_piece *piece = b.pieces; piece < end; piece++) {
      const size_t number = at + (size_t)piece->sample, lane = number % DCN_LANES;
      const struct dcn_places *places = &b.places[number / DCN_LANES];
      const void *const from = mluop_at(map, piece->channel, is_half);
      const struct dcn_sample sample = dcn_sample_at(places, lane, from, is_half);
      struct dcn_sample later = sample; /* few channels fetch nothing */
      if (piece->count >= VL) {
        later = dcn_sample_at(&b.places[(number + ahead) / DCN_LANES], (number + ahead) % DCN_LANES,
                              from, is_half);
      }
      sample_channels(&sample, vf_set(places->mask[lane]), piece->count, to + piece->column, &later,
                      is_half);
    }
    if (merged > 1) part_groups(a, row, matrix);
    memset(matrix + width, 0, PRODUCT_WHOLE_ROWS * sizeof(float));
  }
}

void MLUOP_VARIANT(dcn_sample)(const struct dcn_args *a, const struct dcn_block *block,
                               struct dcn_samples *b, float *matrix) {
  const struct dcn_shape *s = &a->shape;
  const int64_t channels = dcn_block_channels(a), rows = block->pixels.count;
  const int64_t first = block->group * dcn_group_channels(s);
  const int64_t begin = block->begin * a->plan.merged, depth = block->depth * a->plan.merged;
  const int64_t width = a->plan.merged > 1 ? dcn_group_stride(a) * a->plan.merged : depth;
  const int64_t map = block->pixels.image * s->H * s->W * s->C;
  const struct dcn_range range = dcn_range(s, &block->pixels, first, channels, begin, depth);
  if (!dcn_same_range(&range, &b->range)) {
    b->range = range;
    dcn_place_samples(a, &range, b->places);
  }
  dcn_set_pieces(s, first, channels, begin, depth, b);
  if (s->is_half) {
    sample_rows(a, *b, mluop_at(a->data.input, map, 1), width, matrix, 1);
  } else {
    sample_rows(a, *b, mluop_at(a->data.input, map, 0), width, matrix, 0);
  }
  for (int64_t r = rows; r < dcn_whole_rows(rows); r++) {
    memset(matrix + r * PRODUCT_STRIDE, 0, (size_t)(width + PRODUCT_WHOLE_ROWS) * sizeof(float));
  }
}

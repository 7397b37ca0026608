/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/column_gradients.h"

#include <string.h>

#include "families/dcn/columns.h"
#include "families/dcn/kernels.h"
#include "shared/product.h"

/* The filters of a slice stand together: for some taps after the others, for some outputs after the
   others, the panels of that product. */
static float *packed_at(const struct dcn_args *a, const struct dcn_slice *slice,
                        struct dcn_some_taps taps, int64_t output) {
  const int64_t outputs = dcn_group_outputs(&a->shape);
  return a->filter + outputs * dcn_taps(&a->shape) * slice->first +
         (outputs * taps.first + output * taps.count) * slice->channels;
}

/* Columns [j, j + width) of a panel, `depth` outputs from `output` on. */
static void pack_panel(const struct dcn_args *a, const struct dcn_slice *slice,
                       struct dcn_some_taps taps, int64_t j, int64_t width, int64_t output,
                       int64_t depth, float *to) {
  const struct dcn_shape *s = &a->shape;
  const int64_t columns = dcn_columns(s), channels = dcn_group_channels(s);
  const int64_t group = slice->first / channels, first = slice->first % channels;
  for (int64_t x = 0, count; x < width; x += count) {
    const int64_t tap = (j + x) / slice->channels, c = (j + x) % slice->channels;
    count = mluop_min(width - x, slice->channels - c);
    const int64_t at = (group * dcn_group_outputs(s) + output) * columns +
                       (taps.first + tap) * channels + first + c;
    for (int64_t o = 0; o < depth; o++) {
      dcn_widen(to + o * width + x, a->data.filter, at + o * columns, count, s->is_half);
    }
  }
}

/* Some taps of a slice, all of one group. */
static void pack_taps(const struct dcn_args *a, const struct dcn_slice *slice,
                      struct dcn_some_taps taps) {
  const int64_t columns = taps.count * slice->channels, outputs = dcn_group_outputs(&a->shape);
  for (int64_t o = 0; o < outputs; o += a->plan.depth) {
    const int64_t depth = mluop_min(a->plan.depth, outputs - o);
    float *to = packed_at(a, slice, taps, o);
    for (int64_t j = 0; j < columns; j += PRODUCT_COLUMNS) {
      pack_panel(a, slice, taps, j, mluop_min(PRODUCT_COLUMNS, columns - j), o, depth,
                 to + j * depth);
    }
  }
}

/* Item: some taps of a slice. */
void MLUOP_VARIANT(dcn_pack_data)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct dcn_args *a = vargs;
  const int64_t blocks = mluop_div_up(dcn_taps(&a->shape), a->plan.taps);
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const struct dcn_slice slice = dcn_slice(a, item / blocks);
    const struct dcn_some_taps taps = dcn_taps_from(a, item % blocks * a->plan.taps);
    for (int64_t g = 0; g < a->plan.merged; g++) {
      const struct dcn_slice part = dcn_slice_in(a, &slice, g);
      pack_taps(a, &part, taps);
    }
  }
}

/* Rows of merged groups, each with some taps: tap by tap instead. */
static void join_groups(const struct dcn_args *a, const struct dcn_slice *slice, int64_t taps,
                        int64_t count, float *row) {
  float copy[PRODUCT_STRIDE];
  const int64_t all = slice->channels, channels = all / a->plan.merged, width = taps * all;
  for (; count > 0; count--, row += width) {
    memcpy(copy, row, (size_t)width * sizeof(float));
    for (int64_t c = 0; c < all; c++) {
      const float *from = copy + c / channels * channels * taps + c % channels;
      for (int64_t t = 0; t < taps; t++) row[t * all + c] = from[t * channels];
    }
  }
}

/* grad_output of `count` chosen pixels, `depth` channels from `first` on. */
static void load_grads(const struct dcn_args *a, const struct dcn_pixels *pixels, int64_t first,
                       int64_t depth, int64_t count, const struct dcn_data_memory *m) {
  struct dcn_pixel pixel = dcn_first_pixel(a, pixels);
  for (int64_t r = 0, row = 0; row < count; r++, dcn_next_pixel(a, &pixel)) {
    if (m->chosen[row] != r) continue;
    const int64_t at = dcn_number(a, pixels, &pixel) * a->shape.co + first;
    dcn_widen(m->grads + row++ * PRODUCT_STRIDE, a->data.grad_output, at, depth, a->shape.is_half);
  }
  for (int64_t row = count; row < dcn_whole_rows(count); row++) {
    memset(m->grads + row * PRODUCT_STRIDE, 0, (size_t)depth * sizeof(float));
  }
}

void MLUOP_VARIANT(dcn_column_gradients)(const struct dcn_args *a, const struct dcn_slice *slice,
                                         struct dcn_some_taps taps, const struct dcn_pixels *pixels,
                                         int64_t count, const struct dcn_data_memory *m) {
  const int64_t outputs = dcn_group_outputs(&a->shape), merged = a->plan.merged;
  const int64_t group = slice->first / dcn_group_channels(&a->shape);
  const int64_t width = taps.count * slice->channels;
  struct product p = {.rows = count, .columns = width / merged, .c_stride = width};
  for (int64_t o = 0; o < outputs; o += a->plan.depth, p.add = 1) {
    p.depth = mluop_min(a->plan.depth, outputs - o);
    load_grads(a, pixels, group * outputs + o, merged * p.depth, count, m);
    for (int64_t g = 0; g < merged; g++) {
      const struct dcn_slice part = dcn_slice_in(a, slice, g);
      p.a = m->grads + g * outputs;
      p.b = packed_at(a, &part, taps, o);
      p.c = m->columns + g * p.columns;
      product_of_rows(&p);
    }
  }
  if (merged > 1) join_groups(a, slice, taps.count, count, m->columns);
}

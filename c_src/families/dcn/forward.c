/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "families/dcn/columns.h"
#include "families/dcn/kernels.h"
#include "shared/product.h"

/* A block of outputs: its first group, and its channels there. */
struct outputs {
  int64_t group, first, count;
};

static struct outputs outputs_of(const struct dcn_args *a, int64_t block) {
  const int64_t all = dcn_group_outputs(&a->shape), blocks = mluop_div_up(all, a->plan.outputs);
  const int64_t group = block / blocks * a->plan.merged;
  const int64_t first = block % blocks * a->plan.outputs;
  return (struct outputs){group, group * all + first, mluop_min(a->plan.outputs, all - first)};
}

/* The same of group g of those merged, which have all of their outputs in a block. */
static struct outputs outputs_in(const struct outputs *o, int64_t g) {
  return (struct outputs){o->group + g, o->first + g * o->count, o->count};
}

/* The filters of a block of outputs stand together: for a block of columns after the other, the
   panels of that product. */
static float *packed_at(const struct dcn_args *a, const struct outputs *o, int64_t column) {
  return a->filter + o->first * dcn_columns(&a->shape) + column * o->count;
}

/* Item: a panel. */
void MLUOP_VARIANT(dcn_pack_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct dcn_args *a = vargs;
  const int64_t columns = dcn_columns(&a->shape), depths = mluop_div_up(columns, a->plan.depth);
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const struct outputs merged = outputs_of(a, item / depths);
    const int64_t column = item % depths * a->plan.depth;
    const int64_t depth = mluop_min(a->plan.depth, columns - column);
    for (int64_t g = 0; g < a->plan.merged; g++) {
      const struct outputs o = outputs_in(&merged, g);
      float *to = packed_at(a, &o, column);
      for (int64_t j = 0; j < o.count; j += PRODUCT_COLUMNS) {
        product_pack(to + j * depth, a->data.filter, (o.first + j) * columns + column, columns,
                     depth, mluop_min(PRODUCT_COLUMNS, o.count - j), a->shape.is_half);
      }
    }
  }
  vf_stream_end();
}

/* The bias in each row of C, or nothing: then the first product does not add. */
static void begin_sums(const struct dcn_args *a, const struct outputs *o, struct product *p) {
  p->add = a->data.bias != NULL;
  for (int64_t r = 0; p->add && r < p->rows; r++) {
    dcn_widen(p->c + r * p->c_stride, a->data.bias, o->first, p->c_stride, a->shape.is_half);
  }
}

/* Item: a block of pixels by a block of outputs; first all outputs of the same pixels. */
void MLUOP_VARIANT(dcn_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct dcn_args *a = vargs;
  const struct dcn_shape *s = &a->shape;
  const int64_t columns = dcn_columns(s);
  const int64_t output_blocks =
      s->groups / a->plan.merged * mluop_div_up(dcn_group_outputs(s), a->plan.outputs);
  struct mluop_arena arena = {scratch, 0};
  struct dcn_block_memory m = dcn_block_memory(a, &arena);
  for (int64_t item = begin; item < end; item++) {
    const struct outputs o = outputs_of(a, item % output_blocks);
    struct dcn_block block = {.pixels = dcn_pixels(a, item / output_blocks), .group = o.group};
    const int64_t width = a->plan.merged * o.count;
    struct product p = {.c = m.outputs, .c_stride = width, .columns = o.count};
    p.rows = block.pixels.count;
    begin_sums(a, &o, &p);
    for (; block.begin < columns; block.begin += block.depth, p.add = 1) {
      block.depth = p.depth = mluop_min(a->plan.depth, columns - block.begin);
      MLUOP_VARIANT(dcn_sample)(a, &block, &m.samples, m.matrix);
      for (int64_t g = 0; g < a->plan.merged; g++) {
        const struct outputs of_group = outputs_in(&o, g);
        p.a = m.matrix + g * dcn_group_stride(a);
        p.b = packed_at(a, &of_group, block.begin);
        p.c = m.outputs + g * o.count;
        product_of_rows(&p);
      }
    }
    struct dcn_pixel pixel = dcn_first_pixel(a, &block.pixels);
    for (int64_t r = 0; r < p.rows; r++, dcn_next_pixel(a, &pixel)) {
      const int64_t at = dcn_number(a, &block.pixels, &pixel) * s->co + o.first;
      dcn_narrow(a->data.output, at, m.outputs + r * width, width, s->is_half);
    }
  }
}

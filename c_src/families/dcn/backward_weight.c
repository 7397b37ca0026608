/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "families/dcn/columns.h"
#include "families/dcn/kernels.h"
#include "shared/product.h"

/* The sums of a part: for each group, a row of outputs for each column, and one more for the bias,
   as if of a column of ones. */
static float *sums_at(const struct dcn_args *a, int64_t part, int64_t group, int64_t column) {
  const struct dcn_shape *s = &a->shape;
  return a->sums +
         (((part * s->groups + group) * (dcn_columns(s) + 1)) + column) * dcn_group_outputs(s);
}

/* grad_output of a block of pixels, in panels. */
static void pack_grads(const struct dcn_args *a, const struct dcn_block *block, int64_t output,
                       int64_t count, float *to) {
  const struct dcn_shape *s = &a->shape;
  for (int64_t j = 0; j < count; j += PRODUCT_COLUMNS) {
    const int64_t width = mluop_min(PRODUCT_COLUMNS, count - j);
    struct dcn_pixel pixel = dcn_first_pixel(a, &block->pixels);
    for (int64_t r = 0; r < block->pixels.count; r++, dcn_next_pixel(a, &pixel), to += width) {
      const int64_t at = dcn_number(a, &block->pixels, &pixel) * s->co + output + j;
      dcn_widen(to, a->data.grad_output, at, width, s->is_half);
    }
  }
}

/* What a block of pixels adds to the sums of a group, for a block of columns and one of outputs. */
static void sum_group(const struct dcn_args *a, const struct dcn_block *block, int64_t group,
                      int64_t output, int64_t count, const struct dcn_block_memory *m, float *sums,
                      int add) {
  const int64_t pixels = block->pixels.count, all = dcn_group_outputs(&a->shape);
  const int with_bias = block->begin + block->depth == dcn_columns(&a->shape);
  float *const matrix = m->matrix + (group - block->group) * dcn_group_stride(a);
  pack_grads(a, block, group * all + output, count, m->outputs);
  for (int64_t r = 0; with_bias && r < pixels; r++) {
    matrix[r * PRODUCT_STRIDE + block->depth] = 1.0f;
  }
  const struct product product = {.a = matrix,
                                  .b = m->outputs,
                                  .c = sums,
                                  .c_stride = all,
                                  .rows = block->depth + with_bias,
                                  .depth = pixels,
                                  .columns = count,
                                  .add = add};
  product_of_columns(&product);
}

/* All pixels of a part. */
static void sum_part(const struct dcn_args *a, struct dcn_block *block, int64_t part,
                     int64_t output, int64_t count, struct dcn_block_memory *m) {
  const int64_t blocks = a->shape.N * a->plan.blocks;
  const int64_t first = part * blocks / a->plan.parts, end = (part + 1) * blocks / a->plan.parts;
  for (int64_t i = first; i < end && !mluop_interrupted(a->interrupt); i++) {
    block->pixels = dcn_pixels(a, i);
    MLUOP_VARIANT(dcn_sample)(a, block, &m->samples, m->matrix);
    for (int64_t g = block->group; g < block->group + a->plan.merged; g++) {
      float *const sums = sums_at(a, part, g, block->begin) + output;
      sum_group(a, block, g, output, count, m, sums, i > first);
    }
  }
}

/* Item: a part by a block of columns by a block of outputs. */
void MLUOP_VARIANT(dcn_backward_weight)(const void *vargs, int64_t begin, int64_t end,
                                        void *scratch) {
  const struct dcn_args *a = vargs;
  const struct dcn_shape *s = &a->shape;
  const int64_t columns = dcn_columns(s), depths = mluop_div_up(columns, a->plan.depth);
  const int64_t outputs = dcn_group_outputs(s), blocks = mluop_div_up(outputs, a->plan.outputs);
  struct mluop_arena arena = {scratch, 0};
  struct dcn_block_memory m = dcn_block_memory(a, &arena);
  for (int64_t item = begin; item < end; item++) {
    const int64_t output = item % blocks * a->plan.outputs, rest = item / blocks;
    const int64_t column = rest % depths * a->plan.depth;
    const int64_t groups = s->groups / a->plan.merged;
    struct dcn_block block = {.group = rest / depths % groups * a->plan.merged,
                              .begin = column,
                              .depth = mluop_min(a->plan.depth, columns - column)};
    sum_part(a, &block, rest / depths / groups, output,
             mluop_min(a->plan.outputs, outputs - output), &m);
  }
}

/* The sums of all parts, one after another: `count` outputs of a column. */
static vf all_parts(const struct dcn_args *a, int64_t group, int64_t column, int64_t output,
                    int64_t count) {
  vf sum = vf_load_part(sums_at(a, 0, group, column) + output, count);
  for (int64_t part = 1; part < a->plan.parts; part++) {
    sum = sum + vf_load_part(sums_at(a, part, group, column) + output, count);
  }
  return sum;
}

/* Item: VL outputs, or what is left of a group. */
void MLUOP_VARIANT(dcn_finish_weight)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct dcn_args *a = vargs;
  const struct dcn_shape *s = &a->shape;
  const int64_t columns = dcn_columns(s), outputs = dcn_group_outputs(s);
  const int64_t blocks = mluop_div_up(outputs, a->plan.finish);
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const int64_t group = item / blocks, block = item % blocks * a->plan.finish;
    for (int64_t o = block; o < mluop_min(outputs, block + a->plan.finish); o += VL) {
      const int64_t count = mluop_min(VL, mluop_min(outputs, block + a->plan.finish) - o);
      const int64_t row = group * outputs + o;
      for (int64_t k = 0; k < columns; k += VL) {
        const int64_t length = mluop_min(VL, columns - k);
        vf tile[VL];
        for (int i = 0; i < VL; i++) {
          tile[i] = i < length ? all_parts(a, group, k + i, o, count) : vf_set(0.0f);
        }
        vf_transpose(tile);
        for (int64_t i = 0; i < count; i++) {
          vf_store_part_as(a->data.grad_filter, (row + i) * columns + k, tile[i], length,
                           s->is_half);
        }
      }
      if (a->data.grad_bias == NULL) continue;
      vf_store_part_as(a->data.grad_bias, row, all_parts(a, group, columns, o, count), count,
                       s->is_half);
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/carafe_grad_input.h"
#include "kernels/carafe_grad_mask.h"

/* Both gradients of a strip of columns, row by row of grad_output: its second reader finds it in
   the second cache. */

/* The input under the windows of the item's row. Packed, each part of the channels has a ring of
   its own; `source` is left with the rows of the first. */
static void see_input(struct carafe_source *source, const struct carafe_backward_args *args,
                      const struct carafe_item *item, float *ring, int64_t part_step) {
  struct carafe_plan plan = args->plan;
  plan.part = args->part;
  const int64_t strip = source->strip, packed = source->packed;
  for (int64_t part = carafe_div_up(args->shape.C, args->part) - 1; part >= 0; part--) {
    struct carafe_item one = *item;
    one.channel = part * args->part;
    one.length = carafe_min(args->part, args->shape.C - one.channel);
    source->ring = ring + part * part_step;
    source->strip = strip;
    source->packed = packed;
    carafe_see(source, &args->shape, &plan, &one, args->input);
  }
}

static void do_strip(const struct carafe_backward_args *args, struct carafe_item item, int64_t end,
                     float *scratch) {
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, last = carafe_min(a->H, end + r);
  float *grads = scratch + carafe_weights_size(a);
  float *input_ring = grads + carafe_grads_size(args);
  struct carafe_source source = {.strip = -1};
  struct mask_row mask = {.args = args,
                          .item = &item,
                          .map = &source.rows,
                          .part_step = carafe_part_floats(args),
                          .grads = grads,
                          .results = scratch,
                          .begin = item.row,
                          .end = end};
  struct spread spread = {.args = args,
                          .item = &item,
                          .begin = item.row,
                          .end = end,
                          .weights = scratch,
                          .ring = input_ring + carafe_input_floats(args)};
  begin_spread(&spread);
  for (item.row = carafe_max(0, spread.begin - r); item.row < last; item.row++) {
    if (item.row >= spread.begin && item.row < end) {
      see_input(&source, args, &item, input_ring, mask.part_step);
      make_mask_row(&mask);
    }
    spread_row(&spread, item.row, item.row + 1 == last);
  }
}

void MLUOP_VARIANT(carafe_backward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_backward_args *args = vargs;
  const int64_t rows = args->plan.rows;
  while (begin < end) {
    const struct carafe_item item = carafe_item_at(&args->shape, &args->plan, begin);
    const int64_t stop = carafe_min(end, (begin / rows + 1) * rows);
    const int64_t last = carafe_min(args->shape.H, item.row + stop - begin);
    if (item.row < last) do_strip(args, item, last, scratch);
    begin = stop;
  }
}

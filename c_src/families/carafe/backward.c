/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "families/carafe/grad_input.h"
#include "families/carafe/grad_mask.h"
#include "families/carafe/kernels.h"

/* Both gradients. Slice by slice of some windows, grad_output is packed and read twice: for the
   grad_mask of its pixels, and for what they contribute to grad_input. */

/* Sums are 0, and become so again when they are stored; what neighbours read beside the map is
   dropped, but must be numbers. */
static void clear_rings(const struct block_walk *s) {
  const struct carafe_general_scratch *scratch = s->scratch;
  memset(scratch->input, 0, (size_t)((char *)scratch->grads - (char *)scratch->input));
}

static void pack_input(const struct block_walk *s, int64_t y) {
  const struct carafe_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const struct carafe_plan *plan = &args->plan;
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t slots = carafe_slots(a), row = carafe_input_row_floats(args);
  const int64_t pixel = carafe_pixel_floats(s->args);
  const int64_t begin = carafe_window(s->columns.begin, a->K, a->W).begin;
  const int64_t end = carafe_window(s->columns.end - 1, a->K, a->W).end;
  for (int64_t part = 0; part < plan->parts; part++) {
    const int64_t channel = part * plan->part, count = carafe_min(plan->part, a->C - channel);
    float *to = scratch->input + (part * slots + y % slots) * row;
    to += carafe_margin_columns(a) * pixel;
    for (int64_t x = begin; x < end; x++, to += pixel) {
      const int64_t from = (((s->n * a->H + y) * a->W + x) * a->G + s->group) * a->C + channel;
      for (int64_t g = 0; g < s->groups; g++) {
        carafe_pack_run(to + g * carafe_padded(plan->part), args->input, from + g * a->C, count,
                        a->is_half);
      }
    }
  }
}

static void do_windows(struct block_walk *s, struct carafe_span centres) {
  const struct carafe_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const struct carafe_plan *plan = &args->plan;
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t slices = carafe_slices(a), taps = a->K * a->K, r = (a->K - 1) / 2;
  const int is_own = s->row >= s->rows.begin && s->row < s->rows.end;
  const struct carafe_span own = both_spans(centres, s->columns);
  const int64_t tiles = carafe_div_up(own.end - own.begin, a->S > 1 ? 1 : CARAFE_TILE);
  const int64_t runs = (s->window.end - s->window.begin) * carafe_div_up(a->K, MOST_TAPS);
  const int64_t steps = tiles * runs * slices * s->groups * plan->parts;
  prefetch_after(s, centres, 1);
  prefetch_in(&s->prefetch, steps);
  for (int64_t i = 0; i < s->groups * slices; i++) {
    const int64_t slice = i % slices;
    struct slice c = slice_at(s, centres, i / slices, slice);
    c.grads =
        pack_pixels(s, &c, args->grad_output, a->C, !a->is_half && a->C % VL == 0, scratch->grads);
    if (is_own && own.begin < own.end) do_grad_mask(s, &c, own);
    const struct pixels weights = pack_pixels(s, &c, args->mask, taps, !a->is_half, scratch->taps);
    for (int64_t part = 0; part < plan->parts; part++) add_part(s, &c, &weights, part);
    if (scratch->totals == NULL || plan->total_slices >= slices) continue;
    if ((slice + 1) % plan->total_slices == 0 || slice + 1 == slices) {
      add_totals(s, centres.begin - r, centres.end + r);
    }
  }
  if (scratch->totals != NULL && centres.end == s->centres.end &&
      (s->row + 1) % plan->total_rows == 0) {
    add_totals(s, s->columns.begin, s->columns.end);
  }
}

void MLUOP_VARIANT(carafe_backward)(const void *vargs, int64_t begin, int64_t end, void *memory) {
  static const struct steps steps = {clear_rings, pack_input, do_windows, store_sums};
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {memory, 0};
  const struct carafe_general_scratch scratch = carafe_general_layout(&arena, args);
  walk_items(args, begin, end, &scratch, &steps);
}

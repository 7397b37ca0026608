/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/grad_input.h"
#include "families/carafe/grad_mask.h"
#include "families/carafe/kernels.h"

/* Both gradients. Slice by slice of some windows, grad_output is packed and read twice: for the
   grad_mask of its pixels, and for what they contribute to grad_input. */

/* Sums are 0, and become so again when they are stored; what neighbours read beside the map is
   dropped, but must be numbers. */
static void clear_rings(const struct walk *s) {
  const struct carafe_rings *rings = s->scratch;
  memset(rings->input, 0, (size_t)((char *)rings->grads - (char *)rings->input));
}

/* `length` elements of each pixel of a tensor, as floats: where they are if that is so `in_place`,
   or else in `buffer`, padded to whole vectors. */
static struct pixels pack_pixels(const struct walk *s, const struct slice *c, const void *tensor,
                                 int64_t length, int in_place, float *buffer) {
  const struct carafe_shape *a = &s->args->shape;
  const struct pixels from = pixels_in(s, c, tensor, length);
  if (in_place) return from;
  const struct pixels to = pixels_of_buffer(s, c, buffer, length);
  for (int64_t j = 0; j < c->windows.end - c->windows.begin; j++) {
    for (int e = 0; e < (a->S > 1 ? c->pixels : 1); e++) {
      carafe_pack_run((float *)(void *)(to.at + j * to.step + to.offset[e]),
                      from.at + j * from.step + from.offset[e], 0, length, a->is_half);
    }
  }
  return to;
}

static void do_windows(struct walk *s, struct carafe_span windows) {
  const struct carafe_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const struct carafe_plan *plan = &args->plan;
  const struct carafe_rings *rings = s->scratch;
  const int64_t slices = carafe_slices(a), taps = a->K * a->K, r = (a->K - 1) / 2;
  const struct carafe_span own = both_spans(windows, s->columns);
  const int64_t tiles = carafe_div_up(own.end - own.begin, a->S > 1 ? 1 : PIXELS);
  const int64_t runs = (s->window.end - s->window.begin) * carafe_div_up(a->K, MOST_TAPS);
  prefetch_after(s, windows, 1,
                 tiles * runs * slices * s->groups * carafe_div_up(a->C, plan->part));
  for (int64_t i = 0; i < s->groups * slices; i++) {
    const int64_t slice = i % slices;
    const struct slice c = slice_at(s, windows, i / slices, slice);
    const struct pixels grads =
        pack_pixels(s, &c, args->grad_output, a->C, !a->is_half && a->C % VL == 0, rings->grads);
    if (is_own_row(s) && own.begin < own.end) do_grad_mask(s, &c, &grads, own);
    const struct pixels weights = pack_pixels(s, &c, args->mask, taps, !a->is_half, rings->taps);
    do_grad_input(s, &c, &grads, &weights);
    if (rings->totals == NULL || plan->total_slices >= slices) continue;
    if ((slice + 1) % plan->total_slices == 0 || slice + 1 == slices) {
      add_totals(s, (struct carafe_span){windows.begin - r, windows.end + r});
    }
  }
  if (rings->totals != NULL && windows.end == s->centres.end &&
      (s->row + 1) % plan->total_rows == 0) {
    add_totals(s, s->columns);
  }
}

void MLUOP_VARIANT(carafe_backward)(const void *vargs, int64_t begin, int64_t end, void *memory) {
  static const struct steps steps = {clear_rings, pack_pixel, do_windows, store_sums};
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {memory, 0};
  const struct carafe_rings rings = carafe_lay_out(&arena, args);
  walk_items(args, begin, end, &rings, &steps);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/grad_input.h"
#include "families/carafe/grad_mask.h"
#include "families/carafe/kernels.h"

/* Both gradients. Slice by slice of some windows, a part of grad_output is packed and read twice:
   for the grad_mask of its pixels, and for what they contribute to grad_input. */

static void choose_part(struct walk *s, int64_t part) {
  const struct carafe_rings *rings = s->scratch;
  s->channel = part * s->args->plan.channels;
  s->ring = rings->input + part * carafe_ring_floats(s->args);
}

/* The input under the windows in turn. */
static void pack_input(struct walk *s) {
  for (; is_own_row(s) && s->packed_row < rows_seen(s).end; count_pixel(s)) {
    for (int64_t part = 0; part < carafe_parts(s->args); part++) {
      choose_part(s, part);
      pack_pixel(s);
    }
  }
}

/* In a buffer, where `length` floats of each stand side by side. */
static struct pixels pixels_of_buffer(const struct walk *s, int64_t slice, float *buffer,
                                      int64_t length) {
  const struct carafe_span pixels = carafe_slice(s->args, slice);
  const int64_t bytes = carafe_padded(length) * (int64_t)sizeof(float);
  struct pixels p = {.at = (char *)buffer, .step = (pixels.end - pixels.begin) * bytes};
  for (int e = 0; e < CARAFE_TILE; e++) p.offset[e] = e * bytes;
  return p;
}

/* `count` elements of each pixel, as floats in `buffer`, padded to whole vectors. */
static struct pixels pack_pixels(const struct walk *s, int64_t slice, const struct pixels *from,
                                 int64_t count, float *buffer) {
  const struct carafe_span pixels = carafe_slice(s->args, slice);
  const struct pixels to = pixels_of_buffer(s, slice, buffer, count);
  for (int64_t j = 0; j < s->windows.end - s->windows.begin; j++) {
    for (int64_t e = 0; e < pixels.end - pixels.begin; e++) {
      carafe_pack_run((float *)(void *)(to.at + j * to.step + to.offset[e]),
                      from->at + j * from->step + from->offset[e], 0, count, s->args->is_half);
    }
  }
  return to;
}

/* The channels in turn of grad_output: where they are, if they are whole vectors of floats. */
static struct pixels grads_of(const struct walk *s, int64_t slice, int64_t group) {
  const struct carafe_args *a = s->args;
  const struct carafe_rings *rings = s->scratch;
  struct pixels grads = pixels_in(s, slice, group, carafe_backward_of(a)->grad_output, a->C);
  grads.at += s->channel * (a->is_half ? 2 : 4);
  if (!a->is_half && channels_of(s) % VL == 0) return grads;
  return pack_pixels(s, slice, &grads, channels_of(s), rings->grads);
}

/* A slice of the windows in turn, of one group. */
static void do_slice(struct walk *s, int64_t slice, int64_t group, struct prefetch *prefetch) {
  const struct carafe_args *a = s->args;
  const struct carafe_rings *rings = s->scratch;
  const int64_t taps = a->K * a->K;
  const struct carafe_span own = carafe_both(s->windows, s->columns);
  const int is_own = is_own_row(s) && own.begin < own.end;
  struct pixels weights = pixels_in(s, slice, group, a->mask, taps);
  struct pixels results = pixels_in(s, slice, group, carafe_backward_of(a)->grad_mask, taps);
  if (a->is_half) {
    weights = pack_pixels(s, slice, &weights, taps, rings->weights);
    results = pixels_of_buffer(s, slice, rings->results, taps);
  }
  for (int64_t part = 0; part < carafe_parts(a); part++) {
    choose_part(s, part);
    const struct pixels grads = grads_of(s, slice, group);
    if (is_own) do_grad_mask(s, slice, group, own, &grads, &results, prefetch);
    do_grad_input(s, slice, group, &grads, &weights);
  }
  if (is_own) store_results(s, slice, group, own, &results);
}

static void do_windows(struct walk *s) {
  const struct carafe_args *a = s->args;
  const int64_t slices = carafe_slices(a), r = (a->K - 1) / 2, total_rows = carafe_total_rows(a);
  const struct carafe_span own = carafe_both(s->windows, s->columns), rows = rows_seen(s);
  const int64_t tiles = mluop_div_up(own.end - own.begin, a->S > 1 ? 1 : PIXELS) * slices *
                        (s->groups.end - s->groups.begin) * carafe_parts(a);
  const int64_t runs = (rows.end - rows.begin) * mluop_div_up(a->K, MOST_TAPS);
  struct prefetch prefetch = prefetch_next(s, tiles * runs);
  for (int64_t g = s->groups.begin; g < s->groups.end; g++) {
    for (int64_t slice = 0; slice < slices; slice++) {
      do_slice(s, slice, g, &prefetch);
      if (total_rows == 0 || carafe_total_slices(a) >= slices) continue;
      if ((slice + 1) % carafe_total_slices(a) == 0 || slice + 1 == slices) {
        add_totals(s, (struct carafe_span){s->windows.begin - r, s->windows.end + r});
      }
    }
  }
  if (total_rows > 0 && ends_row(s) && (s->row + 1) % total_rows == 0) add_totals(s, s->columns);
}

void MLUOP_VARIANT(carafe_backward)(const void *vargs, int64_t begin, int64_t end, void *memory) {
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {memory, 0};
  struct carafe_rings rings = carafe_lay_out_backward(&arena, args);
  while (begin < end) {
    struct walk s = next_block(args, &begin, end);
    s.scratch = &rings;
    /* Sums are 0, and become so again when they are stored; what neighbours read beside the map is
       dropped, but must be numbers. */
    memset(rings.input, 0, (size_t)((char *)rings.grads - (char *)rings.input));
    while (next_windows(&s)) {
      pack_input(&s);
      do_windows(&s);
      const struct carafe_span complete = rows_complete(&s);
      for (int64_t y = complete.begin; y < complete.end; y++) store_sums(&s, y);
    }
  }
}

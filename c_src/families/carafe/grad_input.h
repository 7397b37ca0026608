/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_
#define MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_

/* grad_input: the gradients of a tile stay in registers while the pixels of the map under its
   windows pass by: each is loaded from the ring of sums, gets its contributions, and is stored.
   Rows and columns of windows follow each other as in grad_output, and so do the contributions to
   an element. */

#include <string.h>

#include "families/carafe/tile.h"

MLUOP_INLINE void add_tile(const struct tile *t, int pixels, int neighbours, int vectors) {
  vf grad[PIXELS][VECTORS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const float *from = pixel_at(&t->values, e);
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) grad[e][v] = vf_load(from + v * VL);
  }
  add_rows(grad, t, pixels, neighbours, vectors, 1);
}

MLUOP_INLINE void add_vectors(const struct tile *t, int64_t vectors, int pixels, int neighbours) {
  if (vectors == 1) add_tile(t, pixels, neighbours, 1);
  if (vectors == 2) add_tile(t, pixels, neighbours, 2);
  if (GRAD_VECTORS > 2 && vectors == 3) add_tile(t, pixels, neighbours, 3);
  if (GRAD_VECTORS > 3 && vectors == 4) add_tile(t, pixels, neighbours, 4);
  if (GRAD_VECTORS > 4 && vectors == 5) add_tile(t, pixels, neighbours, 5);
  if (GRAD_VECTORS > 5 && vectors == 6) add_tile(t, pixels, neighbours, 6);
}

static void add_pixels(const struct tile *t, int64_t vectors, enum tile_kind kind) {
  if (kind == ONE) add_vectors(t, vectors, 1, 0);
  if (kind == THREE) add_vectors(t, vectors, 3, 0);
  if (kind == FOUR) add_vectors(t, vectors, 4, 0);
  if (kind == NEIGHBOURS) add_vectors(t, vectors, 4, 1);
}

/* Row y of the rings of sums or totals, of the channels in turn: column 0 of the map. */
static float *sums_row(const struct walk *s, float *rings, int64_t y) {
  const struct carafe_args *a = s->args;
  const int64_t columns = s->channel / a->plan.channels * a->plan.columns - s->columns.begin;
  return row_of_ring(a, rings, y) + columns * carafe_column_floats(a);
}

/* What the windows of a slice contribute to the channels in turn of a group. */
static void do_grad_input(struct walk *s, int64_t slice, int64_t group, const struct pixels *grads,
                          const struct pixels *weights) {
  const struct carafe_rings *rings = s->scratch;
  const int64_t all = mluop_div_up(channels_of(s), VL), cuts = mluop_div_up(all, GRAD_VECTORS);
  struct tile t;
  begin_tiles(&t, s, group, grads, weights, carafe_both(rows_seen(s), s->rows),
              sums_row(s, rings->sums, 0));
  enum tile_kind kind;
  for (int64_t cut = 0, begin = 0, vectors; cut < cuts; cut++, begin += vectors) {
    vectors = mluop_div_up(all - begin, cuts - cut);
    for (move_tile(&t, s->windows.begin); t.window < s->windows.end;
         move_tile(&t, t.window + tile_step(kind))) {
      kind = tile_at(s->args, slice, t.window, s->windows.end);
      clip_tile(&t, s->columns, kind == NEIGHBOURS);
      add_pixels(&t, vectors, kind);
    }
    t.channel += vectors * VL;
    t.values.at += vectors * VL * (int64_t)sizeof(float);
  }
}

/* total += sum; sum = 0 */
static void move_sums(float *total, float *sum, int64_t count) {
  for (int64_t i = 0; i < count; i += VL) {
    vf_store(total + i, vf_load(total + i) + vf_load(sum + i));
    vf_store(sum + i, vf_set(0.0f));
  }
}

/* Two-level sums: what was added to some columns of the rows under the windows. */
static void add_totals(struct walk *s, struct carafe_span windows) {
  const struct carafe_args *a = s->args;
  const struct carafe_rings *rings = s->scratch;
  const struct carafe_span columns = carafe_both(s->columns, windows),
                           rows = carafe_both(rows_seen(s), s->rows);
  for (s->channel = 0; s->channel < a->C; s->channel += a->plan.channels) {
    for (int64_t y = rows.begin; y < rows.end; y++) {
      for (int64_t x = columns.begin; x < columns.end; x++) {
        const int64_t at = x * carafe_column_floats(a);
        move_sums(sums_row(s, rings->totals, y) + at, sums_row(s, rings->sums, y) + at,
                  carafe_pixel_floats(a));
      }
    }
  }
}

/* Store: row y, to which no window contributes any more. Its sums become 0. */
static void store_sums(struct walk *s, int64_t y) {
  const struct carafe_args *a = s->args;
  const struct carafe_rings *rings = s->scratch;
  const int64_t floats = carafe_pixel_floats(a);
  for (int64_t x = s->columns.begin; x < s->columns.end; x++) {
    for (s->channel = 0; s->channel < a->C; s->channel += a->plan.channels) {
      const int64_t at = x * carafe_column_floats(a), to = map_element(s, y, x) + s->channel;
      float *sums = sums_row(s, rings->sums, y) + at;
      if (rings->totals != NULL) {
        move_sums(sums_row(s, rings->totals, y) + at, sums, floats);
        sums = sums_row(s, rings->totals, y) + at;
      }
      for (int64_t g = 0; g < s->groups.end - s->groups.begin; g++) {
        carafe_store_run(carafe_backward_of(a)->grad_input, to + g * a->C,
                         sums + g * carafe_padded(a->plan.channels), channels_of(s), a->is_half);
      }
      memset(sums, 0, (size_t)floats * sizeof(*sums));
    }
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "families/carafe/kernels.h"
#include "families/carafe/lane_grad_input.h"

/* small_channels: both gradients where groups have few channels. */

/* grad_mask of VL positions, of up to 4 pixels that share a window: `count` taps from number `tap`
   on. A vector has one channel of each position, or one tap. */
MLUOP_INLINE void dot_taps(const struct lane_windows *t, int64_t tap, int pixels, int count) {
  const int64_t unit = t->input_unit, step = t->values_unit;
  vf sum[CARAFE_TILE][LANE_TAPS];
  const float *x[LANE_TAPS];
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    x[i] = t->input + t->place[tap + i];
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) sum[e][i] = vf_set(0.0f);
  }
  const float *grads = t->values;
  for (int64_t c = 0; c < t->channels; c++, grads += CARAFE_TILE * step) {
    vf seen[LANE_TAPS];
    MLUOP_UNROLL for (int i = 0; i < count; i++) seen[i] = vf_opaque(vf_load(x[i] + c * unit));
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      const vf g = vf_load(grads + e * step);
      MLUOP_UNROLL for (int i = 0; i < count; i++) sum[e][i] = vf_fma(g, seen[i], sum[e][i]);
    }
  }
  float *to = t->taps + tap * CARAFE_TILE * VL;
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++)
        vf_store(to + (i * CARAFE_TILE + e) * VL, sum[e][i]);
  }
}

MLUOP_INLINE void dot_lanes(const struct lane_windows *t, int pixels) {
  int64_t tap = t->span.begin;
  for (; tap + LANE_TAPS <= t->span.end; tap += LANE_TAPS) dot_taps(t, tap, pixels, LANE_TAPS);
  for (; tap + 2 <= t->span.end; tap += 2) dot_taps(t, tap, pixels, 2);
  if (tap < t->span.end) dot_taps(t, tap, pixels, 1);
}

static void dot_lane_pixels(const struct lane_windows *t, int pixels) {
  if (pixels == 1) dot_lanes(t, 1);
  if (pixels == 3) dot_lanes(t, 3);
  if (pixels == 4) dot_lanes(t, 4);
}

/* Which of two NaNs a sum keeps may depend on how many rows of a block are done at once. */
static void make_nans_equal(float *row, int64_t count) {
  for (int64_t i = 0; i < count; i += VL) {
    const vf sum = vf_load(row + i);
    vf_store(row + i, vf_select(vf_at_least(sum, sum), sum, vf_set(NAN)));
  }
}

static void store_row(const struct walk *s, int64_t y) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  const int64_t end = s->columns.end * pitch_of(s), floats = a->C * scratch->plane;
  const struct lane_numbers row = row_of(s, scratch->sums, y);
  make_nans_equal(row.at, floats);
  for (int64_t p = s->columns.begin * pitch_of(s); p < end; p += VL) {
    int64_t lane[VL];
    struct runs b = runs_at(s, lane, p, end, a->G);
    choose_runs(&b, carafe_backward_of(s->args)->grad_input, map_run(s, y), a->C);
    lanes_put(&b, row.at + place_of(s, p) * row.scale, row.unit);
  }
  memset(row.at, 0, (size_t)floats * sizeof(*row.at));
}

/* A slice of the pixels under the windows of a row. */
struct row_slice {
  int pixels;
  int64_t run[CARAFE_TILE];           /* of the first group of each, around column 0 */
  struct lane_numbers weights, grads; /* number t of pixel e is number 4 * t + e */
};

/* What a vector of windows contributes to grad_input, where the numbers of a vector of groups stand
   together. */
static void spread_windows(const struct walk *s, const struct row_slice *c, int64_t position) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  const int64_t pitch = pitch_of(s), first = position / pitch - (a->K - 1) / 2;
  const int64_t begin = mluop_max(0, s->columns.begin - first);
  const struct carafe_span rows = carafe_both(rows_seen(s), s->rows);
  const int64_t top = rows.begin - s->row + (a->K - 1) / 2;
  const int64_t place = place_of(s, (first + begin) * pitch + position % pitch);
  struct lane_spread t = {.weights = c->weights.at + top * a->K * CARAFE_TILE * VL,
                          .grads = c->grads.at,
                          .K = a->K,
                          .channels = a->C,
                          .begin = begin,
                          .end = mluop_min(a->K, s->columns.end - first),
                          .rows = rows.end - rows.begin,
                          .column = pitch * a->C};
  for (int64_t y = 0; y < t.rows; y++) {
    t.sums[y] = row_of(s, scratch->sums, rows.begin + y).at + place * a->C;
  }
  spread_pixels(&t, c->pixels);
}

/* Packs the windows around columns [begin, end); makes their grad_mask if `dots` is not NULL. */
static void do_positions(const struct walk *s, const struct row_slice *c, struct lane_windows *dots,
                         int64_t begin, int64_t end) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  const struct lane_numbers *w = &c->weights, *g = &c->grads;
  const int64_t pitch = pitch_of(s);
  const struct lane_numbers input = numbers_of(s, scratch->input, a->C);
  for (int64_t p = begin * pitch; p < end * pitch; p += VL) {
    const int64_t at = place_of(s, p);
    int64_t lane[VL];
    struct runs b = runs_at(s, lane, p, end * pitch, a->S * a->G);
    for (int e = 0; e < c->pixels; e++) {
      choose_runs(&b, s->args->mask, c->run[e], a->K * a->K);
      lanes_take(w->at + e * w->unit + at * w->scale, CARAFE_TILE * w->unit, &b);
      choose_runs(&b, carafe_backward_of(s->args)->grad_output, c->run[e], a->C);
      lanes_take(g->at + e * g->unit + at * g->scale, CARAFE_TILE * g->unit, &b);
    }
    if (scratch->spreads) spread_windows(s, c, p);
    if (dots == NULL) continue;
    dots->input = input.at + at * input.scale;
    dots->values = g->at + at * g->scale;
    dot_lane_pixels(dots, c->pixels);
    clear_outside(s, p, dots->taps);
    for (int e = 0; e < c->pixels; e++) {
      choose_runs(&b, carafe_backward_of(s->args)->grad_mask, c->run[e], a->K * a->K);
      lanes_put(&b, dots->taps + e * VL, CARAFE_TILE * VL);
    }
  }
}

/* grad_input of the block's own columns, where all numbers are in planes. */
static void do_grad_input(const struct walk *s, const struct row_slice *c) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  const struct carafe_span owned = carafe_both(rows_seen(s), s->rows);
  const int64_t r = (a->K - 1) / 2, top = s->row - r, plane = scratch->plane;
  struct lane_sums t = {.K = a->K, .channels = a->C, .plane = plane, .pitch = pitch_of(s)};
  for (int64_t p = s->columns.begin * a->G; p < s->columns.end * a->G; p += VL) {
    const int64_t at = place_of(s, p), window = at + r * a->G;
    t.grads = scratch->grads + window;
    for (int64_t y = owned.begin, rows; y < owned.end; y += rows) {
      rows = mluop_min(owned.end - y, LANE_ROWS);
      t.weights = scratch->weights + window + (y - top) * a->K * CARAFE_TILE * plane;
      for (int64_t i = 0; i < rows; i++) t.sums[i] = row_of(s, scratch->sums, y + i).at + at;
      add_rows_of_lanes(&t, c->pixels, rows);
    }
  }
}

/* All windows of a row of the block. */
static void do_row(const struct walk *s) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  for (int64_t slice = 0; slice < carafe_slices(a); slice++) {
    /* Those of vectors that are spread at once are not kept. */
    struct row_slice c = {.weights = numbers_of(s, scratch->weights, 0),
                          .grads = numbers_of(s, scratch->grads, 0)};
    c.pixels = runs_of_slice(s, slice, c.run);
    int64_t place[CARAFE_SMALL_BACKWARD_K * CARAFE_SMALL_BACKWARD_K];
    struct lane_windows dots = windows_of(s, scratch->taps, c.grads.unit, place);
    do_positions(s, &c, NULL, s->windows.begin, s->columns.begin);
    do_positions(s, &c, is_own_row(s) ? &dots : NULL, s->columns.begin, s->columns.end);
    do_positions(s, &c, NULL, s->columns.end, s->windows.end);
    if (!scratch->spreads) do_grad_input(s, &c);
  }
}

void MLUOP_VARIANT(carafe_backward_small)(const void *vargs, int64_t begin, int64_t end,
                                          void *memory) {
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {memory, 0};
  struct carafe_small_scratch scratch = carafe_small_layout(&arena, args, VL);
  while (begin < end) {
    struct walk s = next_block(args, &begin, end);
    s.scratch = &scratch;
    clear_planes(&s);
    while (next_windows(&s)) {
      while (is_own_row(&s) && s.packed_row < rows_seen(&s).end) pack_row(&s);
      do_row(&s);
      const struct carafe_span complete = rows_complete(&s);
      for (int64_t y = complete.begin; y < complete.end; y++) store_row(&s, y);
    }
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_
#define MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_

/* grad_mask: K x K dot products over channels for each pixel of grad_output and group. A tile is up
   to 4 pixels by a run of up to MOST_TAPS taps, whose sums stay in registers: each vector of the
   one serves all of the other. A lane of a sum takes every VL-th channel, whatever else is computed
   beside it. */

#include "families/carafe/chunk.h"

/* Of 32 registers, 4 x 5 hold sums; of 16, 4 x 3. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { MOST_TAPS = CARAFE_RUN_TAPS };
#else
enum { MOST_TAPS = 3 };
#endif

/* All taps of whole windows up to this size are one list, which is cut where registers are full. Of
   larger ones, of neighbours and at the sides of the map, each row is one. */
enum { LISTED_K = 11 };

/* Bytes of the input under a window that stay in the first cache while the window moves on. Of
   larger ones, some rows at a time are done. */
enum { WINDOW_BYTES = 1 << 15 };

struct dots {
  const float *grad[CARAFE_TILE];
  float *out[CARAFE_TILE]; /* K x K of each pixel */
  const float *input;
  int64_t corner;                /* of the first pixel's window, in the input */
  int64_t length;                /* channels, in whole vectors */
  int add;                       /* to what is there */
  const struct carafe_run *runs; /* of the first row; the same in the others */
  int64_t count;                 /* of runs */
  const int64_t *row;            /* where each is in the input */
  int64_t rows, K;
  struct prefetch *prefetch;
};

/* One vector of channels. Tap t of pixel e is at x[t], of neighbours at x[t + e]. */
MLUOP_INLINE void add_products(vf sum[CARAFE_TILE][MOST_TAPS], const float *const *grad,
                               const float *const *x, int64_t c, int pixels, int taps, int shift) {
  vf g[CARAFE_TILE], v[MOST_TAPS];
  if (shift == 0) {
    MLUOP_UNROLL for (int t = 0; t < taps; t++) v[t] = vf_pin(vf_load(x[t] + c));
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      g[e] = vf_pin(vf_load(grad[e] + c));
      MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_fma(g[e], v[t], sum[e][t]);
    }
    return;
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) g[e] = vf_pin(vf_load(grad[e] + c));
  MLUOP_UNROLL for (int u = 0; u < taps + pixels - 1; u++) {
    const vf seen = vf_pin(vf_load(x[u] + c));
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      if (u >= e && u - e < taps) sum[e][u - e] = vf_fma(g[e], seen, sum[e][u - e]);
    }
  }
}

/* The totals of the lanes, to `to[e]`: by four taps of a pixel, or four pixels of a tap that is
   left. */
MLUOP_INLINE void fold_sums(float *const *to, vf sum[CARAFE_TILE][MOST_TAPS], int pixels,
                            int taps) {
  const int by_taps = taps / 4 * 4, p = pixels - 1;
  MLUOP_UNROLL for (int t = 0; t < by_taps; t += 4) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      vf_store_sums4(to[e] + t, sum[e][t], sum[e][t + 1], sum[e][t + 2], sum[e][t + 3]);
    }
  }
  MLUOP_UNROLL for (int t = by_taps; t < taps; t++) {
    float four[4];
    vf_store_sums4(four, sum[0][t], sum[p < 1 ? p : 1][t], sum[p < 2 ? p : 2][t], sum[p][t]);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) to[e][t] = four[e];
  }
}

/* A run, in row y. */
MLUOP_INLINE void dot_run(const struct dots *d, const struct carafe_run *run, int64_t y, int pixels,
                          int taps, int shift) {
  vf sum[CARAFE_TILE][MOST_TAPS];
  const int seen = shift ? taps + pixels - 1 : taps;
  const float *grad[CARAFE_TILE], *at[CARAFE_RUN_TAPS + CARAFE_TILE - 1];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    grad[e] = mluop_pin_pointer(d->grad[e]);
    MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_set(0.0f);
  }
  MLUOP_UNROLL for (int t = 0; t < seen; t++) {
    at[t] = mluop_pin_pointer(d->input + (d->corner + d->row[y] + run->place[t]));
  }
  for (int64_t c = 0, length = d->length; c < length; c = mluop_pin(c + VL)) {
    add_products(sum, grad, at, c, pixels, taps, shift);
  }
  const int at_once = !d->add && run->tap[taps - 1] - run->tap[0] == taps - 1;
  float total[CARAFE_TILE][CARAFE_RUN_TAPS], *to[CARAFE_TILE];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    to[e] = at_once ? d->out[e] + (y * d->K + run->tap[0]) : total[e];
  }
  fold_sums(to, sum, pixels, taps);
  for (int e = 0; e < pixels && !at_once; e++) {
    for (int t = 0; t < taps; t++) {
      float *out = d->out[e] + (y * d->K + run->tap[t]);
      *out = d->add ? *out + total[e][t] : total[e][t];
    }
  }
}

MLUOP_INLINE void dot_tile(const struct dots *d, int pixels, int shift) {
  for (int64_t y = 0; y < d->rows; y++) {
    for (const struct carafe_run *run = d->runs; run < d->runs + d->count; run++) {
      prefetch_lines(d->prefetch, d->prefetch->at_once);
      if (run->taps == 1) dot_run(d, run, y, pixels, 1, shift);
      if (run->taps == 2) dot_run(d, run, y, pixels, 2, shift);
      if (run->taps == 3) dot_run(d, run, y, pixels, 3, shift);
      if (MOST_TAPS > 3 && run->taps == 4) dot_run(d, run, y, pixels, MOST_TAPS - 1, shift);
      if (MOST_TAPS > 4 && run->taps == 5) dot_run(d, run, y, pixels, MOST_TAPS, shift);
    }
  }
}

typedef void dots_function(const struct dots *d);

static void dot_one(const struct dots *d) { dot_tile(d, 1, 0); }
static void dot_three(const struct dots *d) { dot_tile(d, 3, 0); }
static void dot_four(const struct dots *d) { dot_tile(d, 4, 0); }
static void dot_neighbours(const struct dots *d) { dot_tile(d, 4, 1); }

static dots_function *const dots_functions[TILE_KINDS] = {
    [ONE] = dot_one, [THREE] = dot_three, [FOUR] = dot_four, [NEIGHBOURS] = dot_neighbours};

/* Lists the taps of some rows of a window, in the columns that are on the map. Neighbours look at 3
   columns more. */
static int64_t list_runs(const struct map_strip *s, const int64_t *row, int64_t rows,
                         struct carafe_span columns, int shift) {
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t K = s->args->shape.K, pixel = carafe_pixel_floats(&s->args->plan);
  const int64_t all = rows * (columns.end - columns.begin);
  int64_t count = 0, y = 0, t = columns.begin;
  for (int64_t left = all; left > 0; left -= scratch->runs[count++].taps) {
    struct carafe_run *run = &scratch->runs[count];
    run->taps = (int32_t)(left >= 2 * MOST_TAPS ? MOST_TAPS
                          : left > MOST_TAPS    ? (left + 1) / 2
                                                : left);
    for (int i = 0; i < run->taps; i++) {
      run->place[i] = (int32_t)(row[y] - row[0] + t * pixel);
      run->tap[i] = (int32_t)(y * K + t);
      if (++t < columns.end || shift) continue;
      t = columns.begin;
      y++;
    }
    for (int i = 0; i < CARAFE_TILE - 1 && shift; i++) {
      run->place[run->taps + i] = (int32_t)((t + i) * pixel);
    }
  }
  return count;
}

/* Taps of the window around column j that lie beside the map are 0, whatever the gradient. */
static void clear_outside(const struct map_strip *s, int64_t j, float *taps) {
  const int64_t K = s->args->shape.K, r = (K - 1) / 2;
  const struct carafe_span columns = carafe_window(j, K, s->args->shape.W);
  const int64_t left = columns.begin - j + r, right = columns.end - j + r;
  for (int64_t y = 0; y < K; y++, taps += K) {
    const int64_t at = s->row - r + y;
    const int inside = at >= s->window.begin && at < s->window.end;
    for (int64_t t = 0; t < (inside ? left : K); t++) taps[t] = 0.0f;
    for (int64_t t = right; t < K && inside; t++) taps[t] = 0.0f;
  }
}

/* Results become half where they belong. The last vector begins within the one before it. */
static void narrow_run(uint16_t *to, const float *from, int64_t count) {
  if (count < VL) {
    vf_store_half_part(to, vf_load_part(from, count), count);
    return;
  }
  for (int64_t i = 0; i + VL <= count; i += VL) vf_store_half(to + i, vf_load(from + i));
  vf_store_half(to + count - VL, vf_load(from + count - VL));
}

/* STORE: grad_mask of the windows `own` of a chunk is complete in `results`. */
static void store_results(const struct map_strip *s, const struct chunk *c, struct carafe_span own,
                          const struct pixels *results) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t K = a->K, r = (K - 1) / 2, taps = K * K;
  const int cut = s->window.end - s->window.begin < K;
  for (int64_t j = own.begin; j < own.end; j++) {
    for (int e = 0; e < (a->S > 1 ? c->pixels : 1); e++) {
      float *from = results->at + (j - c->centres.begin) * results->step + results->offset[e];
      if (cut || j < r || j + r >= a->W) clear_outside(s, j, from);
      if (!a->is_half) continue;
      const int64_t pixel = c->first + (j - c->centres.begin) * a->S + c->offset[e];
      uint16_t *to = (uint16_t *)s->args->grad_mask + (pixel * a->G + s->group + c->group) * taps;
      narrow_run(to, from, taps);
    }
  }
}

/* Some rows of all windows `own`, and one part of the channels. */
static void dot_rows(struct map_strip *s, const struct chunk *c, struct carafe_span own,
                     int64_t part, struct carafe_span rows, const struct pixels *results,
                     struct dots *d) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_backward_plan *plan = &s->args->plan;
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t r = (a->K - 1) / 2, slots = carafe_slots(a), top = s->row - r;
  const int64_t first = carafe_max(0, s->columns.begin - r) - carafe_margin_columns(a);
  const int64_t row_floats = carafe_input_row_floats(s->args);
  for (int64_t y = rows.begin; y < rows.end; y++) {
    scratch->rows[y - rows.begin] = (part * slots + y % slots) * row_floats;
  }
  d->input = scratch->input + c->group * carafe_padded(plan->part);
  struct carafe_span listed = {0, 0};
  for (int64_t j = own.begin; j < own.end;) {
    const enum tile_kind kind = tile_at(s, c, j, own.end);
    const int64_t i = j - c->centres.begin, beside = kind == NEIGHBOURS ? CARAFE_TILE - 1 : 0;
    const struct carafe_span seen = {carafe_max(0, r - j - beside), carafe_min(a->K, a->W - j + r)};
    if (seen.begin != listed.begin || seen.end != listed.end) {
      const int whole = a->S > 1 && a->K <= LISTED_K && seen.end - seen.begin == a->K;
      d->rows = whole ? 1 : rows.end - rows.begin;
      d->count = list_runs(s, scratch->rows, rows.end - rows.begin - d->rows + 1, seen, a->S == 1);
      listed = seen;
    }
    for (int e = 0; e < tile_pixels[kind]; e++) {
      d->grad[e] = c->grads.at + i * c->grads.step + c->grads.offset[e] + part * plan->part;
      d->out[e] = results->at + i * results->step + results->offset[e] + (rows.begin - top) * a->K;
    }
    d->corner = (j - r - first) * carafe_pixel_floats(plan);
    dots_functions[kind](d);
    j += tile_step(kind);
  }
}

/* grad_mask of the windows `own` of a chunk: channels part by part, and of large windows some rows
   at a time, so that the input under them stays near. */
static void do_grad_mask(struct map_strip *s, const struct chunk *c, struct carafe_span own) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_backward_plan *plan = &s->args->plan;
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t most = WINDOW_BYTES / (a->K * plan->part * (int64_t)sizeof(float));
  const int64_t count = s->window.end - s->window.begin;
  const int64_t cuts = carafe_div_up(count, carafe_max(1, most));
  const struct pixels results =
      a->is_half ? pixels_of_buffer(s, c, scratch->taps, carafe_padded(a->K * a->K))
                 : pixels_in(s, c, s->args->grad_mask, a->K * a->K);
  struct dots d = {
      .runs = scratch->runs, .row = scratch->rows, .K = a->K, .prefetch = &s->prefetch};
  for (int64_t part = 0; part < plan->parts; part++) {
    const int64_t length = carafe_min(plan->part, a->C - part * plan->part);
    d.length = carafe_div_up(length, VL) * VL;
    d.add = part > 0;
    for (int64_t cut = 0; cut < cuts; cut++) {
      const struct carafe_span rows = {s->window.begin + count * cut / cuts,
                                       s->window.begin + count * (cut + 1) / cuts};
      dot_rows(s, c, own, part, rows, &results, &d);
    }
  }
  store_results(s, c, own, &results);
}

#endif /* MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_ */

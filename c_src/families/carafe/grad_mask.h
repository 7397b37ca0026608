/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_
#define MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_

/* grad_mask: K x K dot products over channels for each pixel of grad_output and group. A tile is up
   to 4 pixels by a run of up to MOST_TAPS taps, whose sums stay in registers: each vector of the
   one serves all of the other. A lane of a sum takes every VL-th channel, whatever else is computed
   beside it. */

#include "families/carafe/slice.h"

/* Of 32 registers, 4 x 5 hold sums; of 16, 4 x 3. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { MOST_TAPS = 5 };
#else
enum { MOST_TAPS = 3 };
#endif

/* One vector of channels. Tap t of pixel e is at x[t], of neighbours at x[t + e]. */
MLUOP_INLINE void add_products(vf sum[CARAFE_TILE][MOST_TAPS], const float *const *grad,
                               const float *const *x, int64_t c, int pixels, int taps, int shift) {
  vf g[CARAFE_TILE], v[MOST_TAPS];
  if (shift == 0) {
    MLUOP_UNROLL for (int t = 0; t < taps; t++) v[t] = vf_opaque(vf_load(x[t] + c));
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      g[e] = vf_opaque(vf_load(grad[e] + c));
      MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_fma(g[e], v[t], sum[e][t]);
    }
    return;
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) g[e] = vf_opaque(vf_load(grad[e] + c));
  MLUOP_UNROLL for (int u = 0; u < taps + pixels - 1; u++) {
    const vf seen = vf_opaque(vf_load(x[u] + c));
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

/* A run from tap `tap` of the window on, which is on the packed pixel `x`. */
MLUOP_INLINE void dot_run(const struct pixel_tile *t, const float *x, int64_t tap, int pixels,
                          int taps, int shift) {
  vf sum[CARAFE_TILE][MOST_TAPS];
  const int columns = shift ? taps + pixels - 1 : taps;
  const float *grad[CARAFE_TILE], *at[MOST_TAPS + CARAFE_TILE - 1];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    grad[e] = mluop_opaque_pointer(t->grad[e]);
    MLUOP_UNROLL for (int i = 0; i < taps; i++) sum[e][i] = vf_set(0.0f);
  }
  MLUOP_UNROLL for (int i = 0; i < columns; i++) at[i] = mluop_opaque_pointer(x + i * t->pixel);
  for (int64_t c = 0, length = t->length; c < length; c = mluop_opaque(c + VL)) {
    add_products(sum, grad, at, c, pixels, taps, shift);
  }
  float total[CARAFE_TILE][MOST_TAPS], *to[CARAFE_TILE];
  for (int e = 0; e < pixels; e++) to[e] = t->is_first ? t->taps[e] + tap : total[e];
  fold_sums(to, sum, pixels, taps);
  for (int e = 0; e < pixels && !t->is_first; e++) {
    for (int i = 0; i < taps; i++) t->taps[e][tap + i] += total[e][i];
  }
}

/* Rows are cut into runs of about the same length, where registers are full. */
MLUOP_INLINE void dot_tile(const struct pixel_tile *t, int pixels, int shift) {
  int64_t row = t->row;
  for (int64_t y = 0; y < t->rows; y++) {
    const float *x = t->ring + row * t->row_floats + t->at;
    for (int64_t u = t->begin, taps; u < t->end; u += taps, x += taps * t->pixel) {
      const int64_t left = t->end - u, tap = y * t->K + u;
      taps = left >= 2 * MOST_TAPS ? MOST_TAPS : left > MOST_TAPS ? (left + 1) / 2 : left;
      prefetch_lines(t->prefetch, t->prefetch->at_once);
      if (taps == 1) dot_run(t, x, tap, pixels, 1, shift);
      if (taps == 2) dot_run(t, x, tap, pixels, 2, shift);
      if (taps == 3) dot_run(t, x, tap, pixels, 3, shift);
      if (MOST_TAPS > 3 && taps == 4) dot_run(t, x, tap, pixels, 4, shift);
      if (MOST_TAPS > 4 && taps == 5) dot_run(t, x, tap, pixels, 5, shift);
    }
    row = row + 1 == t->slots ? 0 : row + 1;
  }
}

static void dot_pixels(const struct pixel_tile *t, enum tile_kind kind) {
  if (kind == ONE) dot_tile(t, 1, 0);
  if (kind == THREE) dot_tile(t, 3, 0);
  if (kind == FOUR) dot_tile(t, 4, 0);
  if (kind == NEIGHBOURS) dot_tile(t, 4, 1);
}

/* Taps of the window around column j that lie beside the map are 0, whatever the gradient. */
static void clear_outside(const struct block_walk *s, int64_t j, float *taps) {
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

/* STORE: grad_mask of the windows `own` of a slice is complete in `results`. */
static void store_results(const struct block_walk *s, const struct slice *c, struct carafe_span own,
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
      const int64_t to = (pixel * a->G + s->group + c->group) * taps;
      carafe_store_run(s->args->grad_mask, to, from, taps, 1);
    }
  }
}

/* grad_mask of the windows `own` of a slice, channels part by part. */
static void do_grad_mask(struct block_walk *s, const struct slice *c, struct carafe_span own) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_plan *plan = &s->args->plan;
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t K = a->K, r = (K - 1) / 2;
  const int64_t first = carafe_max(0, s->columns.begin - r) - carafe_margin_columns(a);
  const struct pixels results = a->is_half
                                    ? pixels_of_buffer(s, c, scratch->taps, carafe_padded(K * K))
                                    : pixels_in(s, c, s->args->grad_mask, K * K);
  enum tile_kind kind;
  for (int64_t part = 0; part < plan->parts; part++) {
    struct pixel_tile t =
        first_tile(s, c, scratch->input, carafe_input_row_floats(s->args), s->window, part);
    t.length = carafe_div_up(carafe_min(plan->part, a->C - part * plan->part), VL) * VL;
    for (int64_t j = own.begin; j < own.end; j += tile_step(kind)) {
      kind = tile_at(s, c, j, own.end);
      t.begin = carafe_max(0, r - j - tile_step(kind) + 1);
      t.end = carafe_min(K, a->W - j + r);
      t.at = (j - r - first + t.begin) * t.pixel;
      place_tile(&t, c, &results, j, part * plan->part, (s->window.begin - s->row + r) * K);
      dot_pixels(&t, kind);
    }
  }
  store_results(s, c, own, &results);
}

#endif /* MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_ */

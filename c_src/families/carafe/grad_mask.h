/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_
#define MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_

/* grad_mask: K x K dot products over channels for each pixel of grad_output and group. A tile is up
   to 4 pixels by a run of up to MOST_TAPS taps, whose sums stay in registers: each vector of the
   one serves all of the other. A lane of a sum takes every VL-th channel, whatever else is computed
   beside it. */

#include "families/carafe/prefetch.h"
#include "families/carafe/tile.h"

/* One vector of channels. Tap t of pixel e is at x[t], of neighbours at x[t + e]. */
MLUOP_INLINE void add_products(vf sum[PIXELS][MOST_TAPS], const float *const *grad,
                               const float *const *x, int64_t c, int pixels, int taps, int shift) {
  vf g[PIXELS], v[MOST_TAPS];
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

/* The totals of the lanes: by four taps of a pixel, or four pixels of a tap that is left. */
MLUOP_INLINE void fold_sums(float total[PIXELS][MOST_TAPS], vf sum[PIXELS][MOST_TAPS], int pixels,
                            int taps) {
  const int by_taps = taps / 4 * 4, p = pixels - 1;
  MLUOP_UNROLL for (int t = 0; t < by_taps; t += 4) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      vf_store_sums4(total[e] + t, sum[e][t], sum[e][t + 1], sum[e][t + 2], sum[e][t + 3]);
    }
  }
  MLUOP_UNROLL for (int t = by_taps; t < taps; t++) {
    float four[4];
    vf_store_sums4(four, sum[0][t], sum[p < 1 ? p : 1][t], sum[p < 2 ? p : 2][t], sum[p][t]);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) total[e][t] = four[e];
  }
}

/* A run of taps from number `tap` on, which is on the packed pixel `x`, summed over `channels`, in
   whole vectors. `is_first`: not to be added to what is there. */
MLUOP_INLINE void dot_run(const struct tile *t, const float *x, int64_t tap, int64_t channels,
                          int is_first, int pixels, int taps, int shift) {
  vf sum[PIXELS][MOST_TAPS];
  const int columns = shift ? taps + pixels - 1 : taps;
  const float *grad[PIXELS], *at[MOST_TAPS + PIXELS - 1];
  MLUOP_UNROLL for (int i = 0; i < columns; i++) at[i] = mluop_opaque_pointer(x + i * t->column);
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    grad[e] = mluop_opaque_pointer(pixel_at(&t->values, e));
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int i = 0; i < taps; i++) sum[e][i] = vf_set(0.0f);
  }
  for (int64_t c = 0; c < channels; c = mluop_opaque(c + VL)) {
    add_products(sum, grad, at, c, pixels, taps, shift);
  }
  float total[PIXELS][MOST_TAPS];
  fold_sums(total, sum, pixels, taps);
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = pixel_at(&t->taps, e) + tap;
    MLUOP_UNROLL for (int i = 0; i < taps; i++) to[i] =
        is_first ? total[e][i] : to[i] + total[e][i];
  }
}

/* Rows are cut into runs of about the same length, where registers are full. */
MLUOP_INLINE void dot_tile(const struct tile *t, struct prefetch *prefetch, int pixels, int shift) {
  const struct walk *s = t->walk;
  const int64_t channels = mluop_div_up(channels_of(s), VL) * VL, K = s->args->K;
  const int64_t begin = mluop_max(0, t->used.begin - (shift ? pixels - 1 : 0));
  const int64_t end = mluop_min(K, t->used.end), column = t->column;
  const int64_t at = first_column(t) + (begin - t->used.begin) * column;
  const int is_first = s->channel == 0;
  for (int64_t y = 0; y < t->row_count; y++) {
    const float *x = t->rows[y] + at;
    for (int64_t u = begin, taps; u < end; u += taps, x += taps * column) {
      const int64_t left = end - u, tap = y * K + u;
      taps = left >= 2 * MOST_TAPS ? MOST_TAPS : left > MOST_TAPS ? (left + 1) / 2 : left;
      prefetch_lines(prefetch);
      if (taps == 1) dot_run(t, x, tap, channels, is_first, pixels, 1, shift);
      if (taps == 2) dot_run(t, x, tap, channels, is_first, pixels, 2, shift);
      if (taps == 3) dot_run(t, x, tap, channels, is_first, pixels, 3, shift);
      if (MOST_TAPS > 3 && taps == 4) dot_run(t, x, tap, channels, is_first, pixels, 4, shift);
      if (MOST_TAPS > 4 && taps == 5) dot_run(t, x, tap, channels, is_first, pixels, 5, shift);
    }
  }
}

static void dot_pixels(const struct tile *t, struct prefetch *prefetch, enum tile_kind kind) {
  if (kind == ONE) dot_tile(t, prefetch, 1, 0);
  if (kind == THREE) dot_tile(t, prefetch, 3, 0);
  if (kind == FOUR) dot_tile(t, prefetch, 4, 0);
  if (kind == NEIGHBOURS) dot_tile(t, prefetch, 4, 1);
}

/* What the windows `own` of a slice have, of the channels in turn of a group. */
static void do_grad_mask(struct walk *s, int64_t slice, int64_t group, struct carafe_span own,
                         const struct pixels *grads, const struct pixels *results,
                         struct prefetch *prefetch) {
  struct tile t;
  begin_tiles(&t, s, group, grads, results, rows_seen(s), s->ring + input_column(s, 0));
  enum tile_kind kind;
  for (move_tile(&t, own.begin); t.window < own.end; move_tile(&t, t.window + tile_step(kind))) {
    kind = tile_at(s->args, slice, t.window, own.end);
    clip_tile(&t, (struct carafe_span){0, s->args->W}, kind == NEIGHBOURS);
    dot_pixels(&t, prefetch, kind);
  }
}

/* Taps of the window around column j that lie beside the map are 0, whatever the gradient. */
static void clear_outside(const struct walk *s, int64_t j, float *taps) {
  const int64_t K = s->args->K, r = (K - 1) / 2;
  const struct carafe_span columns = carafe_window(j, K, s->args->W), rows = rows_seen(s);
  const int64_t left = columns.begin - j + r, right = columns.end - j + r;
  for (int64_t y = s->row - r; y <= s->row + r; y++, taps += K) {
    const int inside = y >= rows.begin && y < rows.end;
    for (int64_t t = 0; t < (inside ? left : K); t++) taps[t] = 0.0f;
    for (int64_t t = right; t < K && inside; t++) taps[t] = 0.0f;
  }
}

/* Store: grad_mask of the windows `own` of a slice of a group is complete in `results`. */
static void store_results(const struct walk *s, int64_t slice, int64_t group,
                          struct carafe_span own, const struct pixels *results) {
  const struct carafe_args *a = s->args;
  const struct carafe_span pixels = carafe_slice(a, slice), rows = rows_seen(s);
  const struct pixels to =
      pixels_in(s, slice, group, carafe_backward_of(a)->grad_mask, a->K * a->K);
  for (int64_t j = own.begin; j < own.end; j++) {
    const struct carafe_span columns = carafe_window(j, a->K, a->W);
    const int cut = columns.end - columns.begin < a->K || rows.end - rows.begin < a->K;
    for (int64_t e = 0; e < pixels.end - pixels.begin; e++) {
      const int64_t i = j - s->windows.begin;
      float *from = (float *)(void *)(results->at + i * results->step + results->offset[e]);
      if (cut) clear_outside(s, j, from);
      if (a->is_half) carafe_store_run(to.at + i * to.step + to.offset[e], 0, from, a->K * a->K, 1);
    }
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_ */

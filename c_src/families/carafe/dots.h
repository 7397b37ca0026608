/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_DOTS_H_
#define MLUOP_FAMILIES_CARAFE_DOTS_H_

/* Dot products over channels, of up to 4 pixels of grad_output with up to TAPS neighbouring pixels
   of the input, made together in registers: each vector of the one serves all of the other. The
   pixels are "shared" (tap t of each is the same pixel of the input) or neighbours (tap t of pixel
   e is tap t + 1 of pixel e - 1). A lane of a sum takes every VL-th channel, whatever else is
   computed beside it. */

#include "families/carafe/ahead.h"

/* Of 32 registers, 4 x 5 hold sums; of 16, 4 x 3. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { TAPS = 5 };
#else
enum { TAPS = 3 };
#endif

enum { DOT_PIXELS = 4, MAX_TAPS = 5 };

struct dots {
  const float *grad[DOT_PIXELS]; /* of each pixel */
  int64_t length;                /* channels, in whole vectors */
  int64_t stride;                /* neighbours: from tap to tap of the input */
  float *out[DOT_PIXELS];        /* dot products of each pixel */
  int add;                       /* to what is there */
  struct ahead *ahead;           /* what will be needed: ahead_lines are asked for at a time */
  int64_t ahead_lines;
};

/* One vector of channels. Tap t of pixel e is at x[t], of neighbours at x[t + e]. */
MLUOP_INLINE void add_products(vf sum[DOT_PIXELS][TAPS], const float *const *grad,
                               const float *const *x, int64_t c, int pixels, int taps, int shift) {
  vf g[DOT_PIXELS], v[TAPS];
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

/* The totals of the lanes: by four taps of a pixel, or four pixels of a tap that is left. */
MLUOP_INLINE void fold_sums(float total[DOT_PIXELS][MAX_TAPS], vf sum[DOT_PIXELS][TAPS], int pixels,
                            int taps) {
  const int by_taps = pixels == 1 ? taps : taps / 4 * 4, last = taps - 1;
  MLUOP_UNROLL for (int t = 0; t < by_taps; t += 4) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      float four[4];
      vf_store_sums4(four, sum[e][t], sum[e][t + 1 > last ? t : t + 1],
                     sum[e][t + 2 > last ? t : t + 2], sum[e][t + 3 > last ? t : t + 3]);
      MLUOP_UNROLL for (int i = 0; i < 4; i++) {
        if (t + i < taps) total[e][t + i] = four[i];
      }
    }
  }
  MLUOP_UNROLL for (int t = by_taps; t < taps; t++) {
    float four[4];
    vf_store_sums4(four, sum[0][t], sum[pixels > 1 ? 1 : 0][t], sum[pixels > 2 ? 2 : 0][t],
                   sum[pixels > 3 ? 3 : 0][t]);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) total[e][t] = four[e];
  }
}

/* Tap t of shared pixels is at x[place[t]]; that of neighbours at x, and so on. The results go to
   element `to` of each pixel and after. */
MLUOP_INLINE void dot_run(const struct dots *d, const float *x, const int64_t *place, int64_t to,
                          int pixels, int taps, int shift) {
  vf sum[DOT_PIXELS][TAPS];
  const int seen = shift ? taps + pixels - 1 : taps;
  const float *grad[DOT_PIXELS], *at[MAX_TAPS + DOT_PIXELS - 1];
  ahead_ask(d->ahead, d->ahead_lines);
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    grad[e] = mluop_pin_pointer(d->grad[e]);
    MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_set(0.0f);
  }
  MLUOP_UNROLL for (int t = 0; t < seen; t++) {
    at[t] = mluop_pin_pointer(x + (shift ? t * d->stride : place[t]));
  }
  for (int64_t c = 0, length = d->length; c < length; c = mluop_pin(c + VL)) {
    add_products(sum, grad, at, c, pixels, taps, shift);
  }
  float total[DOT_PIXELS][MAX_TAPS];
  fold_sums(total, sum, pixels, taps);
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *out = d->out[e] + to;
    MLUOP_UNROLL for (int t = 0; t < taps; t++) {
      out[t] = d->add ? out[t] + total[e][t] : total[e][t];
    }
  }
}

typedef void dots_function(const struct dots *d, const float *x, const int64_t *place, int64_t to);

/* clang-format off */
#define DOTS(pixels, shift, taps)                                                           \
  static void dots_##pixels##_##shift##_##taps(const struct dots *d, const float *x,        \
                                               const int64_t *place, int64_t to) {          \
    dot_run(d, x, place, to, pixels, taps <= TAPS ? taps : TAPS, shift);                    \
  }
/* clang-format on */
#define DOTS_FOR(pixels, shift) \
  DOTS(pixels, shift, 1)        \
  DOTS(pixels, shift, 2)        \
  DOTS(pixels, shift, 3)        \
  DOTS(pixels, shift, 4)        \
  DOTS(pixels, shift, 5)
#define DOTS_ENTRY(pixels, shift)                                                          \
  {                                                                                        \
    dots_##pixels##_##shift##_1, dots_##pixels##_##shift##_2, dots_##pixels##_##shift##_3, \
        dots_##pixels##_##shift##_4, dots_##pixels##_##shift##_5                           \
  }

DOTS_FOR(1, 0)
DOTS_FOR(3, 0)
DOTS_FOR(4, 0)
DOTS_FOR(2, 1)
DOTS_FOR(3, 1)
DOTS_FOR(4, 1)

/* By shift, pixels - 1, taps - 1. */
static dots_function *const dots_functions[2][DOT_PIXELS][MAX_TAPS] = {
    {DOTS_ENTRY(1, 0), {0}, DOTS_ENTRY(3, 0), DOTS_ENTRY(4, 0)},
    {DOTS_ENTRY(1, 0), DOTS_ENTRY(2, 1), DOTS_ENTRY(3, 1), DOTS_ENTRY(4, 1)}};

/* `taps` dot products of each pixel with each row, from number `to` on and from row to row `K`
   after that, in runs of up to TAPS. */
static void add_dots(const struct dots *d, float *const *row, int64_t rows, int64_t at,
                     const int64_t *place, int64_t to, int64_t K, int pixels, int shift,
                     int64_t taps) {
  dots_function *const *functions = dots_functions[shift][pixels - 1];
  while (taps > 0) {
    const int64_t run = taps >= 2 * TAPS ? TAPS : taps > TAPS ? (taps + 1) / 2 : taps;
    for (int64_t y = 0; y < rows; y++) functions[run - 1](d, row[y] + at, place, to + y * K);
    if (shift) {
      at += run * d->stride;
    } else {
      place += run;
    }
    to += run;
    taps -= run;
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_DOTS_H_ */

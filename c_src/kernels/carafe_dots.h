/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_CARAFE_DOTS_H_
#define MLUOP_KERNELS_CARAFE_DOTS_H_

/* Dot products over channels, of up to 4 pixels of grad_output with up to TAPS neighbouring pixels
   of the input, made together in registers: each vector of the one serves all of the other. The
   pixels are "shared" (tap t of each is the same pixel of the input) or neighbours (tap t of pixel
   e is tap t + 1 of pixel e - 1). A lane of a sum takes every VL-th channel, whatever else is
   computed beside it. */

#include "kernels/carafe_ahead.h"

/* Of 32 registers, 4 x 5 hold sums; of 16, 4 x 3. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { TAPS = 5 };
#else
enum { TAPS = 3 };
#endif

enum { DOT_PIXELS = 4, MAX_TAPS = 5 };

struct dots {
  float *const *row;             /* rows of the input, of which row_count are done */
  int64_t row_count, at, stride; /* at: of tap 0 of pixel 0 in a row; to the next tap */
  const float *grad[DOT_PIXELS]; /* of each pixel */
  int64_t length;                /* channels, in whole vectors */
  float *out[DOT_PIXELS];        /* dot products of each pixel with the first row ... */
  int64_t out_step;              /* ... and to the next one */
  int add;                       /* to what is there */
  struct ahead *ahead;           /* what will be needed: ahead_lines are asked for in each row */
  int64_t ahead_lines;
};

/* Addresses are base + stride * (0, 1, 2 or 4), or * 3 by a register of its own: so they need few
   registers, all of which are pinned where compilers would make one address of each tap. */
MLUOP_INLINE vf load_tap(const float *x, int64_t stride, int64_t thrice, int tap) {
  const char *at = (const char *)x + (tap % 4 == 3 ? thrice : tap % 4 * stride);
  return vf_pin(vf_load((const float *)(const void *)at));
}

/* One vector of channels; x4: 4 taps after x. */
MLUOP_INLINE void add_products(vf sum[DOT_PIXELS][TAPS], const float *const *grad, int64_t c,
                               const float *x, const float *x4, int64_t stride, int64_t thrice,
                               int pixels, int taps, int shift) {
  vf g[DOT_PIXELS], v[TAPS];
  if (shift == 0) {
    MLUOP_UNROLL for (int t = 0; t < taps; t++) v[t] = load_tap(t < 4 ? x : x4, stride, thrice, t);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      g[e] = vf_pin(vf_load(grad[e] + c));
      MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_fma(g[e], v[t], sum[e][t]);
    }
    return;
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) g[e] = vf_pin(vf_load(grad[e] + c));
  MLUOP_UNROLL for (int u = 0; u < taps + pixels - 1; u++) {
    const vf seen = load_tap(u < 4 ? x : x4, stride, thrice, u);
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

MLUOP_INLINE void dot_row(const struct dots *d, const float *x, int64_t y, int pixels, int taps,
                          int shift) {
  vf sum[DOT_PIXELS][TAPS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_set(0.0f);
  }
  const float *grad[DOT_PIXELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) grad[e] = mluop_pin_pointer(d->grad[e]);
  int64_t stride = d->stride * (int64_t)sizeof(float), thrice = 3 * stride;
  const float *x4 = x + 4 * d->stride;
  for (int64_t c = 0, length = d->length; c < length; c = mluop_pin(c + VL)) {
    stride = mluop_pin(stride);
    thrice = mluop_pin(thrice);
    add_products(sum, grad, c, x, x4, stride, thrice, pixels, taps, shift);
    x = mluop_pin_pointer(x + VL);
    x4 = mluop_pin_pointer(x4 + VL);
  }
  float total[DOT_PIXELS][MAX_TAPS];
  fold_sums(total, sum, pixels, taps);
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *out = d->out[e] + y * d->out_step;
    MLUOP_UNROLL for (int t = 0; t < taps; t++) {
      out[t] = d->add ? out[t] + total[e][t] : total[e][t];
    }
  }
}

MLUOP_INLINE void dot_rows(const struct dots *d, int pixels, int taps, int shift) {
  for (int64_t y = 0; y < d->row_count; y++) {
    ahead_ask(d->ahead, d->ahead_lines);
    dot_row(d, d->row[y] + d->at, y, pixels, taps, shift);
  }
}

typedef void dots_function(const struct dots *d);

#define DOTS(pixels, shift, taps)                                      \
  static void dots_##pixels##_##shift##_##taps(const struct dots *d) { \
    dot_rows(d, pixels, taps <= TAPS ? taps : TAPS, shift);            \
  }
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

/* `taps` dot products of each pixel with each row, in runs of up to TAPS. */
static void add_dots(struct dots *d, int pixels, int shift, int64_t taps) {
  for (int64_t runs = carafe_div_up(taps, TAPS); runs > 0; runs--) {
    const int64_t run = carafe_div_up(taps, runs);
    dots_functions[shift][pixels - 1][run - 1](d);
    taps -= run;
    d->at += run * d->stride;
    for (int e = 0; e < pixels; e++) d->out[e] += run;
    d->ahead_lines = 0;
  }
}

#endif /* MLUOP_KERNELS_CARAFE_DOTS_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/carafe_item.h"

/* Each element is a dot product over the channels of a group. Those of 3 or 4 pixels that share a
   window with up to TAPS of its columns are made together, in registers: a vector of grad_output
   serves all those taps, one of the input all those pixels. A lane of a sum takes every VL-th
   channel, whatever else is computed beside it. */

#if defined(__AVX512F__) || defined(__aarch64__)
enum { TAPS = 5 };
#else
enum { TAPS = 3 };
#endif

enum { PIXELS = 4 };

/* Channels are summed in blocks of this many vectors, against rounding errors. */
enum { BLOCK_VECTORS = 128 };

struct dots {
  const float *grad[PIXELS]; /* of each pixel */
  const float *input[TAPS];
  int64_t length; /* channels */
  float *result;  /* PIXELS for each tap */
};

MLUOP_INLINE void add_products(vf sum[PIXELS][TAPS], const float *const *grad,
                               const float *const *input, int64_t c, int64_t n, int pixels,
                               int taps) {
  vf x[TAPS];
  MLUOP_UNROLL for (int t = 0; t < taps; t++) {
    x[t] = vf_pin(n == VL ? vf_load(input[t] + c) : vf_load_part(input[t] + c, n));
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const vf g = vf_pin(n == VL ? vf_load(grad[e] + c) : vf_load_part(grad[e] + c, n));
    MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_fma(g, x[t], sum[e][t]);
  }
}

MLUOP_INLINE void add_dots(const struct dots *d, int pixels, int taps) {
  const float *grad[PIXELS], *input[TAPS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) grad[e] = d->grad[e];
  MLUOP_UNROLL for (int t = 0; t < taps; t++) input[t] = d->input[t];
  const int64_t whole = d->length / VL * VL;
  int64_t c = 0;
  do {
    vf sum[PIXELS][TAPS];
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int t = 0; t < taps; t++) sum[e][t] = vf_set(0.0f);
    }
    const int64_t stop = carafe_min(whole, c + BLOCK_VECTORS * VL);
    for (; c < stop; c += VL) add_products(sum, grad, input, c, VL, pixels, taps);
    if (c == whole && c < d->length) {
      add_products(sum, grad, input, c, d->length - c, pixels, taps);
      c = d->length;
    }
    MLUOP_UNROLL for (int t = 0; t < taps; t++) {
      vf_add_sums4(d->result + t * PIXELS, sum[0][t], sum[pixels > 1 ? 1 : 0][t],
                   sum[pixels > 2 ? 2 : 0][t], sum[pixels > 3 ? 3 : 0][t]);
    }
  } while (c < d->length);
}

typedef void dots_function(const struct dots *d);

#define DOTS(pixels, taps)                                       \
  static void add_dots_##pixels##_##taps(const struct dots *d) { \
    add_dots(d, pixels, taps <= TAPS ? taps : TAPS);             \
  }
#define DOTS_ROW(pixels) \
  DOTS(pixels, 1) DOTS(pixels, 2) DOTS(pixels, 3) DOTS(pixels, 4) DOTS(pixels, 5)
#define DOTS_ENTRY(pixels)                                                                      \
  {                                                                                             \
    add_dots_##pixels##_1, add_dots_##pixels##_2, add_dots_##pixels##_3, add_dots_##pixels##_4, \
        add_dots_##pixels##_5                                                                   \
  }

DOTS_ROW(1)
DOTS_ROW(2)
DOTS_ROW(3)
DOTS_ROW(4)

static dots_function *const dot_functions[PIXELS][5] = {DOTS_ENTRY(1), DOTS_ENTRY(2), DOTS_ENTRY(3),
                                                        DOTS_ENTRY(4)};

/* Some pixels that share a window, for one group. */
struct window {
  const struct carafe_shape *shape;
  const struct carafe_rows *map;
  int64_t i, j, group; /* group: offset of the group's channels in `map` */
  int pixels;
  struct dots dots;
  float *out[PIXELS];       /* K x K of each pixel */
  const char *next[PIXELS]; /* where the gradients for the next window are */
  int64_t next_bytes;
};

/* grad_output comes from far away: asks for a part of what the next window needs. */
static void ask_for_next(const struct window *w, int64_t chunk, int64_t chunks) {
  const int64_t begin = w->next_bytes * (chunk - 1) / chunks, end = w->next_bytes * chunk / chunks;
  for (int e = 0; e < w->pixels; e++) {
    for (int64_t at = begin; at < end; at += 64) mluop_prefetch(w->next[e] + at);
  }
}

static void do_window(struct window *w) {
  const int64_t K = w->shape->K, r = (K - 1) / 2;
  const struct carafe_span rows = carafe_window(w->i, K, w->shape->H);
  const struct carafe_span cols = carafe_window(w->j, K, w->shape->W);
  const int64_t width = cols.end - cols.begin, count = (rows.end - rows.begin) * width;
  if (count < K * K) {
    for (int e = 0; e < w->pixels; e++) memset(w->out[e], 0, (size_t)(K * K) * sizeof(float));
  }
  const int64_t chunks = carafe_div_up(count, TAPS);
  float result[TAPS * PIXELS];
  w->dots.result = result;
  int64_t y = 0, x = 0, left = count; /* the next tap inside, from the window's corner */
  for (int64_t chunk = chunks; chunk > 0; chunk--) {
    const int taps = (int)carafe_div_up(left, chunk);
    int64_t tap[TAPS];
    for (int t = 0; t < taps; t++) {
      w->dots.input[t] =
          w->map->row[y] + w->group + (cols.begin + x - w->map->first) * w->map->pixel;
      tap[t] = (rows.begin + y - w->i + r) * K + cols.begin + x - w->j + r;
      if (++x == width) {
        x = 0;
        y++;
      }
    }
    left -= taps;
    ask_for_next(w, chunk, chunks);
    memset(result, 0, sizeof(result));
    dot_functions[w->pixels - 1][taps - 1](&w->dots);
    for (int t = 0; t < taps; t++) {
      for (int e = 0; e < w->pixels; e++) w->out[e][tap[t]] = result[t * PIXELS + e];
    }
  }
}

static void from_halves(float *to, const uint16_t *from, int64_t count) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store(to + i, vf_load_half(from + i));
  if (i < count) vf_store_part(to + i, vf_load_half_part(from + i, count - i), count - i);
}

static void to_halves(uint16_t *to, const float *from, int64_t count) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store_half(to + i, vf_load(from + i));
  if (i < count) vf_store_half_part(to + i, vf_load_part(from + i, count - i), count - i);
}

/* `pixels` pixels that share the window around column j: pixel + offset[e]. */
static void do_pixels(const struct carafe_backward_args *args, const struct carafe_item *item,
                      struct window *w, int64_t pixel, const int64_t *offset, float *scratch) {
  const struct carafe_shape *a = w->shape;
  const int64_t taps = a->K * a->K;
  const int64_t size = a->is_half ? 2 : 4;
  w->next_bytes = a->C * size;
  for (int64_t g = 0; g < item->groups; g++) {
    w->group = g * w->map->group;
    for (int e = 0; e < w->pixels; e++) {
      const int64_t at = (pixel + offset[e]) * a->G + item->group + g;
      w->next[e] = (const char *)args->grad_output + (at + a->S * a->G) * a->C * size;
      if (a->is_half) {
        float *grad = scratch + e * (carafe_padded(a->C) + taps);
        from_halves(grad, (const uint16_t *)args->grad_output + at * a->C, a->C);
        w->dots.grad[e] = grad;
        w->out[e] = grad + carafe_padded(a->C);
      } else {
        w->dots.grad[e] = (const float *)args->grad_output + at * a->C;
        w->out[e] = (float *)args->grad_mask + at * taps;
      }
    }
    do_window(w);
    for (int e = 0; e < w->pixels && a->is_half; e++) {
      const int64_t at = (pixel + offset[e]) * a->G + item->group + g;
      to_halves((uint16_t *)args->grad_mask + at * taps, w->out[e], taps);
    }
  }
}

void MLUOP_VARIANT(carafe_grad_mask)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_backward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  const int64_t S = a->S, chunks = carafe_div_up(S * S, PIXELS);
  struct carafe_source source = {.ring = (float *)scratch + carafe_pixels_size(a), .strip = -1};
  struct window w = {.shape = a, .map = &source.rows, .dots = {.length = a->C}};
  for (int64_t index = begin; index < end; index++) {
    const struct carafe_item item = carafe_item_at(a, &args->plan, index);
    if (item.row >= a->H) continue;
    carafe_see(&source, a, &args->plan, &item, args->input);
    w.i = item.row;
    for (w.j = item.column; w.j < item.column + item.columns; w.j++) {
      const int64_t pixel = (item.n * a->H + item.row) * S * S * a->W + w.j * S;
      for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t u = S * S * chunk / chunks;
        int64_t offset[PIXELS];
        w.pixels = (int)(S * S * (chunk + 1) / chunks - u);
        for (int e = 0; e < w.pixels; e++) offset[e] = (u + e) / S * S * a->W + (u + e) % S;
        do_pixels(args, &item, &w, pixel, offset, scratch);
      }
    }
  }
}

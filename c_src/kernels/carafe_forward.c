/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/carafe.h"
#include "kernels/carafe_item.h"
#include "kernels/simd.h"

/* Sums are made for tiles of up to 4 output pixels and VECTORS vectors of channels, all in
   registers. With S > 1 the pixels of a tile are "shared": they see the same window, and each
   vector of the input is loaded once for all of them. With S == 1 they are neighbours in a row,
   whose windows overlap: column x of the input serves those of them that see it. */

/* Of 16 registers, 4 pixels leave room for 3 vectors, or 2 where products need one as well. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { VECTORS = 4 };
#elif defined(__AVX2__)
enum { VECTORS = 3 };
#else
enum { VECTORS = 2 };
#endif

enum { PIXELS = 4 };

/* Rounding errors grow with the length of a sum: longer ones are sums of sums of about this
   length. */
enum { SUM_LENGTH = 128 };

enum { SEGMENT = 16 }; /* columns that are done together */

/* Tiles along a row of the map, `step` columns apart. */
struct line {
  const struct carafe_source *source;
  int64_t K, W;
  int64_t j, end, step; /* window centres: columns j, j + step, ... before end */
  const float *weights; /* K x K of the first pixel */
  void *output;
  int64_t channel;     /* in source */
  int64_t out, length; /* where in output; channels, the last vector may be part of one */
  int64_t weights_step, weights_pixel[PIXELS]; /* to the next tile; to the pixels of a tile */
  int64_t out_step, out_pixel[PIXELS];
  const float *const *rows; /* of the window, as far as they are summed now */
  int64_t row_count;
  float *total; /* NULL, or sums of the rows done before */
  int first, final;
  int is_half, stream;
};

MLUOP_INLINE void add_column(vf sum[PIXELS][VECTORS], const float *pixel,
                             const float *const *weight, int64_t tap, int first, int last,
                             int shift, int vectors) {
  vf x[VECTORS];
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) x[v] = vf_pin(vf_load(pixel + v * VL));
  MLUOP_UNROLL for (int e = first; e <= last; e++) {
    const vf w = vf_set(weight[e][tap - shift * e]);
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) sum[e][v] = vf_fma(w, x[v], sum[e][v]);
  }
}

MLUOP_INLINE void store_sums(vf sum[PIXELS][VECTORS], const struct line *t, int64_t out, int pixels,
                             int vectors) {
  const int64_t last = t->length - (vectors - 1) * VL;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const int64_t at = out + t->out_pixel[e];
    if (t->stream) {
      float *to = (float *)t->output + at;
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) vf_stream(to + v * VL, sum[e][v]);
      continue;
    }
    MLUOP_UNROLL for (int v = 0; v < vectors - 1; v++) {
      vf_store_as(t->output, at + v * VL, sum[e][v], t->is_half);
    }
    if (last == VL) {
      vf_store_as(t->output, at + (vectors - 1) * VL, sum[e][vectors - 1], t->is_half);
    } else {
      vf_store_part_as(t->output, at + (vectors - 1) * VL, sum[e][vectors - 1], last, t->is_half);
    }
  }
}

/* A run of columns that the pixels first..last see, clipped to the map. */
struct run {
  int64_t begin, end;
};

MLUOP_INLINE struct run run_of(int64_t begin, int64_t end, int64_t W) {
  return (struct run){carafe_max(0, begin), carafe_min(W, end)};
}

/* Column x of the map, if it is there, for the pixels first..last, which are all that see it. */
MLUOP_INLINE void add_edge(vf sum[PIXELS][VECTORS], const struct line *t, const float *row,
                           const float *const *weight, int64_t tap, int64_t x, int first, int last,
                           int vectors) {
  if (x < 0 || x >= t->W) return;
  const float *pixel = row + (x - t->source->first) * t->source->pixel;
  add_column(sum, pixel, weight, tap, first, last, 1, vectors);
}

/* One row of the window around column j; weight[e] is at tap 0 of that row. */
MLUOP_INLINE void add_row(vf sum[PIXELS][VECTORS], const struct line *t, const float *row,
                          const float *const *weight, int64_t j, int pixels, int shared,
                          int vectors) {
  const int64_t r = (t->K - 1) / 2, stride = t->source->pixel;
  const int last = pixels - 1, ahead = shared ? 0 : last; /* pixels that are columns further */
  const struct run all = run_of(j - r + ahead, j + r + 1, t->W);
  if (ahead > 0) add_edge(sum, t, row, weight, 0, j - r, 0, 0, vectors);
  if (ahead > 1) add_edge(sum, t, row, weight, 1, j - r + 1, 0, 1, vectors);
  if (ahead > 2) add_edge(sum, t, row, weight, 2, j - r + 2, 0, 2, vectors);
  const float *pixel = row + (all.begin - t->source->first) * stride;
  int64_t tap = all.begin - j + r;
  for (int64_t n = all.end - all.begin; n > 0; n--, pixel += stride, tap++) {
    add_column(sum, pixel, weight, tap, 0, last, ahead > 0, vectors);
  }
  if (ahead > 0) add_edge(sum, t, row, weight, t->K, j + r + 1, 1, last, vectors);
  if (ahead > 1) add_edge(sum, t, row, weight, t->K + 1, j + r + 2, 2, last, vectors);
  if (ahead > 2) add_edge(sum, t, row, weight, t->K + 2, j + r + 3, 3, last, vectors);
}

MLUOP_INLINE void clear(vf sum[PIXELS][VECTORS], int pixels, int vectors) {
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) sum[e][v] = vf_set(0.0f);
  }
}

/* Adds the sums of earlier rows and keeps the result for later ones. */
MLUOP_INLINE float *add_total(vf sum[PIXELS][VECTORS], const struct line *t, float *total,
                              int pixels, int vectors) {
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
      float *at = total + (e * vectors + v) * VL;
      if (!t->first) sum[e][v] = sum[e][v] + vf_load(at);
      if (!t->final) vf_store(at, sum[e][v]);
    }
  }
  return total + pixels * vectors * VL;
}

MLUOP_INLINE void sum_line(const struct line *t, int pixels, int shared, int vectors) {
  const float *weights = t->weights;
  float *total = t->total;
  int64_t out = t->out;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    vf sum[PIXELS][VECTORS];
    const float *weight[PIXELS];
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) weight[e] = weights + t->weights_pixel[e];
    clear(sum, pixels, vectors);
    const float *const *row = t->rows;
    int64_t left = t->row_count;
    for (;;) {
      add_row(sum, t, *row + t->channel, weight, j, pixels, shared, vectors);
      if (--left == 0) break;
      row++;
      MLUOP_UNROLL for (int e = 0; e < pixels; e++) weight[e] += t->K;
    }
    if (t->total != NULL) total = add_total(sum, t, total, pixels, vectors);
    if (t->final) store_sums(sum, t, out, pixels, vectors);
    weights += t->weights_step;
    out += t->out_step;
  }
}

typedef void sum_function(const struct line *line);

#define SUM(pixels, shared, vectors)                                      \
  static void sum_##pixels##_##shared##_##vectors(const struct line *t) { \
    sum_line(t, pixels, shared, vectors <= VECTORS ? vectors : VECTORS);  \
  }
#define SUMS(pixels, shared) \
  SUM(pixels, shared, 1) SUM(pixels, shared, 2) SUM(pixels, shared, 3) SUM(pixels, shared, 4)
#define SUM_ROW(pixels, shared)                                                            \
  {                                                                                        \
    sum_##pixels##_##shared##_1, sum_##pixels##_##shared##_2, sum_##pixels##_##shared##_3, \
        sum_##pixels##_##shared##_4                                                        \
  }

SUMS(1, 0)
SUMS(2, 0)
SUMS(3, 0)
SUMS(4, 0)
SUMS(3, 1)
SUMS(4, 1)

/* By what the pixels share, how many they are, and vectors. */
static sum_function *const sums[2][PIXELS][4] = {
    {SUM_ROW(1, 0), SUM_ROW(2, 0), SUM_ROW(3, 0), SUM_ROW(4, 0)},
    {{0}, {0}, SUM_ROW(3, 1), SUM_ROW(4, 1)}};

static void convert(float *to, const void *halves, int64_t from, int64_t count) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store(to + i, vf_load_as(halves, from + i, 1));
  if (i < count) {
    vf_store_part(to + i, vf_load_part_as(halves, from + i, count - i, 1), count - i);
  }
}

/* Halves are converted to `weights`, tile after tile. */
static void see_weights(struct line *t, const void *mask, int64_t from, int64_t taps, int pixels,
                        int is_half, float *weights) {
  if (!is_half) {
    t->weights = (const float *)mask + from;
    return;
  }
  t->weights = weights;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    for (int e = 0; e < pixels; e++) {
      convert(weights, mask, from + t->weights_pixel[e], taps);
      weights += taps;
    }
    from += t->weights_step;
  }
  t->weights_step = pixels * taps;
  for (int e = 0; e < pixels; e++) t->weights_pixel[e] = e * taps;
}

/* All rows of the windows; many of them in blocks, which are added up in the end. */
static void sum_rows(struct line *t, const struct carafe_shape *a, int64_t i, sum_function *sum) {
  const struct carafe_span rows = carafe_window(i, a->K, a->H);
  const int64_t most = carafe_max(1, SUM_LENGTH / a->K);
  const float *weights = t->weights;
  float total[SEGMENT * PIXELS * VECTORS * VL];
  t->total = rows.end - rows.begin > most ? total : NULL;
  for (int64_t y = rows.begin; y < rows.end; y += most) {
    t->rows = t->source->row + (y - rows.begin);
    t->row_count = carafe_min(most, rows.end - y);
    t->weights = weights + (y - i + (a->K - 1) / 2) * a->K;
    t->first = y == rows.begin;
    t->final = y + t->row_count == rows.end;
    sum(t);
  }
  t->weights = weights;
}

/* The pixels of tiles: `pixel` is the first one, the others are offset[e] after it, and `step` is
   from one tile to the next. */
static void do_line(struct line *t, const struct carafe_forward_args *args,
                    const struct carafe_item *item, int64_t pixel, int64_t step,
                    const int64_t *offset, int pixels, float *weights) {
  const struct carafe_shape *a = &args->shape;
  const int64_t taps = a->K * a->K;
  t->out_step = step * a->G * a->C;
  for (int e = 0; e < pixels; e++) t->out_pixel[e] = offset[e] * a->G * a->C;
  for (int64_t g = 0; g < item->groups; g++) {
    const int64_t block = pixel * a->G + item->group + g;
    t->weights_step = step * a->G * taps;
    for (int e = 0; e < pixels; e++) t->weights_pixel[e] = offset[e] * a->G * taps;
    see_weights(t, args->mask, block * taps, taps, pixels, a->is_half, weights);
    const int64_t all = carafe_div_up(item->length, VL), cuts = carafe_div_up(all, VECTORS);
    for (int64_t cut = 0, begin = 0; cut < cuts; cut++) {
      const int64_t vectors = carafe_div_up(all - begin, cuts - cut);
      t->channel = g * t->source->group + begin * VL;
      t->length = carafe_min(item->length - begin * VL, vectors * VL);
      t->out = block * a->C + item->channel + begin * VL;
      sum_rows(t, a, item->row, sums[a->S > 1][pixels - 1][vectors - 1]);
      begin += vectors;
    }
  }
}

/* Window centres [begin, end) of the item's row. */
static void do_segment(struct line *t, const struct carafe_forward_args *args,
                       const struct carafe_item *item, int64_t begin, int64_t end, float *weights) {
  const struct carafe_shape *a = &args->shape;
  const int64_t S = a->S, pixel = (item->n * a->H + item->row) * S * S * a->W + begin * S;
  int64_t offset[PIXELS];
  t->j = begin;
  if (S == 1) {
    t->step = a->K == 1 ? 2 : PIXELS;
    for (int e = 0; e < PIXELS; e++) offset[e] = e;
    const int64_t whole = (end - begin) / t->step * t->step;
    t->end = begin + whole;
    if (whole > 0) do_line(t, args, item, pixel, t->step, offset, (int)t->step, weights);
    t->j = t->end;
    t->end = end;
    if (t->j < end)
      do_line(t, args, item, pixel + whole, t->step, offset, (int)(end - t->j), weights);
    return;
  }
  t->end = end;
  t->step = 1;
  const int64_t chunks = carafe_div_up(S * S, PIXELS);
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    const int64_t u = S * S * chunk / chunks, pixels = S * S * (chunk + 1) / chunks - u;
    for (int64_t e = 0; e < pixels; e++) offset[e] = (u + e) / S * S * a->W + (u + e) % S;
    do_line(t, args, item, pixel, S, offset, (int)pixels, weights);
  }
}

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  float *weights = scratch;
  struct carafe_source source = {.strip = -1};
  source.ring = weights + (a->is_half ? SEGMENT * carafe_padded(PIXELS * a->K * a->K) : 0);
  struct line t = {.source = &source,
                   .K = a->K,
                   .W = a->W,
                   .output = args->output,
                   .is_half = a->is_half,
                   .stream = args->stream};
  for (int64_t index = begin; index < end; index++) {
    const struct carafe_item item = carafe_item_at(a, &args->plan, index);
    if (item.row >= a->H) continue;
    carafe_see(&source, a, &args->plan, &item, args->input);
    const int64_t stop = item.column + item.columns;
    for (int64_t j = item.column; j < stop; j += SEGMENT) {
      do_segment(&t, args, &item, j, carafe_min(j + SEGMENT, stop), weights);
    }
  }
  if (args->stream) vf_stream_end();
}

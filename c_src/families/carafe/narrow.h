/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_NARROW_H_
#define MLUOP_FAMILIES_CARAFE_NARROW_H_

/* Both gradients where a group has few channels: a vector holds the taps of a row of the window,
   not channels. Rows of the input, and sums of grad_input, are kept channel by channel; a row of a
   window is then a vector at any column of them. For each channel, up to 4 pixels of grad_output
   meet up to TAPS rows of their window, which stay in registers. */

#include <math.h>

#include "families/carafe/grad_mask.h"

struct narrow_tile {
  float *const *rows; /* of the input, or of the sums: tap 0 of channel 0 is at rows[i][at] */
  int64_t at, plane;  /* plane: to the next channel */
  int64_t K, channels;
  float grads[DOT_PIXELS][CARAFE_NARROW];
  float *taps[DOT_PIXELS];   /* K x K of grad_mask, or of the mask */
  int64_t row;               /* of the window, the one that rows[0] is */
  struct carafe_span on_map; /* columns of the window */
  int64_t whole;             /* all of the window is on the map */
};

typedef void narrow_function(const struct narrow_tile *t);

MLUOP_INLINE void narrow_dots(const struct narrow_tile *t, int pixels, int rows) {
  vf sum[DOT_PIXELS][TAPS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int y = 0; y < rows; y++) sum[e][y] = vf_set(0.0f);
  }
  for (int64_t c = 0; c < t->channels; c++) {
    vf x[TAPS];
    MLUOP_UNROLL for (int y = 0; y < rows; y++) {
      x[y] = vf_pin(vf_load(t->rows[y] + t->at + c * t->plane));
    }
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      const vf g = vf_set(t->grads[e][c]);
      MLUOP_UNROLL for (int y = 0; y < rows; y++) sum[e][y] = vf_fma(g, x[y], sum[e][y]);
    }
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int y = 0; y < rows; y++) {
      float *to = t->taps[e] + (t->row + y) * t->K;
      if (!t->whole) {
        vf_store_span(to, sum[e][y], t->on_map.begin, t->on_map.end);
      } else if ((t->row + y) * t->K + VL <= t->K * t->K) {
        vf_store(to, sum[e][y]); /* what is too much is where the next row will be written */
      } else {
        vf_store_part(to, sum[e][y], t->K);
      }
    }
  }
}

MLUOP_INLINE void narrow_spread(const struct narrow_tile *t, int pixels, int rows) {
  static const float lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const vm in_window = vf_greater(vf_set((float)t->K), vf_load(lanes));
  vf w[DOT_PIXELS][TAPS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int y = 0; y < rows; y++) {
      w[e][y] = vf_load_part(t->taps[e] + (t->row + y) * t->K, t->K);
    }
  }
  for (int64_t c = 0; c < t->channels; c++) {
    vf g[DOT_PIXELS];
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) g[e] = vf_set(t->grads[e][c]);
    MLUOP_UNROLL for (int y = 0; y < rows; y++) {
      float *at = t->rows[y] + t->at + c * t->plane;
      const vf before = vf_load(at);
      vf sum = before;
      MLUOP_UNROLL for (int e = 0; e < pixels; e++) sum = vf_fma(w[e][y], g[e], sum);
      vf_store(at, vf_select(in_window, sum, before));
    }
  }
}

#define NARROW(name, pixels, rows)                                    \
  static void name##_##pixels##_##rows(const struct narrow_tile *t) { \
    name(t, pixels, rows <= TAPS ? rows : TAPS);                      \
  }
#define NARROW_FOR(name, pixels) \
  NARROW(name, pixels, 1)        \
  NARROW(name, pixels, 2)        \
  NARROW(name, pixels, 3)        \
  NARROW(name, pixels, 4)        \
  NARROW(name, pixels, 5)
#define NARROW_ENTRY(name, pixels)                                                      \
  {                                                                                     \
    name##_##pixels##_1, name##_##pixels##_2, name##_##pixels##_3, name##_##pixels##_4, \
        name##_##pixels##_5                                                             \
  }

NARROW_FOR(narrow_dots, 1)
NARROW_FOR(narrow_dots, 3)
NARROW_FOR(narrow_dots, 4)
NARROW_FOR(narrow_spread, 1)
NARROW_FOR(narrow_spread, 3)
NARROW_FOR(narrow_spread, 4)

/* By pixels - 1, rows - 1. */
static narrow_function *const narrow_dots_functions[DOT_PIXELS][MAX_TAPS] = {
    NARROW_ENTRY(narrow_dots, 1), {0}, NARROW_ENTRY(narrow_dots, 3), NARROW_ENTRY(narrow_dots, 4)};
static narrow_function *const narrow_spread_functions[DOT_PIXELS][MAX_TAPS] = {
    NARROW_ENTRY(narrow_spread, 1),
    {0},
    NARROW_ENTRY(narrow_spread, 3),
    NARROW_ENTRY(narrow_spread, 4)};

struct narrow {
  const struct carafe_backward_args *args;
  const struct carafe_item *item;
  struct carafe_span strip; /* rows of it */
  int64_t first, plane;     /* column at the beginning of a row; to the next channel */
  float *input, *sums;      /* rings of rows, channel by channel */
  float *buffer;            /* half: room for K x K of 4 pixels */
  struct ahead ahead;       /* what the next segment needs */
  /* Under the windows of row item->row, and those of them that the strip owns: */
  struct carafe_span window, own;
  float *input_rows[CARAFE_NARROW_K], *sums_rows[CARAFE_NARROW_K];
};

static float *narrow_row(const struct narrow *n, float *ring, int64_t y) {
  return ring + y % carafe_ring_rows(&n->args->shape) * carafe_narrow_row(n->args);
}

static void narrow_see(struct narrow *n) {
  const struct carafe_shape *a = &n->args->shape;
  n->window = carafe_window(n->item->row, a->K, a->H);
  n->own = (struct carafe_span){carafe_max(n->window.begin, n->strip.begin),
                                carafe_min(n->window.end, n->strip.end)};
  for (int64_t y = n->window.begin; y < n->window.end; y++) {
    n->input_rows[y - n->window.begin] = narrow_row(n, n->input, y);
    n->sums_rows[y - n->window.begin] = narrow_row(n, n->sums, y);
  }
}

static void narrow_pack(const struct narrow *n, int64_t y) {
  const struct carafe_shape *a = &n->args->shape;
  const struct carafe_item *item = n->item;
  const int64_t channels = item->groups * a->C, plane = n->plane;
  const int64_t begin = carafe_window(item->column, a->K, a->W).begin;
  const int64_t end = carafe_window(item->column + item->columns - 1, a->K, a->W).end;
  float *row = narrow_row(n, n->input, y);
  for (int64_t x = begin; x < end; x++) {
    const int64_t from = (((item->n * a->H + y) * a->W + x) * a->G + item->group) * a->C;
    float *to = row + x - n->first;
    for (int64_t c = 0; c < channels; c++) {
      to[c * plane] = mluop_load_as(n->args->input, from + c, a->is_half);
    }
  }
}

/* Which of two NaNs a sum keeps may depend on how many rows of a strip are done at once. */
static float one_nan(float sum) { return sum == sum ? sum : NAN; }

static void narrow_write(const struct narrow *n, int64_t y) {
  const struct carafe_shape *a = &n->args->shape;
  const struct carafe_item *item = n->item;
  const int64_t channels = item->groups * a->C, plane = n->plane;
  float *row = narrow_row(n, n->sums, y);
  for (int64_t x = item->column; x < item->column + item->columns; x++) {
    const int64_t to = (((item->n * a->H + y) * a->W + x) * a->G + item->group) * a->C;
    const float *from = row + x - n->first;
    for (int64_t c = 0; c < channels; c++) {
      mluop_store_as(n->args->grad_input, to + c, one_nan(from[c * plane]), a->is_half);
    }
  }
  memset(row, 0, (size_t)(channels * plane) * sizeof(*row));
}

/* Runs `functions` on `count` rows, of which the first is row t->row of the window. */
static void narrow_rows(struct narrow_tile *t, float *const *rows, int64_t count,
                        narrow_function *const *functions) {
  for (int64_t runs = carafe_div_up(count, TAPS); runs > 0; runs--) {
    const int64_t run = runs > 1 ? carafe_div_up(count, runs) : count;
    t->rows = rows;
    functions[run - 1](t);
    rows += run;
    count -= run;
    t->row += run;
  }
}

/* grad_mask of the tile's pixels, whose group is number block[e] of grad_mask. */
static void narrow_mask(const struct narrow *n, struct narrow_tile *t, const int64_t *block,
                        int pixels) {
  const struct carafe_backward_args *args = n->args;
  const int64_t taps = t->K * t->K;
  const int is_half = args->shape.is_half;
  for (int e = 0; e < pixels; e++) {
    t->taps[e] = is_half ? n->buffer + e * taps : (float *)args->grad_mask + block[e] * taps;
    if (!t->whole) memset(t->taps[e], 0, (size_t)taps * sizeof(float));
  }
  t->row = n->window.begin - n->item->row + t->K / 2;
  narrow_rows(t, n->input_rows, n->window.end - n->window.begin, narrow_dots_functions[pixels - 1]);
  for (int e = 0; e < pixels && is_half; e++) {
    results_to_halves((uint16_t *)args->grad_mask + block[e] * taps, t->taps[e], taps);
  }
}

static void narrow_input(const struct narrow *n, struct narrow_tile *t, const int64_t *block,
                         int pixels) {
  const struct carafe_backward_args *args = n->args;
  const int64_t taps = t->K * t->K;
  const int is_half = args->shape.is_half;
  for (int e = 0; e < pixels; e++) {
    t->taps[e] = is_half ? n->buffer + e * taps : (float *)args->mask + block[e] * taps;
    if (is_half) convert_halves(t->taps[e], args->mask, block[e] * taps, taps);
  }
  t->row = n->own.begin - n->item->row + t->K / 2;
  narrow_rows(t, n->sums_rows + (n->own.begin - n->window.begin), n->own.end - n->own.begin,
              narrow_spread_functions[pixels - 1]);
}

/* The tile's pixels for the window around column j. */
static void narrow_window(const struct narrow *n, struct narrow_tile *t, int64_t j,
                          const int64_t *block, int pixels) {
  const struct carafe_shape *a = &n->args->shape;
  const struct carafe_item *item = n->item;
  const int64_t r = (t->K - 1) / 2;
  const struct carafe_span columns = carafe_window(j, t->K, a->W);
  t->on_map = (struct carafe_span){columns.begin - j + r, columns.end - j + r};
  t->whole = n->window.end - n->window.begin == t->K && columns.end - columns.begin == t->K;
  for (int e = 0; e < pixels; e++) {
    for (int64_t c = 0; c < a->C; c++) {
      t->grads[e][c] = mluop_load_as(n->args->grad_output, block[e] * a->C + c, a->is_half);
    }
  }
  if (item->row >= n->strip.begin && item->row < n->strip.end && j >= item->column &&
      j < item->column + item->columns) {
    narrow_mask(n, t, block, pixels);
  }
  narrow_input(n, t, block, pixels);
}

/* Window centres [begin, end), for one group after the other. */
static void narrow_segment(struct narrow *n, int64_t begin, int64_t end) {
  const struct carafe_shape *a = &n->args->shape;
  const int64_t S = a->S, chunks = carafe_chunks(a), r = (a->K - 1) / 2;
  const int64_t pixel = (n->item->n * a->H + n->item->row) * S * S * a->W + begin * S;
  const int64_t lines = carafe_div_up(n->ahead.lines, (end - begin) * n->item->groups * chunks);
  struct narrow_tile t = {.plane = n->plane, .K = a->K, .channels = a->C};
  for (int64_t g = 0; g < n->item->groups; g++) {
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
      int64_t block[DOT_PIXELS];
      const int pixels = carafe_chunk_blocks(a, chunk, pixel, n->item->group + g, block);
      t.at = begin - r - n->first + g * a->C * n->plane;
      for (int64_t j = begin; j < end; j++, t.at++) {
        ahead_ask(&n->ahead, lines);
        narrow_window(n, &t, j, block, pixels);
        for (int e = 0; e < pixels; e++) block[e] += S * a->G;
      }
    }
  }
}

static void do_narrow_strip(const struct carafe_backward_args *args, struct carafe_item item,
                            int64_t end, float *scratch) {
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, below = carafe_min(a->H, end + r);
  const int64_t left = carafe_max(0, item.column - r);
  const int64_t right = carafe_min(a->W, item.column + item.columns + r);
  const int64_t ring = carafe_narrow_floats(args) / 2;
  const struct look look = {.args = args, .item = &item, .strip = {item.row, end}, .masks = 1};
  struct narrow n = {.args = args,
                     .item = &item,
                     .strip = {item.row, end},
                     .first = item.column - (a->K - 1),
                     .plane = carafe_narrow_plane(args),
                     .input = scratch + carafe_weights_size(a),
                     .buffer = scratch};
  n.sums = n.input + ring;
  memset(n.input, 0, (size_t)(2 * ring) * sizeof(float));
  int64_t packed = 0;
  for (item.row = carafe_max(0, n.strip.begin - r); item.row < below; item.row++) {
    narrow_see(&n);
    if (item.row >= n.strip.begin && item.row < end) {
      packed = carafe_max(packed, n.window.begin);
      for (; packed < n.window.end; packed++) narrow_pack(&n, packed);
    }
    for (int64_t j = left; j < right; j += CARAFE_SEGMENT) {
      const int64_t next = carafe_min(j + CARAFE_SEGMENT, right);
      const int64_t begin = next < right ? next : left;
      look_ahead(&n.ahead, &look, next < right ? item.row : item.row + 1, begin,
                 carafe_min(begin + CARAFE_SEGMENT, right));
      narrow_segment(&n, j, next);
    }
    const int64_t stop = item.row + 1 == below ? end : carafe_min(end, item.row - r + 1);
    for (int64_t y = carafe_max(item.row - r, n.strip.begin); y < stop; y++) narrow_write(&n, y);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_NARROW_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/ahead.h"
#include "families/carafe/kernels.h"
#include "families/carafe/lane_dots.h"
#include "families/carafe/lanes.h"

/* Both gradients where there are many groups of few channels: a vector holds one channel of VL
   groups, or one tap of theirs. Sums over the channels of a group are then sums of vectors, and a
   weight is loaded for VL products. The masks, where the taps of a group are neighbours, are
   transposed on the way. */

/* Channels whose gradients stay in registers. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { CHANNELS = 4 };
#else
enum { CHANNELS = 2 };
#endif

/* Adds what `count` channels from the first one on give to the map. */
MLUOP_INLINE void spread_channels(const struct tile *t, float *corner, int64_t first, int pixels,
                                  int count) {
  vf grad[TILE][CHANNELS];
  MLUOP_UNROLL for (int i = 0; i < count; i++) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      grad[e][i] = vf_load(t->grads + (first + i) * STEP + e * VL);
    }
  }
  corner += first * VL;
  const float *weights = t->taps + t->span.begin * STEP;
  for (int64_t tap = t->span.begin; tap < t->span.end; tap++, weights += STEP) {
    float *to = corner + t->place[tap];
    vf sum[CHANNELS];
    MLUOP_UNROLL for (int i = 0; i < count; i++) sum[i] = vf_load(to + i * VL);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      const vf w = vf_pin(vf_load(weights + e * VL));
      MLUOP_UNROLL for (int i = 0; i < count; i++) sum[i] = vf_fma(w, grad[e][i], sum[i]);
    }
    MLUOP_UNROLL for (int i = 0; i < count; i++) vf_store(to + i * VL, sum[i]);
  }
}

MLUOP_INLINE void spread_tile(const struct tile *t, float *corner, int pixels) {
  int64_t c = 0;
  for (; c + CHANNELS <= t->channels; c += CHANNELS) {
    spread_channels(t, corner, c, pixels, CHANNELS);
  }
  if (CHANNELS > 2 && t->channels - c == 3) spread_channels(t, corner, c, pixels, CHANNELS - 1);
  if (CHANNELS > 2 && t->channels - c == 2) spread_channels(t, corner, c, pixels, 2);
  if (t->channels - c == 1) spread_channels(t, corner, c, pixels, 1);
}

typedef void spread_function(const struct tile *t, float *corner);

static void spread_1(const struct tile *t, float *corner) { spread_tile(t, corner, 1); }
static void spread_3(const struct tile *t, float *corner) { spread_tile(t, corner, 3); }
static void spread_4(const struct tile *t, float *corner) { spread_tile(t, corner, 4); }

/* By pixels - 1. */
static spread_function *const spread_functions[TILE] = {spread_1, 0, spread_3, spread_4};

/* Rows of the input under the windows, and of the sums of grad_input that are not complete, are
   rings of one geometry. They reach so far beside the strip that no window has to be clipped: what
   lies beside the map is 0 in the one, and dropped from the other. */
struct strip {
  const struct carafe_backward_args *args;
  const struct carafe_item *item;
  struct carafe_span rows; /* of the strip */
  int64_t first, pixel;    /* column at the beginning of a row; floats of a pixel */
  float *input, *sums;     /* rings */
  float *taps, *grads;     /* of a tile */
  struct ahead ahead;
  struct carafe_span seen, owned; /* taps of row item->row on the map, and in rows of the strip */
  int32_t place[MAX_TAPS];
};

static float *ring_row(const struct strip *s, float *ring, int64_t y) {
  return ring + y % carafe_ring_rows(&s->args->shape) * carafe_groups_row(s->args);
}

static int64_t vectors_of(const struct strip *s) { return carafe_div_up(s->item->groups, VL); }

/* Channels of VL groups of the pixel at `block`, which is that of the first group of all. */
static struct blocks groups_of(const struct strip *s, const void *tensor, int64_t block,
                               int64_t length, int64_t vector) {
  return (struct blocks){.tensor = (void *)tensor,
                         .from = (block + vector * VL) * length,
                         .stride = length,
                         .count = carafe_min(VL, s->item->groups - vector * VL),
                         .length = length,
                         .is_half = s->args->shape.is_half};
}

static void see_row(const struct strip *s, int64_t y) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_item *item = s->item;
  const int64_t begin = carafe_window(item->column, a->K, a->W).begin;
  const int64_t end = carafe_window(item->column + item->columns - 1, a->K, a->W).end;
  float *to = ring_row(s, s->input, y) + (begin - s->first) * s->pixel;
  for (int64_t x = begin; x < end; x++, to += s->pixel) {
    const int64_t block = ((item->n * a->H + y) * a->W + x) * a->G + item->group;
    for (int64_t v = 0; v < vectors_of(s); v++) {
      const struct blocks groups = groups_of(s, s->args->input, block, a->C, v);
      lanes_take(to + v * a->C * VL, VL, &groups);
    }
  }
}

static void write_row(const struct strip *s, int64_t y) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_item *item = s->item;
  float *row = ring_row(s, s->sums, y), *from = row + (item->column - s->first) * s->pixel;
  for (int64_t x = item->column; x < item->column + item->columns; x++, from += s->pixel) {
    const int64_t block = ((item->n * a->H + y) * a->W + x) * a->G + item->group;
    for (int64_t v = 0; v < vectors_of(s); v++) {
      const struct blocks groups = groups_of(s, s->args->grad_input, block, a->C, v);
      lanes_put(&groups, from + v * a->C * VL, VL);
    }
  }
  memset(row, 0, (size_t)carafe_groups_row(s->args) * sizeof(*row));
}

/* Where the taps of windows in row item->row are. */
static void see_windows(struct strip *s) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t K = a->K, top = s->item->row - (K - 1) / 2;
  const struct carafe_span window = carafe_window(s->item->row, K, a->H);
  s->seen = (struct carafe_span){(window.begin - top) * K, (window.end - top) * K};
  s->owned = (struct carafe_span){(carafe_max(window.begin, s->rows.begin) - top) * K,
                                  (carafe_min(window.end, s->rows.end) - top) * K};
  for (int64_t y = window.begin; y < window.end; y++) {
    const int64_t row = ring_row(s, s->input, y) - s->input;
    for (int64_t i = 0; i < K; i++) s->place[(y - top) * K + i] = (int32_t)(row + i * s->pixel);
  }
}

static void clear_taps(struct tile *t, int64_t begin, int64_t end) {
  if (begin < end) {
    memset(t->taps + begin * STEP, 0, (size_t)((end - begin) * STEP) * sizeof(*t->taps));
  }
}

/* Taps beside the map are 0, whatever the gradient. */
static void clear_outside(const struct strip *s, struct tile *t, int64_t j) {
  const int64_t K = s->args->shape.K, left = j - (K - 1) / 2;
  const struct carafe_span columns = carafe_window(j, K, s->args->shape.W);
  clear_taps(t, 0, t->span.begin);
  clear_taps(t, t->span.end, K * K);
  for (int64_t row = t->span.begin; row < t->span.end && columns.end - columns.begin < K;
       row += K) {
    clear_taps(t, row, row + columns.begin - left);
    clear_taps(t, row + columns.end - left, row + K);
  }
}

/* The tile's pixels, for the window around column j. */
static void do_window(const struct strip *s, int64_t j, const int64_t *block, int pixels,
                      int64_t vector, int64_t ask) {
  const struct carafe_backward_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const struct carafe_item *item = s->item;
  const int64_t at = (j - (a->K - 1) / 2 - s->first) * s->pixel + vector * a->C * VL;
  struct tile t = {
      .taps = s->taps, .grads = s->grads, .place = s->place, .channels = a->C, .plane = VL};
  for (int e = 0; e < pixels; e++) {
    const struct blocks grads = groups_of(s, args->grad_output, block[e], a->C, vector);
    lanes_take(s->grads + e * VL, STEP, &grads);
  }
  if (item->row >= s->rows.begin && item->row < s->rows.end && j >= item->column &&
      j < item->column + item->columns) {
    t.span = s->seen;
    dots_functions[pixels - 1](&t, s->input + at);
    clear_outside(s, &t, j);
    for (int e = 0; e < pixels; e++) {
      struct blocks masks = groups_of(s, args->grad_mask, block[e], a->K * a->K, vector);
      masks.ask = ask;
      lanes_put(&masks, s->taps + e * VL, STEP);
    }
  }
  for (int e = 0; e < pixels; e++) {
    struct blocks masks = groups_of(s, args->mask, block[e], a->K * a->K, vector);
    masks.ask = ask;
    lanes_take(s->taps + e * VL, STEP, &masks);
  }
  t.span = s->owned;
  spread_functions[pixels - 1](&t, s->sums + at);
}

/* Window centres [begin, end). */
static void do_segment(struct strip *s, int64_t begin, int64_t end) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t S = a->S, chunks = carafe_chunks(a);
  const int64_t tiles = (end - begin) * chunks * vectors_of(s);
  const int64_t lines = carafe_div_up(s->ahead.lines, tiles);
  for (int64_t j = begin; j < end; j++) {
    const int64_t pixel = (s->item->n * a->H + s->item->row) * S * S * a->W + j * S;
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
      int64_t block[TILE];
      const int pixels = carafe_chunk_blocks(a, chunk, pixel, s->item->group, block);
      for (int64_t vector = 0; vector < vectors_of(s); vector++) {
        ahead_ask(&s->ahead, lines);
        const int64_t next = vector + 1 < vectors_of(s) ? VL : S * a->G - vector * VL;
        do_window(s, j, block, pixels, vector, next * a->K * a->K);
      }
    }
  }
}

static void do_strip(const struct carafe_backward_args *args, struct carafe_item item, int64_t end,
                     float *scratch) {
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, below = carafe_min(a->H, end + r);
  const int64_t left = carafe_max(0, item.column - r);
  const int64_t right = carafe_min(a->W, item.column + item.columns + r);
  const int64_t ring = carafe_ring_rows(a) * carafe_groups_row(args);
  const struct look look = {.args = args, .item = &item, .strip = {item.row, end}};
  struct strip s = {.args = args,
                    .item = &item,
                    .rows = look.strip,
                    .first = item.column - (a->K - 1),
                    .pixel = carafe_div_up(item.groups, VL) * VL * a->C,
                    .input = scratch,
                    .sums = scratch + ring,
                    .taps = scratch + 2 * ring};
  s.grads = s.taps + a->K * a->K * STEP;
  memset(scratch, 0, (size_t)(2 * ring) * sizeof(float));
  int64_t packed = 0;
  for (item.row = carafe_max(0, s.rows.begin - r); item.row < below; item.row++) {
    see_windows(&s);
    if (item.row >= s.rows.begin && item.row < end) {
      const struct carafe_span window = carafe_window(item.row, a->K, a->H);
      packed = carafe_max(packed, window.begin);
      for (; packed < window.end; packed++) see_row(&s, packed);
    }
    for (int64_t j = left; j < right; j += CARAFE_SEGMENT) {
      const int64_t next = carafe_min(j + CARAFE_SEGMENT, right);
      const int64_t begin = next < right ? next : left;
      look_ahead(&s.ahead, &look, next < right ? item.row : item.row + 1, begin,
                 carafe_min(begin + CARAFE_SEGMENT, right));
      do_segment(&s, j, next);
    }
    const int64_t stop = item.row + 1 == below ? end : carafe_min(end, item.row - r + 1);
    for (int64_t y = carafe_max(item.row - r, s.rows.begin); y < stop; y++) write_row(&s, y);
  }
}

void MLUOP_VARIANT(carafe_backward_groups)(const void *vargs, int64_t begin, int64_t end,
                                           void *scratch) {
  carafe_do_strips(vargs, begin, end, scratch, do_strip);
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_CARAFE_LINE_H_
#define MLUOP_KERNELS_CARAFE_LINE_H_

/* The walk that the forward operator and the gradient of the input have in common: tiles of up to 4
   output pixels by VECTORS vectors of channels stay in registers, while the pixels of the map under
   their windows pass by. Forward, a tile adds up weight * map; backward, the map adds up weight *
   tile. Either way each vector of the map is loaded once for all pixels of the tile.

   With S > 1 the pixels of a tile are "shared": they see the same window. With S == 1 they are
   neighbours in a row, whose windows overlap: a column of the map serves those of them that see it.

   Windows are clipped to the map, or to the part of it that a thread owns, before the walk: no tap
   outside is touched, and none costs a branch. */

#include "kernels/carafe_item.h"

/* Of 32 registers, 4 pixels leave room for 6 vectors; of 16 for 3, or 2 where products need one as
   well. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { VECTORS = 6 };
#elif defined(__AVX2__)
enum { VECTORS = 3 };
#else
enum { VECTORS = 2 };
#endif

enum { PIXELS = 4, SEGMENT = CARAFE_SEGMENT };

/* Pixels of a mask of many groups lie so far apart that no hardware asks for their weights in time:
   here that is done, so many groups before they are needed. */
enum { ASK_GROUPS = 4, ASK_WEIGHTS = 768 };

/* Tiles along a row of the map, `step` columns apart. */
struct line {
  int64_t K;
  int64_t j, end, step;       /* window centres: columns j, j + step, ... before end */
  struct carafe_span columns; /* of the map that may be touched */
  const struct carafe_rows *map;
  float *const *rows;         /* of the map under the windows, of which row_count are walked */
  int64_t row_count, channel; /* channel: the first one, in the map */
  const float *weights;       /* K x K of the first pixel, from the first of `rows` on */
  int64_t weights_step, weights_pixel[PIXELS]; /* to the next tile; to the pixels of a tile */
  int64_t ask;                                 /* 0, or to weights that are needed later */
  void *values;                                /* the output, or its gradient */
  int64_t at, length; /* where in values; channels, the last vector may be partial */
  int64_t values_step, values_pixel[PIXELS];
  int is_half, stream;
  float *ends; /* NULL, or where the first CARAFE_PAD channels of a tile go instead */
  int64_t ends_step, ends_pixel[PIXELS];
  float *total; /* NULL, or sums over the rows walked before */
  int first, final;
};

typedef void line_function(const struct line *line);

/* By shared, pixels - 1, vectors - 1. */
enum { MAX_VECTORS = 6 };
typedef line_function *const line_table[2][PIXELS][MAX_VECTORS];

/* One pixel of the map, for the pixels first..last of the tile. */
MLUOP_INLINE void pass_pixel(vf tile[PIXELS][VECTORS], float *pixel, const float *const *weight,
                             int64_t tap, int first, int last, int shift, int vectors,
                             int backward) {
  vf x[VECTORS];
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) x[v] = vf_pin(vf_load(pixel + v * VL));
  MLUOP_UNROLL for (int e = first; e <= last; e++) {
    const vf w = vf_set(weight[e][tap - shift * e]);
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
      if (backward) {
        x[v] = vf_fma(w, tile[e][v], x[v]);
      } else {
        tile[e][v] = vf_fma(w, x[v], tile[e][v]);
      }
    }
  }
  if (!backward) return;
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) vf_store(pixel + v * VL, x[v]);
}

/* Column x, if it may be touched, for the pixels first..last, which are all that see it. */
MLUOP_INLINE void pass_edge(vf tile[PIXELS][VECTORS], const struct line *t, float *row,
                            const float *const *weight, int64_t tap, int64_t x, int first, int last,
                            int vectors, int backward) {
  if (x < t->columns.begin || x >= t->columns.end) return;
  float *pixel = row + (x - t->map->first) * t->map->pixel;
  pass_pixel(tile, pixel, weight, tap, first, last, 1, vectors, backward);
}

/* One row of the map under the windows around column j; weight[e] is at tap 0 of that row. */
MLUOP_INLINE void pass_row(vf tile[PIXELS][VECTORS], const struct line *t, float *row,
                           const float *const *weight, int64_t j, int pixels, int vectors,
                           int backward) {
  const int64_t r = (t->K - 1) / 2, stride = t->map->pixel;
  const int last = pixels - 1, ahead = last;
  const int64_t begin = carafe_max(t->columns.begin, j - r + ahead);
  const int64_t end = carafe_min(t->columns.end, j + r + 1);
  if (ahead > 0) pass_edge(tile, t, row, weight, 0, j - r, 0, 0, vectors, backward);
  if (ahead > 1) pass_edge(tile, t, row, weight, 1, j - r + 1, 0, 1, vectors, backward);
  if (ahead > 2) pass_edge(tile, t, row, weight, 2, j - r + 2, 0, 2, vectors, backward);
  float *pixel = row + (begin - t->map->first) * stride;
  int64_t tap = begin - j + r;
  for (int64_t n = end - begin; n > 0; n--, pixel += stride, tap++) {
    pass_pixel(tile, pixel, weight, tap, 0, last, ahead > 0, vectors, backward);
  }
  /* The column that the next tile's windows begin to see. */
  if (!backward) {
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) mluop_prefetch(pixel + v * VL);
  }
  if (ahead > 0) pass_edge(tile, t, row, weight, t->K, j + r + 1, 1, last, vectors, backward);
  if (ahead > 1) pass_edge(tile, t, row, weight, t->K + 1, j + r + 2, 2, last, vectors, backward);
  if (ahead > 2) pass_edge(tile, t, row, weight, t->K + 2, j + r + 3, 3, last, vectors, backward);
}

/* The part of a row of the map that is under a window: `count` pixels from `offset` floats on; then
   `skip` weights belong to no pixel. */
struct under {
  int64_t offset, count, skip;
  float *const *rows;
  int64_t row_count;
};

/* All rows of the map under a window that all pixels share. */
MLUOP_INLINE void pass_shared(vf tile[PIXELS][VECTORS], const struct line *t, const float *weights,
                              int64_t j, int pixels, int vectors, int backward) {
  const int64_t r = (t->K - 1) / 2, stride = t->map->pixel;
  const int64_t begin = carafe_max(t->columns.begin, j - r);
  const int64_t end = carafe_min(t->columns.end, j + r + 1);
  struct under under = {(begin - t->map->first) * stride + t->channel, end - begin,
                        t->K - (end - begin), t->rows, t->row_count};
  const struct under *see = &under;
  __asm__("" : "+r"(see));
  const float *weight[PIXELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    weight[e] = mluop_pin_pointer(weights + t->weights_pixel[e] + (begin - j + r));
  }
  int64_t tap = 0;
  for (int64_t i = 0; i < see->row_count; i = mluop_pin(i + 1)) {
    mluop_reload();
    float *pixel = see->rows[i] + see->offset;
    for (int64_t n = see->count; n > 0; n--) {
      pass_pixel(tile, pixel, weight, tap, 0, pixels - 1, 0, vectors, backward);
      pixel = mluop_pin_pointer(pixel + stride);
      tap = mluop_pin(tap + 1);
    }
    tap += see->skip;
    /* The column that the next tile's windows begin to see. */
    if (!backward) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) mluop_prefetch(pixel + v * VL);
    }
  }
}

/* All rows of the line under the tile around column j. */
MLUOP_INLINE void pass_rows(vf tile[PIXELS][VECTORS], const struct line *t, const float *weights,
                            int64_t j, int pixels, int shared, int vectors, int backward) {
  if (shared) {
    pass_shared(tile, t, weights, j, pixels, vectors, backward);
    return;
  }
  const float *weight[PIXELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) weight[e] = weights + t->weights_pixel[e];
  float *const *row = t->rows;
  for (int64_t left = t->row_count; left > 0; left--) {
    pass_row(tile, t, *row++ + t->channel, weight, j, pixels, vectors, backward);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) weight[e] += t->K;
  }
}

/* A function for every size of a tile, and the table of them. */
/* clang-format off */
#define LINE_FUNCTION(name, pixels, shared, vectors)                         \
  static void name##_##pixels##_##shared##_##vectors(const struct line *t) { \
    name(t, pixels, shared, vectors <= VECTORS ? vectors : VECTORS);         \
  }
#define LINE_FUNCTIONS(name, pixels, shared) \
  LINE_FUNCTION(name, pixels, shared, 1)     \
  LINE_FUNCTION(name, pixels, shared, 2)     \
  LINE_FUNCTION(name, pixels, shared, 3)     \
  LINE_FUNCTION(name, pixels, shared, 4)     \
  LINE_FUNCTION(name, pixels, shared, 5)     \
  LINE_FUNCTION(name, pixels, shared, 6)
#define LINE_ENTRY(name, pixels, shared)                           \
  {name##_##pixels##_##shared##_1, name##_##pixels##_##shared##_2, \
   name##_##pixels##_##shared##_3, name##_##pixels##_##shared##_4, \
   name##_##pixels##_##shared##_5, name##_##pixels##_##shared##_6}
#define LINE_TABLE(name)                                                         \
  LINE_FUNCTIONS(name, 1, 0)                                                     \
  LINE_FUNCTIONS(name, 2, 0)                                                     \
  LINE_FUNCTIONS(name, 3, 0)                                                     \
  LINE_FUNCTIONS(name, 4, 0)                                                     \
  LINE_FUNCTIONS(name, 3, 1)                                                     \
  LINE_FUNCTIONS(name, 4, 1)                                                     \
  static line_table name##s = {                                                  \
      {LINE_ENTRY(name, 1, 0), LINE_ENTRY(name, 2, 0), LINE_ENTRY(name, 3, 0),   \
       LINE_ENTRY(name, 4, 0)},                                                  \
      {{0}, {0}, LINE_ENTRY(name, 3, 1), LINE_ENTRY(name, 4, 1)}};
/* clang-format on */

/* What a walk over the rows of an item works with. */
struct walk {
  const struct carafe_shape *shape;
  const struct carafe_item *item;
  const void *mask;
  float *weights; /* room for the weights of a segment as floats */
  line_function *const (*table)[PIXELS][MAX_VECTORS];
  int64_t row;             /* of the window centres */
  struct carafe_span rows; /* of the map under the windows */
  int64_t first_row;       /* that map->row[0] is */
  int64_t most_rows;       /* that are walked at once */
  int64_t turn;            /* of the map's channels and, if it is not 0, room for their ends */
  float *ends;
};

MLUOP_INLINE void ask_for(const void *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) mluop_prefetch((const char *)from + i);
}

static void convert_halves(float *to, const void *halves, int64_t from, int64_t count) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store(to + i, vf_load_as(halves, from + i, 1));
  if (i < count) {
    vf_store_part(to + i, vf_load_part_as(halves, from + i, count - i, 1), count - i);
  }
}

/* Weights of the line from element `from` of the mask on; halves are converted, tile by tile. */
static void see_weights(struct line *t, const struct walk *w, int64_t from, int pixels) {
  if (!w->shape->is_half) {
    t->weights = (const float *)w->mask + from;
    return;
  }
  const int64_t taps = w->shape->K * w->shape->K;
  float *to = w->weights;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    for (int e = 0; e < pixels; e++) {
      const int64_t at = from + t->weights_pixel[e];
      if (t->ask > 0) ask_for((const uint16_t *)w->mask + at + t->ask, taps * 2);
      convert_halves(to, w->mask, at, taps);
      to += taps;
    }
    from += t->weights_step;
  }
  t->ask = 0;
  t->weights = w->weights;
  t->weights_step = pixels * taps;
  for (int e = 0; e < pixels; e++) t->weights_pixel[e] = e * taps;
}

/* All rows under the windows; many of them in blocks, whose sums are added up. */
static void walk_rows(struct line *t, const struct walk *w, line_function *pass) {
  const float *weights = t->weights;
  float total[SEGMENT * PIXELS * VECTORS * VL];
  t->total = w->rows.end - w->rows.begin > w->most_rows ? total : NULL;
  for (int64_t y = w->rows.begin; y < w->rows.end; y += w->most_rows) {
    t->rows = t->map->row + (y - w->first_row);
    t->row_count = carafe_min(w->most_rows, w->rows.end - y);
    t->weights = weights + (y - w->row + (t->K - 1) / 2) * t->K;
    t->first = y == w->rows.begin;
    t->final = y + t->row_count == w->rows.end;
    pass(t);
  }
  t->weights = weights;
}

/* From the weights of group g to those that are needed ASK_GROUPS groups later, perhaps in the next
   segment; 0 where nothing is to be asked for. */
static int64_t ask_distance(const struct line *t, const struct walk *w, int64_t g) {
  const int64_t taps = t->K * t->K, groups = w->item->groups;
  if (groups < 2 * ASK_GROUPS || w->shape->G * taps < ASK_WEIGHTS) return 0;
  if (g + ASK_GROUPS < groups) return ASK_GROUPS * taps;
  return SEGMENT / t->step * t->weights_step + (ASK_GROUPS - groups) * taps;
}

/* Tiles whose first pixel is `pixel`, and then every `step` pixels. The others of a tile are
   offset[e] after the first. */
static void walk_pixels(struct line *t, const struct walk *w, int64_t pixel, int64_t step,
                        const int64_t *offset, int pixels, int64_t slot, const int64_t *slots) {
  const struct carafe_shape *a = w->shape;
  const int64_t taps = a->K * a->K;
  t->values_step = step * a->G * a->C;
  for (int e = 0; e < pixels; e++) {
    t->values_pixel[e] = offset[e] * a->G * a->C;
    t->ends_pixel[e] = slots[e] * w->item->groups * CARAFE_PAD;
  }
  for (int64_t g = 0; g < w->item->groups; g++) {
    const int64_t block = pixel * a->G + w->item->group + g;
    t->weights_step = step * a->G * taps;
    for (int e = 0; e < pixels; e++) t->weights_pixel[e] = offset[e] * a->G * taps;
    t->ask = ask_distance(t, w, g);
    see_weights(t, w, block * taps, pixels);
    const int64_t all = carafe_div_up(w->item->length, VL), cuts = carafe_div_up(all, VECTORS);
    for (int64_t cut = 0, begin = 0; cut < cuts; cut++) {
      const int64_t vectors = carafe_div_up(all - begin, cuts - cut);
      t->channel = g * t->map->group + begin * VL;
      t->length = carafe_min(w->item->length - begin * VL, vectors * VL);
      t->at = block * a->C + w->item->channel + begin * VL - w->turn;
      t->ends = NULL;
      if (w->turn > 0 && w->item->channel + begin * VL < CARAFE_PAD) {
        t->ends = w->ends + ((slot + 1) * w->item->groups + g) * CARAFE_PAD + begin * VL;
        t->ends_step = step * w->item->groups * CARAFE_PAD;
      }
      walk_rows(t, w, w->table[a->S > 1][pixels - 1][vectors - 1]);
      begin += vectors;
    }
  }
}

/* Window centres [begin, end) of row w->row; at most SEGMENT of them. */
static void walk_segment(struct line *t, const struct walk *w, int64_t begin, int64_t end) {
  const struct carafe_shape *a = w->shape;
  const int64_t S = a->S, pixel = (w->item->n * a->H + w->row) * S * S * a->W + begin * S;
  int64_t offset[PIXELS], slots[PIXELS];
  t->j = begin;
  if (S == 1) {
    t->step = a->K == 1 ? 2 : PIXELS; /* windows that overlap by all but 3 columns, or do not */
    for (int e = 0; e < PIXELS; e++) offset[e] = slots[e] = e;
    const int64_t whole = (end - begin) / t->step * t->step;
    t->end = begin + whole;
    if (whole > 0) walk_pixels(t, w, pixel, t->step, offset, (int)t->step, 0, slots);
    t->j = t->end;
    t->end = end;
    if (t->j < end)
      walk_pixels(t, w, pixel + whole, t->step, offset, (int)(end - t->j), whole, slots);
    return;
  }
  t->end = end;
  t->step = 1;
  /* The S x S pixels of a window, in chunks of 3 or 4. */
  const int64_t chunks = carafe_div_up(S * S, PIXELS);
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    const int64_t u = S * S * chunk / chunks, pixels = S * S * (chunk + 1) / chunks - u;
    for (int64_t e = 0; e < pixels; e++) {
      offset[e] = (u + e) / S * S * a->W + (u + e) % S;
      slots[e] = (u + e) / S * carafe_ends_row(a) + (u + e) % S;
    }
    walk_pixels(t, w, pixel, S, offset, (int)pixels, 0, slots);
  }
}

static inline void walk_columns(struct line *t, const struct walk *w, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; j += SEGMENT) {
    walk_segment(t, w, j, carafe_min(j + SEGMENT, end));
  }
}

#endif /* MLUOP_KERNELS_CARAFE_LINE_H_ */

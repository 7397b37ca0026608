/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_TILE_H_
#define MLUOP_FAMILIES_CARAFE_TILE_H_

/* Tile: up to 4 output pixels, of some vectors of channels each, stay in registers while the packed
   pixels under their windows pass by. Each vector that is loaded serves all pixels of the tile. In
   the forward, registers are sums, and take weight times packed pixel; in the backward, they are
   gradients, and packed sums take weight times gradient.

   The pixels of a tile share a window (S > 1), or are neighbours in a row (S == 1), whose windows
   overlap in all but 3 columns: a column at either end serves those of them that see it. Windows
   are clipped to the map before: no tap outside is touched, and none costs a branch. */

#include "families/carafe/pack.h"

/* Of 32 registers, 4 x 4 hold sums, 4 x 6 gradients, or 4 x 5 dot products; of 16, 4 x 3, or 4 x 2
   where products need one as well. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { SUM_VECTORS = 4, GRAD_VECTORS = 6, MOST_TAPS = 5 };
#elif defined(__AVX2__)
enum { SUM_VECTORS = 3, GRAD_VECTORS = 3, MOST_TAPS = 3 };
#else
enum { SUM_VECTORS = 2, GRAD_VECTORS = 2, MOST_TAPS = 3 };
#endif
enum { PIXELS = CARAFE_TILE, VECTORS = GRAD_VECTORS };

/* NEIGHBOURS: 4 in a row; otherwise the pixels are under one window. */
enum tile_kind { ONE, THREE, FOUR, NEIGHBOURS };

struct tile {
  struct walk *walk;
  struct pixels values; /* output, or packed gradients */
  struct pixels next;   /* forward: of the next windows, in the mask; at: NULL if there are none */
  struct pixels taps;   /* weights or grad_mask, from the first row on */
  int64_t row_count, rows_at_once;
  int64_t column;  /* floats from a column of a ring to the next one */
  int64_t channel; /* of those in turn, the first one of the tile */
  /* The tile in turn: */
  int64_t window;                          /* of its first pixel */
  struct carafe_span used;                 /* columns in use, from the first pixel's first tap on */
  struct carafe_span now;                  /* rows that are done at once */
  float totals[PIXELS * SUM_VECTORS * VL]; /* forward: of the rows before */
  /* All tiles: rows of a ring under the windows: their group, in column 0 of the map. */
  float *rows[CARAFE_BACKWARD_K];
};

/* What pixel e of the tile in turn has. */
MLUOP_INLINE float *pixel_at(const struct pixels *p, int e) {
  return (float *)(void *)(p->at + p->offset[e]);
}

/* The tile that begins at window `j`, before `end`. Windows of one tap do not overlap. */
static enum tile_kind tile_at(const struct carafe_args *a, int64_t slice, int64_t j, int64_t end) {
  const struct carafe_span pixels = carafe_slice(a, slice);
  if (a->S == 1 && a->K > 1 && end - j >= PIXELS) return NEIGHBOURS;
  return pixels.end - pixels.begin == 4 ? FOUR : pixels.end - pixels.begin == 3 ? THREE : ONE;
}

/* From a tile to the next one, in windows. */
MLUOP_INLINE int64_t tile_step(enum tile_kind kind) { return kind == NEIGHBOURS ? PIXELS : 1; }

/* At the first window in turn, for some rows under it. column_0: of the map, in row 0 of a ring. */
static void begin_tiles(struct tile *t, struct walk *s, int64_t group, const struct pixels *values,
                        const struct pixels *taps, struct carafe_span rows, float *column_0) {
  const struct carafe_args *a = s->args;
  float *of_group = column_0 + (group - s->groups.begin) * carafe_padded(a->plan.channels);
  const int64_t skipped = rows.begin - s->row + (a->K - 1) / 2;
  t->walk = s;
  t->values = *values;
  t->taps = *taps;
  t->row_count = rows.end - rows.begin;
  t->column = carafe_column_floats(a);
  t->channel = 0;
  t->window = s->windows.begin;
  t->now = (struct carafe_span){0, t->row_count};
  t->taps.at += skipped * a->K * (int64_t)sizeof(float);
  for (int64_t y = 0; y < t->row_count; y++) t->rows[y] = row_of_ring(a, of_group, rows.begin + y);
}

/* To another window. */
MLUOP_INLINE void move_tile(struct tile *t, int64_t window) {
  const int64_t windows = window - t->window;
  t->window = mluop_opaque(window);
  t->values.at += windows * t->values.step;
  t->taps.at += windows * t->taps.step;
}

/* Clips the windows of the tile in turn to some columns of the map. */
MLUOP_INLINE void clip_tile(struct tile *t, struct carafe_span columns, int neighbours) {
  const int64_t K = t->walk->args->K, first = t->window - K / 2;
  const int64_t last = neighbours ? PIXELS - 1 : 0;
  const int64_t begin = mluop_opaque(mluop_max(0, columns.begin - first));
  const int64_t end = mluop_opaque(mluop_min(K + last, columns.end - first));
  t->used = (struct carafe_span){begin, end};
}

/* Floats from a row to the first column in use. */
MLUOP_INLINE int64_t first_column(const struct tile *t) {
  return t->channel + (t->window - t->walk->args->K / 2 + t->used.begin) * t->column;
}

/* What one packed pixel adds to the pixels first..last of a tile, or these to it. */
MLUOP_INLINE void add_tap(vf tile[PIXELS][VECTORS], float *x, const float *const *weights,
                          int64_t tap, int first, int last, int vectors, int backward) {
  vf channels[VECTORS];
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) channels[v] = vf_opaque(vf_load(x + v * VL));
  MLUOP_UNROLL for (int e = first; e <= last; e++) {
    const vf weight = vf_set(weights[e][tap]);
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
      if (backward) channels[v] = vf_fma(weight, tile[e][v], channels[v]);
      if (!backward) tile[e][v] = vf_fma(weight, channels[v], tile[e][v]);
    }
  }
  MLUOP_UNROLL for (int v = 0; v < vectors && backward; v++) vf_store(x + v * VL, channels[v]);
}

/* Some rows under a tile. Of the K + last columns, column u < last is seen by the pixels
   0..u, and column K + u by those from u + 1 on; all pixels see those between. */
MLUOP_INLINE void add_rows(vf tile[PIXELS][VECTORS], const struct tile *t, int pixels,
                           int neighbours, int vectors, int backward) {
  const int all = pixels - 1, last = neighbours ? all : 0;
  __asm__ volatile("" : "+r"(t)); /* what rows need stays in memory, what taps need does not */
  const int64_t stride = t->column, at = first_column(t);
  const float *w[PIXELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    w[e] = mluop_opaque_pointer(pixel_at(&t->taps, e) - (neighbours ? e : 0));
  }
  const int64_t K = mluop_opaque(t->walk->args->K);
  for (int64_t y = t->now.begin; y < t->now.end; y = mluop_opaque(y + 1)) {
    mluop_compiler_barrier();
    const int64_t begin = t->used.begin, end = t->used.end;
    const int64_t row_end = y * K + mluop_min(end, K);
    int64_t tap = y * K + begin;
    float *x = t->rows[y] + at;
    MLUOP_UNROLL for (int u = 0; u < last; u++) {
      if (begin > u || end <= u) continue;
      add_tap(tile, x, w, tap, 0, u, vectors, backward);
      x = mluop_opaque_pointer(x + stride);
      tap = mluop_opaque(tap + 1);
    }
    for (; tap < row_end; tap++) {
      add_tap(tile, x, w, tap, 0, all, vectors, backward);
      x = mluop_opaque_pointer(x + stride);
    }
    MLUOP_UNROLL for (int u = 0; u < last; u++) {
      if (begin - K > u || end - K <= u) continue;
      add_tap(tile, x, w, tap, u + 1, all, vectors, backward);
      x = mluop_opaque_pointer(x + stride);
      tap = mluop_opaque(tap + 1);
    }
    MLUOP_UNROLL for (int v = 0; v < vectors && !backward; v++) mluop_prefetch(x + v * VL);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_TILE_H_ */

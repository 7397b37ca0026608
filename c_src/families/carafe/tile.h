/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_TILE_H_
#define MLUOP_FAMILIES_CARAFE_TILE_H_

/* Tile: the sums of up to PIXELS output pixels, of VECTORS vectors of channels each, stay in
   registers while the packed pixels under their windows pass by. Each vector that is loaded serves
   all pixels of the tile.

   The pixels of a tile share a window (S > 1), or are neighbours in a row (S == 1), whose windows
   overlap in all but 3 columns: a column at either end serves those of them that see it. Windows
   are clipped to the map before: no tap outside is touched, and none costs a branch. */

#include "families/carafe/pack.h"
#include "families/carafe/prefetch.h"
#include "families/carafe/store.h"

/* Tiles along a row of the map: of the windows around columns [begin, end). */
struct tiles {
  int64_t begin, end;
  int64_t K, W;                        /* of a window; columns of the map */
  const float *rows[CARAFE_FORWARD_K]; /* packed, under the windows */
  int64_t row_count, rows_at_once;
  int64_t base, column; /* floats to the channels at column 0, and to the next */
  const float *weights; /* of the first tile's first pixel, from the first row on */
  int64_t weights_step, weights_of[PIXELS]; /* to the next tile, to the pixels of a tile */
  int64_t at, at_step, at_of[PIXELS];       /* elements of the output, as those */
  int64_t channel, length;                  /* channels; the last vector may be partial */
  struct ring *ahead;                       /* NULL, or what is packed between tiles */
  struct prefetch *prefetch;
  const struct output *output;
};

/* What one packed pixel adds to the pixels first..last of a tile. */
MLUOP_INLINE void add_tap(vf sum[PIXELS][VECTORS], const float *x, const float *const *weights,
                          int64_t tap, int first, int last, int vectors) {
  vf channels[VECTORS];
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) channels[v] = vf_opaque(vf_load(x + v * VL));
  MLUOP_UNROLL for (int e = first; e <= last; e++) {
    const vf weight = vf_set(weights[e][tap]);
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
      sum[e][v] = vf_fma(weight, channels[v], sum[e][v]);
    }
  }
}

/* The columns under the windows of a tile: `begin` to K + `past` of those under the first pixel's
   are on the map. All pixels see `count` of them, and `skip` weights of a row belong to none. */
struct columns {
  int64_t offset, begin, past, count, skip; /* offset: floats from a row to the first one */
};

MLUOP_INLINE struct columns window_span(const struct tiles *t, int64_t j, int last) {
  const int64_t first = mluop_opaque(j - t->K / 2);
  const int64_t begin = mluop_opaque(carafe_max(-first, 0));
  const int64_t end = mluop_opaque(carafe_min(t->W - first, t->K + last));
  return (struct columns){.offset = t->base + (first + begin) * t->column,
                          .begin = begin,
                          .past = end - t->K,
                          .count = carafe_min(end, t->K) - carafe_max(begin, last),
                          .skip = t->K - (end - begin)};
}

/* All rows under a tile. Of the K + last columns, column u < last is seen by the pixels 0..u, and
   column K + u by those from u + 1 on. */
MLUOP_INLINE void add_rows(vf sum[PIXELS][VECTORS], const struct tiles *t, const float *weights,
                           const struct columns *span, int64_t y, int pixels, int neighbours,
                           int vectors) {
  const int all = pixels - 1, last = neighbours ? all : 0;
  __asm__("" : "+r"(span)); /* what each row needs stays in memory, what each tap needs does not */
  const int64_t stride = t->column;
  const float *w[PIXELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    w[e] = mluop_opaque_pointer(weights + t->weights_of[e] - (neighbours ? e : 0));
  }
  int64_t tap = y * t->K + span->begin;
  const int64_t stop_row = carafe_min(y + t->rows_at_once, t->row_count);
  for (int64_t i = y; i < stop_row; i = mluop_opaque(i + 1)) {
    mluop_compiler_barrier();
    const float *x = t->rows[i] + span->offset;
    MLUOP_UNROLL for (int u = 0; u < last; u++) {
      if (span->begin > u || span->past + t->K <= u) continue;
      add_tap(sum, x, w, tap, 0, u, vectors);
      x = mluop_opaque_pointer(x + stride);
      tap = mluop_opaque(tap + 1);
    }
    for (const int64_t stop = tap + span->count; tap < stop; tap++) {
      add_tap(sum, x, w, tap, 0, all, vectors);
      x = mluop_opaque_pointer(x + stride);
    }
    MLUOP_UNROLL for (int u = 0; u < last; u++) {
      if (span->past <= u || span->begin > u + t->K) continue;
      add_tap(sum, x, w, tap, u + 1, all, vectors);
      x = mluop_opaque_pointer(x + stride);
      tap = mluop_opaque(tap + 1);
    }
    tap += span->skip;
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) mluop_prefetch(x + v * VL);
  }
}

/* The sums of a tile. Long ones are made in two levels, some rows of the windows at a time. */
MLUOP_INLINE void sum_rows(vf sum[PIXELS][VECTORS], const struct tiles *t, const float *weights,
                           const struct columns *span, int pixels, int neighbours, int vectors) {
  float totals[PIXELS][VECTORS][VL];
  int64_t y = 0;
  do {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
        if (y > 0) vf_store(totals[e][v], sum[e][v]);
        sum[e][v] = vf_set(0.0f);
      }
    }
    add_rows(sum, t, weights, span, y, pixels, neighbours, vectors);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
        if (y > 0) sum[e][v] = vf_load(totals[e][v]) + sum[e][v];
      }
    }
    y += t->rows_at_once;
  } while (y < t->row_count);
}

MLUOP_INLINE void sum_tiles(struct tiles *t, int pixels, int neighbours, int vectors) {
  const int64_t step = neighbours ? pixels : 1;
  const float *weights = t->weights;
  int64_t at = t->at;
  for (int64_t j = t->begin; j < t->end; j += step) {
    vf sum[PIXELS][VECTORS];
    prefetch_lines(t->prefetch, t->prefetch->at_once);
    const struct columns span = window_span(t, j, neighbours ? pixels - 1 : 0);
    sum_rows(sum, t, weights, &span, pixels, neighbours, vectors);
    store_sums(sum, t->output, at, t->at_of, t->channel, t->length, pixels, vectors);
    if (t->ahead != NULL) pack_ahead(t->ahead, step);
    weights += t->weights_step;
    at += t->at_step;
  }
}

/* In functions of their own: one with all tiles takes compilers long. */
#define TILES(kind, pixels, neighbours)                                            \
  static __attribute__((noinline)) void sum_##kind(struct tiles *t, int vectors) { \
    if (vectors == 1) sum_tiles(t, pixels, neighbours, 1);                         \
    if (vectors == 2) sum_tiles(t, pixels, neighbours, 2);                         \
    if (VECTORS > 2 && vectors == 3) sum_tiles(t, pixels, neighbours, 3);          \
    if (VECTORS > 3 && vectors == 4) sum_tiles(t, pixels, neighbours, 4);          \
  }

TILES(one, 1, 0)
TILES(three, 3, 0)
TILES(four, 4, 0)
TILES(neighbours, 4, 1)

#endif /* MLUOP_FAMILIES_CARAFE_TILE_H_ */

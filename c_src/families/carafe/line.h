/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LINE_H_
#define MLUOP_FAMILIES_CARAFE_LINE_H_

/* The walk that the forward operator and the gradient of the input have in common: tiles of up to 4
   output pixels by VECTORS vectors of channels stay in registers, while the pixels of the map under
   their windows pass by. Forward, a tile adds up weight * map; backward, the map adds up weight *
   tile. Either way each vector of the map is loaded once for all pixels of the tile.

   With S > 1 the pixels of a tile are "shared": they see the same window. With S == 1 they are
   neighbours in a row, whose windows overlap: a column of the map serves those of them that see it.

   Windows are clipped to the map, or to the part of it that a thread owns, before the walk: no tap
   outside is touched, and none costs a branch. */

#include "families/carafe/source.h"

/* Of 32 registers, 4 pixels leave room for 6 vectors; of 16 for 3, or 2 where products need one as
   well. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { VECTORS = 6 };
#elif defined(__AVX2__)
enum { VECTORS = 3 };
#else
enum { VECTORS = 2 };
#endif

/* A line of memory, in vectors. */
enum { END_VECTORS = CARAFE_PAD / VL };

enum { PIXELS = 4, SEGMENT = CARAFE_SEGMENT };

/* Tiles along a row of the map, `step` columns apart. */
struct line {
  int64_t K;
  int64_t j, end, step;       /* window centres: columns j, j + step, ... before end */
  struct carafe_span columns; /* of the map that may be touched */
  const struct carafe_rows *map;
  float *const *rows;         /* of the map under the windows, of which row_count are walked */
  int64_t row_count, channel; /* channel: the first one, in the map */
  int64_t groups, cuts;       /* of a grouped line: groups of a column, cuts of a group */
  const void *weights;        /* K x K of the first pixel, from the first of `rows` on */
  int64_t weights_step, weights_pixel[PIXELS]; /* to the next tile; to the pixels of a tile */
  int64_t ask, ask_bytes;                      /* 0, or to weights that are needed later */
  const char *next; /* NULL, or column 0 of the row to pack next; in bytes: */
  int64_t next_column, next_group, next_vector;
  void *values;   /* the output, or its gradient */
  int64_t at;     /* where in values; as the distances there, in words if they are streamed */
  int64_t length; /* channels, the last vector may be partial */
  int64_t values_step, values_pixel[PIXELS];
  int is_half, stream;
  int by_halves; /* the weights are */
  float *ends; /* NULL, or where the first vectors of a tile are kept, after those of the groups */
  int64_t ends_step, ends_pixel[PIXELS]; /* that are before its own in the output */
  const vm *turned;                      /* lanes of them that hold the end of a group */
  int at_once[PIXELS];                   /* enum: when a line is written that has both */
  int64_t row_begin;                     /* the column that a row of the item begins with */
  int64_t turn, group; /* the first `turn` channels of a joined tile lie `group` words further */
  float *total;        /* NULL, or sums over the rows walked before */
  int first, final;
};

/* The end of a group and the begin of the next are in one line of the output. It is written with
   the tile that has the begin, if the end has been kept before: always, unless the tile is the
   first of a row, or not at all. */
enum { LATER, BUT_FIRST, ALWAYS };

typedef void line_function(const struct line *line);

/* The pixels of a tile are neighbours or share a window; those of a joined tile do, and its first
   line has channels of both ends of a group. Elements of the map may be halves, or else the
   weights. In a grouped line, whose tiles share windows, all groups of a column come before the
   next column. */
enum { NEIGHBOURS, SHARED, JOINED, OF_HALVES, BY_HALVES = 2 * OF_HALVES, GROUPED = BY_HALVES + 2 };
enum { KINDS = GROUPED + 1 };

MLUOP_INLINE int of_halves(int kind) { return kind >= OF_HALVES && kind < BY_HALVES; }
MLUOP_INLINE int by_halves(int kind) { return kind >= BY_HALVES; }

/* By kind, pixels - 1, vectors - 1. */
enum { MAX_VECTORS = 6 };
typedef line_function *const line_table[KINDS][PIXELS][MAX_VECTORS];

/* Products of one pixel of the map, x, with the weights of the pixels first..last of the tile. */
MLUOP_INLINE void pass_loaded(vf tile[PIXELS][VECTORS], vf x[VECTORS], const void *const *weight,
                              int64_t tap, int first, int last, int shift, int kind, int vectors,
                              int backward) {
  MLUOP_UNROLL for (int e = first; e <= last; e++) {
    const vf w = vf_set_as(weight[e], tap - shift * e, by_halves(kind));
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
      if (backward) {
        x[v] = vf_fma(w, tile[e][v], x[v]);
      } else {
        tile[e][v] = vf_fma(w, x[v], tile[e][v]);
      }
    }
  }
}

MLUOP_INLINE void pass_pixel(vf tile[PIXELS][VECTORS], float *pixel, const void *const *weight,
                             int64_t tap, int first, int last, int shift, int kind, int vectors,
                             int backward) {
  vf x[VECTORS];
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
    x[v] = vf_pin(vf_load_as(pixel, v * VL, of_halves(kind)));
  }
  pass_loaded(tile, x, weight, tap, first, last, shift, kind, vectors, backward);
  if (!backward) return;
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) vf_store(pixel + v * VL, x[v]);
}

/* Forward, where the first line, of one vector or two, has both ends of a group. */
MLUOP_INLINE void pass_joined(vf tile[PIXELS][VECTORS], const float *pixel,
                              const void *const *weight, int64_t tap, int64_t turn, int64_t group,
                              int pixels, int kind, int vectors) {
  const int halves = of_halves(kind);
  vf x[VECTORS];
  MLUOP_UNROLL for (int v = 0; v <= halves; v++) {
    x[v] = vf_pin(vf_load_joined_as(turn - v * VL, pixel + group, pixel, v * VL, halves));
  }
  MLUOP_UNROLL for (int v = 1 + halves; v < vectors; v++) {
    x[v] = vf_pin(vf_load_as(pixel, v * VL, halves));
  }
  pass_loaded(tile, x, weight, tap, 0, pixels - 1, 0, kind, vectors, 0);
}

/* The column of the map that the next tile's windows begin to see. */
MLUOP_INLINE void ask_for_column(const float *pixel, int kind, int vectors) {
  const int halves = of_halves(kind);
  MLUOP_UNROLL for (int v = 0; v < vectors; v += 1 + halves) {
    mluop_prefetch(pixel + v * VL / (1 + halves));
  }
}

/* A column of the row of the input that will be packed next. It is asked for in the middle of a
   tile: at its end, beside the results, that would hold up the next one. */
struct next {
  const char *at; /* or NULL */
  int64_t column, vector;
};

MLUOP_INLINE struct next next_to_ask(const struct line *t, int64_t column) {
  const char *at = t->next != NULL ? t->next + column * t->next_column : NULL;
  return (struct next){at, t->next_column, t->next_vector};
}

MLUOP_INLINE void ask_to_pack(const struct next *next, int64_t column, int vectors) {
  if (next->at == NULL) return;
  const char *from = next->at + column * next->column;
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) mluop_prefetch(from + v * next->vector);
}

/* The part of a row of the map that is under a window: `count` pixels from `offset` floats on; then
   `skip` weights belong to no pixel. */
struct under {
  int64_t offset, count, skip;
  float *const *rows;
  int64_t row_count;
  struct next next;
};

/* All rows of the map under a window that all pixels share. */
MLUOP_INLINE void pass_shared(vf tile[PIXELS][VECTORS], const struct line *t, const void *weights,
                              int64_t j, int64_t turn, int pixels, int kind, int vectors,
                              int backward) {
  const int joined = kind % OF_HALVES == JOINED;
  const int64_t r = (t->K - 1) / 2, stride = t->map->pixel;
  const int64_t begin = carafe_max(t->columns.begin, j - r);
  const int64_t end = carafe_min(t->columns.end, j + r + 1);
  struct under under = {(begin - t->map->first) * stride + t->channel,
                        end - begin,
                        t->K - (end - begin),
                        t->rows,
                        t->row_count,
                        joined ? (struct next){0} : next_to_ask(t, j)};
  const struct under *see = &under;
  __asm__("" : "+r"(see));
  const void *weight[PIXELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    weight[e] = mluop_pin_address(
        mluop_at(weights, t->weights_pixel[e] + (begin - j + r), by_halves(kind)));
  }
  const int64_t group = t->group;
  int64_t tap = 0;
  for (int64_t i = 0; i < see->row_count; i = mluop_pin(i + 1)) {
    mluop_reload();
    float *pixel = see->rows[i] + see->offset;
    for (const int64_t stop = tap + see->count; tap < stop; tap++) {
      if (joined) {
        pass_joined(tile, pixel, weight, tap, turn, group, pixels, kind, vectors);
      } else {
        pass_pixel(tile, pixel, weight, tap, 0, pixels - 1, 0, kind, vectors, backward);
      }
      pixel = mluop_pin_pointer(pixel + stride);
    }
    tap += see->skip;
    if (!backward) ask_for_column(pixel, kind, vectors);
    if (!backward && !joined && i == 0) ask_to_pack(&see->next, 0, vectors);
  }
}

/* The same under the windows of neighbours, from column `begin` of the first one's window on, until
   `end` columns after that; all of the neighbours see `count` of them. */
struct beside {
  int64_t offset, begin, end, count, skip;
  float *const *rows;
  int64_t row_count;
  struct next next;
};

/* All rows of the map under the windows of neighbours. Of the K + pixels - 1 columns, column
   u < pixels - 1 is seen by pixels 0..u, and column K + u by those from u + 1 on. */
MLUOP_INLINE void pass_neighbours(vf tile[PIXELS][VECTORS], const struct line *t,
                                  const void *weights, int64_t j, int pixels, int kind, int vectors,
                                  int backward) {
  const int last = pixels - 1;
  const int64_t first = j - (t->K - 1) / 2, stride = t->map->pixel;
  const int64_t begin = carafe_max(t->columns.begin - first, 0);
  const int64_t end = carafe_min(t->columns.end - first, t->K + last);
  struct beside beside = {(first + begin - t->map->first) * stride + t->channel,
                          begin,
                          end - t->K,
                          carafe_min(end, t->K) - carafe_max(begin, last),
                          t->K - (end - begin),
                          t->rows,
                          t->row_count,
                          next_to_ask(t, j)};
  const struct beside *see = &beside;
  __asm__("" : "+r"(see));
  const void *weight[PIXELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    weight[e] = mluop_pin_address(mluop_at(weights, t->weights_pixel[e], by_halves(kind)));
  }
  int64_t tap = begin;
  for (int64_t i = 0; i < see->row_count; i = mluop_pin(i + 1)) {
    mluop_reload();
    float *pixel = see->rows[i] + see->offset;
    MLUOP_UNROLL for (int u = 0; u < last; u++) {
      if (see->begin > u || see->end + t->K <= u) continue;
      pass_pixel(tile, pixel, weight, tap, 0, u, 1, kind, vectors, backward);
      pixel = mluop_pin_pointer(pixel + stride);
      tap = mluop_pin(tap + 1);
    }
    for (const int64_t stop = tap + see->count; tap < stop; tap++) {
      pass_pixel(tile, pixel, weight, tap, 0, last, last > 0, kind, vectors, backward);
      pixel = mluop_pin_pointer(pixel + stride);
    }
    MLUOP_UNROLL for (int u = 0; u < last; u++) {
      if (see->end <= u || see->begin > u + t->K) continue;
      pass_pixel(tile, pixel, weight, tap, u + 1, last, 1, kind, vectors, backward);
      pixel = mluop_pin_pointer(pixel + stride);
      tap = mluop_pin(tap + 1);
    }
    tap += see->skip;
    if (!backward) ask_for_column(pixel, kind, vectors);
    if (!backward && i < pixels) ask_to_pack(&see->next, i, vectors);
  }
}

/* All rows of the line under the tile around column j. `turn` is that of a joined tile: if it came
   from *t for each, the lanes would be counted again, behind the products of the tile before. */
MLUOP_INLINE void pass_rows(vf tile[PIXELS][VECTORS], const struct line *t, const void *weights,
                            int64_t j, int64_t turn, int pixels, int kind, int vectors,
                            int backward) {
  if (kind % OF_HALVES != NEIGHBOURS) {
    pass_shared(tile, t, weights, j, turn, pixels, kind, vectors, backward);
  } else {
    pass_neighbours(tile, t, weights, j, pixels, kind, vectors, backward);
  }
}

MLUOP_INLINE void ask_for(const void *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) mluop_prefetch((const char *)from + i);
}

#endif /* MLUOP_FAMILIES_CARAFE_LINE_H_ */

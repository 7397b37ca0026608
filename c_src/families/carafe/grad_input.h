/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_
#define MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_

/* grad_input: a tile is up to 4 pixels of grad_output by up to MOST_VECTORS vectors of channels. It
   stays in registers while the pixels of the map under its windows pass by: each is loaded from the
   ring of sums, gets its contributions, and is stored. Rows and columns of windows follow each
   other as in grad_output, and so do the contributions to an element. */

#include "families/carafe/slice.h"

/* Of 32 registers, 4 pixels leave room for 6 vectors; of 16 for 3, or 2 where products need one as
   well. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { MOST_VECTORS = 6 };
#elif defined(__AVX2__)
enum { MOST_VECTORS = 3 };
#else
enum { MOST_VECTORS = 2 };
#endif

/* Contributions of the pixels first..last of the tile to one pixel of the map. */
MLUOP_INLINE void add_column(float *sums, vf grad[CARAFE_TILE][MOST_VECTORS],
                             const float *const *weight, int64_t tap, int first, int last,
                             int shift, int vectors) {
  vf sum[MOST_VECTORS];
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) sum[v] = vf_opaque(vf_load(sums + v * VL));
  MLUOP_UNROLL for (int e = first; e <= last; e++) {
    const vf w = vf_set(weight[e][tap - shift * e]);
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) sum[v] = vf_fma(w, grad[e][v], sum[v]);
  }
  MLUOP_UNROLL for (int v = 0; v < vectors; v++) vf_store(sums + v * VL, sum[v]);
}

/* A row of the windows. Of the columns of neighbours, column u < 3 is under pixels 0..u, and
   column K + u under those from u + 1 on. */
MLUOP_INLINE void add_row(float *sums, vf grad[CARAFE_TILE][MOST_VECTORS],
                          const float *const *weight, const struct pixel_tile *t, int64_t tap,
                          int pixels, int shift, int vectors) {
  const int64_t K = t->K, pixel = t->pixel;
  const int all = pixels - 1, last = shift ? all : 0;
  MLUOP_UNROLL for (int u = 0; u < last; u++) {
    if (u < t->begin || u >= t->end) continue;
    add_column(sums, grad, weight, tap + u, 0, u, shift, vectors);
    sums = mluop_opaque_pointer(sums + pixel);
  }
  int64_t u = carafe_max(t->begin, last);
  for (const int64_t stop = carafe_min(K, t->end); u < stop; u++) {
    add_column(sums, grad, weight, tap + u, 0, all, shift, vectors);
    sums = mluop_opaque_pointer(sums + pixel);
  }
  MLUOP_UNROLL for (int v = 0; v < last; v++) {
    if (K + v < t->begin || K + v >= t->end) continue;
    add_column(sums, grad, weight, tap + K + v, v + 1, all, shift, vectors);
    sums = mluop_opaque_pointer(sums + pixel);
  }
}

MLUOP_INLINE void add_tile(const struct pixel_tile *t, int pixels, int shift, int vectors) {
  vf grad[CARAFE_TILE][MOST_VECTORS];
  const float *weight[CARAFE_TILE];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    weight[e] = mluop_opaque_pointer(t->taps[e]);
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) grad[e][v] = vf_load(t->grad[e] + v * VL);
  }
  int64_t row = t->row, tap = 0;
  for (int64_t y = 0; y < t->rows; y++, tap += t->K) {
    mluop_compiler_barrier();
    add_row(t->ring + row * t->row_floats + t->at, grad, weight, t, tap, pixels, shift, vectors);
    row = row + 1 == t->slots ? 0 : row + 1;
  }
}

MLUOP_INLINE void add_vectors(const struct pixel_tile *t, int vectors, int pixels, int shift) {
  if (vectors == 1) add_tile(t, pixels, shift, 1);
  if (vectors == 2) add_tile(t, pixels, shift, 2);
  if (MOST_VECTORS > 2 && vectors == 3) add_tile(t, pixels, shift, 3);
  if (MOST_VECTORS > 3 && vectors == 4) add_tile(t, pixels, shift, 4);
  if (MOST_VECTORS > 4 && vectors == 5) add_tile(t, pixels, shift, 5);
  if (MOST_VECTORS > 5 && vectors == 6) add_tile(t, pixels, shift, 6);
}

static void add_cut(const struct pixel_tile *t, enum tile_kind kind, int vectors) {
  if (kind == ONE) add_vectors(t, vectors, 1, 0);
  if (kind == THREE) add_vectors(t, vectors, 3, 0);
  if (kind == FOUR) add_vectors(t, vectors, 4, 0);
  if (kind == NEIGHBOURS) add_vectors(t, vectors, 4, 1);
}

static int64_t sums_ring_floats(const struct block_walk *s) {
  return carafe_slots(&s->args->shape) * carafe_sums_row_floats(s->args);
}

/* What the windows of a slice contribute to one part of the channels. */
static void add_part(struct block_walk *s, const struct slice *c, const struct pixels *weights,
                     int64_t part) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_plan *plan = &s->args->plan;
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t r = (a->K - 1) / 2, channels = part * plan->part;
  const int64_t all = carafe_div_up(carafe_min(plan->part, a->C - channels), VL);
  const int64_t cuts = carafe_div_up(all, MOST_VECTORS);
  enum tile_kind kind;
  for (int64_t cut = 0, begin = 0, vectors; cut < cuts; cut++, begin += vectors) {
    vectors = carafe_div_up(all - begin, cuts - cut);
    struct pixel_tile t =
        first_tile(s, c, scratch->sums, carafe_sums_row_floats(s->args), s->owned, part);
    t.ring += begin * VL;
    for (int64_t j = c->centres.begin; j < c->centres.end; j += tile_step(kind)) {
      kind = tile_at(s, c, j, c->centres.end);
      t.begin = carafe_max(0, s->columns.begin - j + r);
      t.end = carafe_min(a->K + tile_step(kind) - 1, s->columns.end - j + r);
      t.at = (j - r + t.begin - s->columns.begin) * t.pixel;
      place_tile(&t, c, weights, j, channels + begin * VL, (s->owned.begin - s->row + r) * a->K);
      add_cut(&t, kind, (int)vectors);
    }
  }
}

/* total += sum; sum = 0 */
static void move_sums(float *total, float *sum, int64_t count) {
  for (int64_t i = 0; i < count; i += VL) {
    vf_store(total + i, vf_load(total + i) + vf_load(sum + i));
    vf_store(sum + i, vf_set(0.0f));
  }
}

/* Two-level sums: what was added to columns [begin, end) of the rows under the windows. */
static void add_totals(const struct block_walk *s, int64_t begin, int64_t end) {
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t pixel = carafe_pixel_floats(s->args), slots = carafe_slots(&s->args->shape);
  const struct carafe_span columns = both_spans(s->columns, (struct carafe_span){begin, end});
  for (int64_t part = 0; part < s->args->plan.parts && columns.begin < columns.end; part++) {
    for (int64_t y = s->owned.begin; y < s->owned.end; y++) {
      const int64_t at = part * sums_ring_floats(s) + y % slots * carafe_sums_row_floats(s->args) +
                         (columns.begin - s->columns.begin) * pixel;
      move_sums(scratch->totals + at, scratch->sums + at, (columns.end - columns.begin) * pixel);
    }
  }
}

/* STORE: row y, to which no window contributes any more. Its sums become 0. */
static void store_sums(const struct block_walk *s, int64_t y) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_plan *plan = &s->args->plan;
  const struct carafe_general_scratch *scratch = s->scratch;
  const int64_t pixel = carafe_pixel_floats(s->args), row = carafe_sums_row_floats(s->args);
  for (int64_t part = 0; part < plan->parts; part++) {
    const int64_t at = part * sums_ring_floats(s) + y % carafe_slots(a) * row;
    const int64_t channel = part * plan->part, count = carafe_min(plan->part, a->C - channel);
    if (scratch->totals != NULL) move_sums(scratch->totals + at, scratch->sums + at, row);
    float *const sums = (scratch->totals != NULL ? scratch->totals : scratch->sums) + at;
    const float *from = sums;
    for (int64_t x = s->columns.begin; x < s->columns.end; x++, from += pixel) {
      const int64_t to = (((s->n * a->H + y) * a->W + x) * a->G + s->group) * a->C + channel;
      for (int64_t g = 0; g < s->groups; g++) {
        carafe_store_run(s->args->grad_input, to + g * a->C, from + g * carafe_padded(plan->part),
                         count, a->is_half);
      }
    }
    memset(sums, 0, (size_t)row * sizeof(*sums));
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_ */

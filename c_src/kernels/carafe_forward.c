/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/carafe_line.h"

/* Rounding errors grow with the length of a sum: longer ones are sums of sums of about this
   length. */
enum { SUM_LENGTH = 128 };

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

MLUOP_INLINE void store_sums(vf sum[PIXELS][VECTORS], const struct line *t, int64_t out, int pixels,
                             int vectors) {
  const int64_t last = t->length - (vectors - 1) * VL;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const int64_t at = out + t->values_pixel[e];
    if (t->stream) {
      float *to = (float *)t->values + at;
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) vf_stream(to + v * VL, sum[e][v]);
      continue;
    }
    MLUOP_UNROLL for (int v = 0; v < vectors - 1; v++) {
      vf_store_as(t->values, at + v * VL, sum[e][v], t->is_half);
    }
    if (last == VL) {
      vf_store_as(t->values, at + (vectors - 1) * VL, sum[e][vectors - 1], t->is_half);
    } else {
      vf_store_part_as(t->values, at + (vectors - 1) * VL, sum[e][vectors - 1], last, t->is_half);
    }
  }
}

MLUOP_INLINE void sum_line(const struct line *t, int pixels, int shared, int vectors) {
  const float *weights = t->weights;
  float *total = t->total;
  int64_t out = t->at;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    vf sum[PIXELS][VECTORS];
    clear(sum, pixels, vectors);
    pass_rows(sum, t, weights, j, pixels, shared, vectors, 0);
    if (t->total != NULL) total = add_total(sum, t, total, pixels, vectors);
    if (t->final) store_sums(sum, t, out, pixels, vectors);
    weights += t->weights_step;
    out += t->values_step;
  }
}

LINE_TABLE(sum_line)

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  float *ring = args->plan.packed ? (float *)scratch + carafe_weights_size(a) : NULL;
  struct carafe_source source = {.ring = ring, .strip = -1};
  struct line t = {.K = a->K,
                   .columns = {0, a->W},
                   .map = &source.rows,
                   .values = args->output,
                   .is_half = a->is_half,
                   .stream = args->stream};
  struct walk w = {.shape = a,
                   .mask = args->mask,
                   .weights = scratch,
                   .table = sum_lines,
                   .most_rows = carafe_max(1, SUM_LENGTH / a->K)};
  for (int64_t index = begin; index < end; index++) {
    const struct carafe_item item = carafe_item_at(a, &args->plan, index);
    if (item.row >= a->H) continue;
    carafe_see(&source, a, &args->plan, &item, args->input);
    w.item = &item;
    w.row = item.row;
    w.rows = carafe_window(item.row, a->K, a->H);
    w.first_row = w.rows.begin;
    walk_columns(&t, &w, item.column, item.column + item.columns);
  }
  if (args->stream) vf_stream_end();
}

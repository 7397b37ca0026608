/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/psamask.h"

#include "kernels/variant.h"

/* The range of mask positions along one axis whose target is on the map, and the target of
   position 0. */
struct span {
  int64_t begin, end, shift;
};

static struct span span_of(int64_t at, int64_t extent, int64_t mask) {
  const int64_t shift = at - (mask - 1) / 2;
  struct span span = {shift < 0 ? -shift : 0, mask, shift};
  if (span.end > extent - shift) span.end = extent - shift;
  if (span.end < span.begin) span.end = span.begin;
  return span;
}

/* Item: a pixel of y. */
void MLUOP_VARIANT(psamask_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  for (int64_t pixel = begin; pixel < end; pixel++) {
    float *row = a->target + pixel * map;
    for (int64_t i = 0; i < map; i++) {
      const int64_t at = pixel % map, other = i;
      const int64_t from = a->distribute ? other : at, to = a->distribute ? at : other;
      const struct span rows = span_of(from / a->W, a->H, a->h_mask);
      const struct span cols = span_of(from % a->W, a->W, a->w_mask);
      const int64_t u = to / a->W - rows.shift, v = to % a->W - cols.shift;
      const int inside = u >= rows.begin && u < rows.end && v >= cols.begin && v < cols.end;
      row[i] = inside ? a->source[(pixel - at + from) * mask + u * a->w_mask + v] : 0.0f;
    }
  }
}

/* Item: a pixel of dx. */
void MLUOP_VARIANT(psamask_backward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  for (int64_t pixel = begin; pixel < end; pixel++) {
    const int64_t at = pixel % map;
    const struct span rows = span_of(at / a->W, a->H, a->h_mask);
    const struct span cols = span_of(at % a->W, a->W, a->w_mask);
    float *row = a->target + pixel * mask;
    for (int64_t i = 0; i < mask; i++) {
      const int64_t u = i / a->w_mask, v = i % a->w_mask;
      const int inside = u >= rows.begin && u < rows.end && v >= cols.begin && v < cols.end;
      const int64_t to = (u + rows.shift) * a->W + v + cols.shift;
      row[i] = !inside         ? 0.0f
               : a->distribute ? a->source[(pixel - at + to) * map + at]
                               : a->source[pixel * map + to];
    }
  }
}

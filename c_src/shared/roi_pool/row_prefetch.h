/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_ROW_PREFETCH_H_
#define MLUOP_SHARED_ROI_POOL_ROW_PREFETCH_H_

/* Prefetching of a map that does not fit into the caches and of which bins, in the order of
   buckets, need every pixel: row by row through the strip of the present bin, some rows ahead of
   it, a few lines between the sums for one pixel and the next. More at once would be dropped by the
   CPU. */

#include "shared/roi_pool/gather.h"

/* Vectors of channels that are summed in registers at once, and lines that are prefetched then: a
   quarter of what is read. */
enum { SUMS = VL == 16 ? 16 : 8, LINES = SUMS * VL >= 64 ? SUMS * VL / 64 : 1 };

enum { ROWS_AHEAD = 16 };

struct row_prefetch {
  const char *next, *end; /* of the lines to prefetch with the present bin */
  int64_t strip, row;     /* where they are: strip of which image, row of the map */
  int64_t done;           /* bytes of that row of the strip */
};

/* The lines for the bin `item`. */
static inline void next_rows(const struct roi_pool_args *a, int64_t item,
                             const struct bin_taps *taps, struct row_prefetch *prefetch) {
  const struct roi_pool_bin *bin = &a->memory.bins[item];
  const int shift = a->buckets.shift, strip_shift = shift + a->buckets.strip_shift;
  const int64_t row = middle_pixel(bin->y, taps->roi->bin_h, a->shape.H) >> shift << shift;
  const int64_t in_image = middle_pixel(bin->x, taps->roi->bin_w, a->shape.W) >> strip_shift;
  const int64_t strip = taps->roi->image * a->buckets.strips + in_image;
  if (strip != prefetch->strip || row > prefetch->row) {
    *prefetch = (struct row_prefetch){.strip = strip, .row = row};
  }
  const int64_t last = row + ROWS_AHEAD < a->shape.H ? row + ROWS_AHEAD : a->shape.H;
  if (prefetch->row >= last) {
    prefetch->next = prefetch->end = a->data.input;
    return;
  }
  const int64_t element = a->shape.is_half ? 2 : 4, begin = in_image << strip_shift;
  const int64_t end = begin + (INT64_C(1) << strip_shift);
  const int64_t width = ((end < a->shape.W ? end : a->shape.W) - begin) * a->shape.C * element;
  const int64_t pixel = (taps->roi->image * a->shape.H + prefetch->row) * a->shape.W + begin;
  const int64_t steps = taps->rows * taps->cols * (a->shape.C / (SUMS * VL));
  const int64_t left = width - prefetch->done;
  const int64_t bytes = steps * LINES * 64 < left ? steps * LINES * 64 : left;
  prefetch->next = (const char *)a->data.input + pixel * a->shape.C * element + prefetch->done;
  prefetch->end = prefetch->next + bytes;
  prefetch->done += bytes;
  if (prefetch->done == width) {
    prefetch->row++;
    prefetch->done = 0;
  }
}

MLUOP_INLINE void prefetch_row_lines(struct row_prefetch *prefetch) {
  for (int k = 0; k < LINES; k++) mluop_prefetch(prefetch->next + k * 64);
  if (prefetch->next + LINES * 64 < prefetch->end) prefetch->next += LINES * 64;
}

#endif /* MLUOP_SHARED_ROI_POOL_ROW_PREFETCH_H_ */

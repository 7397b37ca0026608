/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_WALK_H_
#define MLUOP_FAMILIES_CARAFE_WALK_H_

/* The walk over a strip of the map: window row by window row, segment by segment. A strip owns the
   grad_input of its pixels, and the output or the grad_mask of the windows around them. To
   grad_input windows beside the strip contribute as well. */

#include "families/carafe/job.h"
#include "families/carafe/prefetch.h"

struct map_strip {
  const struct carafe_args *args;
  int64_t n, group, groups;
  struct carafe_span rows, columns; /* that the strip owns */
  int64_t beside;                   /* so many windows beside the strip contribute to it */
  struct carafe_span centres;       /* columns of those and of its own */
  int64_t row;                      /* of the windows in turn */
  struct carafe_span window, owned; /* rows of the map under them, and those that the strip owns */
  struct prefetch prefetch;         /* what is needed after the segment in turn */
  const void *scratch;              /* of the kernel */
};

/* What a kernel does: a strip begins; a row of the input comes under the windows; the windows of a
   segment are done; to a row of grad_input nothing more will be added (NULL if there is none). */
struct steps {
  void (*begin_strip)(const struct map_strip *s);
  void (*pack_row)(const struct map_strip *s, int64_t y);
  void (*do_segment)(struct map_strip *s, struct carafe_span centres);
  void (*store_row)(const struct map_strip *s, int64_t y);
};

static inline struct carafe_span both_spans(struct carafe_span a, struct carafe_span b) {
  return (struct carafe_span){carafe_max(a.begin, b.begin), carafe_min(a.end, b.end)};
}

/* offset[e] becomes how many pixels of grad_output pixel e of a slice is after the window's first.
   Returns how many pixels there are. */
static inline int pixels_of_slice(const struct carafe_shape *a, int64_t number, int64_t *offset) {
  const struct carafe_span slice = carafe_slice(a, number);
  for (int64_t u = slice.begin; u < slice.end; u++) *offset++ = u / a->S * a->S * a->W + u % a->S;
  return (int)(slice.end - slice.begin);
}

/* The first pixel of grad_output under the window around column j of the row in turn. */
static inline int64_t pixel_of(const struct map_strip *s, int64_t j) {
  const struct carafe_shape *a = &s->args->shape;
  return ((s->n * a->H + s->row) * a->S * a->W + j) * a->S;
}

/* While a segment is done: what the next one needs; and, of the same columns, the row of the input
   that is packed next and the row of grad_input that is stored next. */
static inline void prefetch_after(struct map_strip *s, struct carafe_span segment, int masks) {
  const struct carafe_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const int64_t S = a->S, r = (a->K - 1) / 2, taps = a->K * a->K, row_end = s->centres.end;
  struct prefetch *p = &s->prefetch;
  *p = (struct prefetch){.shape = a, .group = s->group, .groups = s->groups};
  if (!args->large) return;
  const struct carafe_span own = both_spans(segment, s->columns);
  const int64_t corner = s->n * a->H * a->W + own.begin, above = s->row - r, below = s->row + r + 1;
  if (args->grad_input != NULL && own.begin < own.end && above >= s->rows.begin &&
      above < s->rows.end) {
    prefetch_pixels(p, args->grad_input, a->C, a->C, corner + above * a->W, own.end - own.begin, 1);
  }
  struct map_strip next = *s;
  const int64_t begin = segment.end < row_end ? segment.end : s->centres.begin;
  if (segment.end == row_end) next.row++;
  const int64_t count = carafe_min(args->plan.segment, row_end - begin) * S;
  const int64_t pixel = pixel_of(&next, begin);
  if (next.row < carafe_min(a->H, s->rows.end + s->beside)) {
    if (masks) prefetch_pixels(p, args->mask, taps, taps, pixel, count, S);
    if (args->grad_output != NULL) {
      prefetch_pixels(p, args->grad_output, a->C, a->C, pixel, count, S);
    }
  }
  if (masks && next.row >= s->rows.begin && next.row < s->rows.end) {
    prefetch_pixels(p, args->grad_mask, taps, taps, pixel, count, S);
  }
  if (below < carafe_min(a->H, s->rows.end + r)) {
    prefetch_pixels(p, args->input, a->C, a->C, corner - own.begin + segment.begin + below * a->W,
                    segment.end - segment.begin, 1);
  }
}

static inline void walk_strip(struct map_strip *s, const struct steps *steps) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t r = (a->K - 1) / 2, below = carafe_min(a->H, s->rows.end + s->beside);
  int64_t packed = 0;
  steps->begin_strip(s);
  for (s->row = carafe_max(0, s->rows.begin - s->beside); s->row < below; s->row++) {
    s->window = carafe_window(s->row, a->K, a->H);
    s->owned = both_spans(s->window, s->rows);
    if (s->row >= s->rows.begin && s->row < s->rows.end) {
      packed = carafe_max(packed, s->window.begin);
      for (; packed < s->window.end; packed++) steps->pack_row(s, packed);
    }
    for (int64_t j = s->centres.begin; j < s->centres.end; j += s->args->plan.segment) {
      const struct carafe_span segment = {j, carafe_min(j + s->args->plan.segment, s->centres.end)};
      steps->do_segment(s, segment);
    }
    if (steps->store_row == NULL) continue;
    const int64_t stop = s->row + 1 == below ? s->rows.end : s->row - r + 1;
    for (int64_t y = carafe_max(s->row - r, s->rows.begin); y < carafe_min(stop, s->rows.end); y++)
      steps->store_row(s, y);
  }
}

/* The items [begin, end). */
static inline void walk_items(const struct carafe_args *args, int64_t begin, int64_t end,
                              const void *scratch, const struct steps *steps) {
  const struct carafe_shape *a = &args->shape;
  const int64_t beside = args->grad_input != NULL ? (a->K - 1) / 2 : 0;
  while (begin < end) {
    const struct carafe_strip strip = carafe_next_strip(a, &args->cut, &begin, end);
    struct map_strip s = {.args = args,
                          .n = strip.n,
                          .group = strip.group,
                          .groups = strip.groups,
                          .rows = strip.rows,
                          .columns = strip.columns,
                          .beside = beside,
                          .scratch = scratch};
    s.centres.begin = carafe_max(0, s.columns.begin - beside);
    s.centres.end = carafe_min(a->W, s.columns.end + beside);
    if (s.rows.begin < s.rows.end) walk_strip(&s, steps);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_WALK_H_ */

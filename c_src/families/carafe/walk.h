/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_WALK_H_
#define MLUOP_FAMILIES_CARAFE_WALK_H_

/* The walk over a block of the map: row by row of windows, some windows at a time. A block owns the
   grad_input of its pixels, and the output or the grad_mask of the windows around them. To
   grad_input windows beside the block contribute as well. */

#include "families/carafe/job.h"
#include "families/carafe/prefetch.h"

struct block_walk {
  const struct carafe_args *args;
  int64_t n, group, groups;
  struct carafe_span rows, columns; /* that the block owns */
  int64_t beside;                   /* so many windows beside the block contribute to it */
  struct carafe_span centres;       /* columns of those and of its own */
  int64_t row;                      /* of the windows in turn */
  struct carafe_span window, owned; /* rows of the map under them, and those that the block owns */
  struct prefetch prefetch;         /* what is needed after the windows in turn */
  const void *scratch;              /* of the kernel */
};

/* What a kernel does: a block begins; a row of the input comes under the windows; some windows of a
   row are done; to a row of grad_input nothing more will be added (NULL if there is none). */
struct steps {
  void (*begin_block)(const struct block_walk *s);
  void (*pack_row)(const struct block_walk *s, int64_t y);
  void (*do_windows)(struct block_walk *s, struct carafe_span centres);
  void (*store_row)(const struct block_walk *s, int64_t y);
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
static inline int64_t pixel_of(const struct block_walk *s, int64_t j) {
  const struct carafe_shape *a = &s->args->shape;
  return ((s->n * a->H + s->row) * a->S * a->W + j) * a->S;
}

/* While some windows are done: what the next ones need; and, of the same columns, the row of the
   input that is packed next and the row of grad_input that is stored next. */
static inline void prefetch_after(struct block_walk *s, struct carafe_span windows, int masks) {
  const struct carafe_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const int64_t S = a->S, r = (a->K - 1) / 2, taps = a->K * a->K, row_end = s->centres.end;
  struct prefetch *p = &s->prefetch;
  *p = (struct prefetch){.shape = a, .group = s->group, .groups = s->groups};
  if (!args->large) return;
  const struct carafe_span own = both_spans(windows, s->columns);
  const int64_t corner = s->n * a->H * a->W + own.begin, above = s->row - r, below = s->row + r + 1;
  if (args->grad_input != NULL && own.begin < own.end && above >= s->rows.begin &&
      above < s->rows.end) {
    prefetch_pixels(p, args->grad_input, a->C, a->C, corner + above * a->W, own.end - own.begin, 1);
  }
  struct block_walk next = *s;
  const int64_t begin = windows.end < row_end ? windows.end : s->centres.begin;
  if (windows.end == row_end) next.row++;
  const int64_t count = carafe_min(args->plan.windows, row_end - begin) * S;
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
    prefetch_pixels(p, args->input, a->C, a->C, corner - own.begin + windows.begin + below * a->W,
                    windows.end - windows.begin, 1);
  }
}

static inline void walk_block(struct block_walk *s, const struct steps *steps) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t r = (a->K - 1) / 2, below = carafe_min(a->H, s->rows.end + s->beside);
  int64_t packed = 0;
  steps->begin_block(s);
  for (s->row = carafe_max(0, s->rows.begin - s->beside); s->row < below; s->row++) {
    s->window = carafe_window(s->row, a->K, a->H);
    s->owned = both_spans(s->window, s->rows);
    if (s->row >= s->rows.begin && s->row < s->rows.end) {
      packed = carafe_max(packed, s->window.begin);
      for (; packed < s->window.end; packed++) steps->pack_row(s, packed);
    }
    for (int64_t j = s->centres.begin; j < s->centres.end; j += s->args->plan.windows) {
      const struct carafe_span windows = {j, carafe_min(j + s->args->plan.windows, s->centres.end)};
      steps->do_windows(s, windows);
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
    const struct carafe_block block = carafe_next_block(a, &args->cut, &begin, end);
    struct block_walk s = {.args = args,
                           .n = block.n,
                           .group = block.group,
                           .groups = block.groups,
                           .rows = block.rows,
                           .columns = block.columns,
                           .beside = beside,
                           .scratch = scratch};
    s.centres.begin = carafe_max(0, s.columns.begin - beside);
    s.centres.end = carafe_min(a->W, s.columns.end + beside);
    if (s.rows.begin < s.rows.end) walk_block(&s, steps);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_WALK_H_ */

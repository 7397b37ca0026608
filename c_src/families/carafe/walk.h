/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_WALK_H_
#define MLUOP_FAMILIES_CARAFE_WALK_H_

/* The walk over a block of the map: row by row of windows, some windows at a time. A block owns the
   grad_input of its pixels, and the output or the grad_mask of the windows around them. To
   grad_input windows beside the block contribute as well. */

#include "families/carafe/job.h"
#include "families/carafe/prefetch.h"

struct walk {
  const struct carafe_args *args;
  int64_t n, group, groups;          /* image; first group, and how many */
  int64_t channel, channels;         /* of each of them */
  struct carafe_span rows, columns;  /* that the block owns */
  struct carafe_span input;          /* columns under the windows that it owns */
  struct carafe_span centres;        /* columns of the windows that contribute to it */
  int64_t row;                       /* of the windows in turn */
  struct carafe_span window, owned;  /* rows of the map under them, and those that the block owns */
  int64_t packed_row, packed_column; /* of the input: what comes before is packed */
  struct prefetch prefetch;          /* what is needed after the windows in turn */
  const void *scratch;               /* of the kernel */
};

/* What a kernel does: a block begins; the next pixel or row of the input is packed; some windows of
   a row are done; to a row of grad_input nothing more will be added (NULL if there is none). */
struct steps {
  void (*begin_block)(const struct walk *s);
  void (*pack)(struct walk *s);
  void (*do_windows)(struct walk *s, struct carafe_span windows);
  void (*store_row)(const struct walk *s, int64_t y);
};

static inline struct carafe_span both_spans(struct carafe_span a, struct carafe_span b) {
  return (struct carafe_span){carafe_max(a.begin, b.begin), carafe_min(a.end, b.end)};
}

/* Whether the block owns the windows of the row in turn. */
static inline int is_own_row(const struct walk *s) {
  return s->row >= s->rows.begin && s->row < s->rows.end;
}

/* So many windows beside a block contribute to it. */
static inline int64_t windows_beside(const struct walk *s) {
  return s->args->grad_input != NULL ? (s->args->shape.K - 1) / 2 : 0;
}

/* Which of the S x S pixels of a window are in a slice. */
static inline struct carafe_span pixels_of_slice(const struct carafe_shape *a, int64_t slice) {
  const int64_t all = a->S * a->S, slices = carafe_slices(a);
  return (struct carafe_span){all * slice / slices, all * (slice + 1) / slices};
}

/* The first pixel of the output under the window around column j of a row. */
static inline int64_t first_pixel(const struct walk *s, int64_t row, int64_t j) {
  const struct carafe_shape *a = &s->args->shape;
  return ((s->n * a->H + row) * a->S * a->W + j) * a->S;
}

/* `rows` times `count` pixels from number `pixel` on, of a tensor that has `elements` for each
   group, of which `used` are needed. */
static inline void prefetch_pixels(struct walk *s, const void *tensor, int64_t elements,
                                   int64_t used, int64_t pixel, int64_t count, int64_t rows) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t size = a->is_half ? 2 : 4, step = a->G * elements * size;
  const char *first = (const char *)tensor + pixel * step + s->group * elements * size;
  for (int64_t u = 0; u < rows; u++) {
    prefetch_runs(&s->prefetch, first + u * a->S * a->W * step,
                  ((s->groups - 1) * elements + used) * size, count, step);
  }
}

/* While some windows are done, `times` times: what the next ones need; and, of the same columns,
   the row of the input that is packed next and the row of grad_input that is stored next. */
static inline void prefetch_after(struct walk *s, struct carafe_span windows, int masks,
                                  int64_t times) {
  const struct carafe_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, taps = a->K * a->K, map = s->n * a->H * a->W;
  prefetch_nothing(&s->prefetch);
  if (!args->large) return;
  const struct carafe_span own = both_spans(windows, s->columns);
  const int64_t above = s->row - r, below = s->row + r + 1 + (masks && args->output != NULL);
  if (args->grad_input != NULL && own.begin < own.end && above >= s->rows.begin &&
      above < s->rows.end) {
    prefetch_pixels(s, args->grad_input, a->C, a->C, map + above * a->W + own.begin,
                    own.end - own.begin, 1);
  }
  const int is_end = windows.end == s->centres.end;
  const int64_t row = s->row + is_end, begin = is_end ? s->centres.begin : windows.end;
  const int64_t count = carafe_min(args->plan.windows, s->centres.end - begin) * a->S;
  const int64_t pixel = first_pixel(s, row, begin);
  if (row < carafe_min(a->H, s->rows.end + windows_beside(s))) {
    if (masks) prefetch_pixels(s, args->mask, taps, taps, pixel, count, a->S);
    if (args->grad_output != NULL) {
      prefetch_pixels(s, args->grad_output, a->C, a->C, pixel, count, a->S);
    }
  }
  if (masks && args->grad_mask != NULL && row >= s->rows.begin && row < s->rows.end) {
    prefetch_pixels(s, args->grad_mask, taps, taps, pixel, count, a->S);
  }
  if (below < carafe_min(a->H, s->rows.end + r)) {
    prefetch_pixels(s, mluop_at(args->input, s->channel, a->is_half), a->C, s->channels,
                    map + below * a->W + windows.begin, windows.end - windows.begin, 1);
  }
  s->prefetch.at_once = carafe_div_up(s->prefetch.lines, carafe_max(1, times));
}

static inline void walk_block(struct walk *s, const struct steps *steps) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t r = (a->K - 1) / 2, below = carafe_min(a->H, s->rows.end + windows_beside(s));
  s->packed_row = carafe_window(s->rows.begin, a->K, a->H).begin;
  s->packed_column = s->input.begin;
  steps->begin_block(s);
  for (s->row = carafe_max(0, s->rows.begin - windows_beside(s)); s->row < below; s->row++) {
    s->window = carafe_window(s->row, a->K, a->H);
    s->owned = both_spans(s->window, s->rows);
    while (is_own_row(s) && s->packed_row < s->window.end) steps->pack(s);
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

/* The block that item *begin is in, with the rows of those before `end`; *begin becomes the next
   item. */
static inline struct walk next_block(const struct carafe_args *args, int64_t *begin, int64_t end) {
  const struct carafe_shape *a = &args->shape;
  const struct carafe_plan *cut = &args->plan;
  const int64_t parts = carafe_div_up(a->C, cut->channels);
  const int64_t ranges = carafe_div_up(a->G, cut->groups) * parts; /* of channels */
  const int64_t across = carafe_div_up(a->W, cut->columns), down = carafe_div_up(a->H, cut->rows);
  const int64_t block = *begin / cut->rows, range = block % ranges, band = block / ranges / across;
  struct walk s = {.args = args,
                   .n = band / down,
                   .group = range / parts * cut->groups,
                   .channel = range % parts * cut->channels};
  s.groups = carafe_min(cut->groups, a->G - s.group);
  s.channels = carafe_min(cut->channels, a->C - s.channel);
  s.columns.begin = block / ranges % across * cut->columns;
  s.columns.end = carafe_min(a->W, s.columns.begin + cut->columns);
  s.input.begin = carafe_window(s.columns.begin, a->K, a->W).begin;
  s.input.end = carafe_window(s.columns.end - 1, a->K, a->W).end;
  s.centres.begin = carafe_max(0, s.columns.begin - windows_beside(&s));
  s.centres.end = carafe_min(a->W, s.columns.end + windows_beside(&s));
  const int64_t stop = carafe_min(end, (block + 1) * cut->rows);
  s.rows.begin = band % down * cut->rows + *begin % cut->rows;
  s.rows.end = carafe_min(a->H, s.rows.begin + stop - *begin);
  *begin = stop;
  return s;
}

/* The items [begin, end). */
static inline void walk_items(const struct carafe_args *args, int64_t begin, int64_t end,
                              const void *scratch, const struct steps *steps) {
  while (begin < end) {
    struct walk s = next_block(args, &begin, end);
    s.scratch = scratch;
    if (s.rows.begin < s.rows.end) walk_block(&s, steps);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_WALK_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_WALK_H_
#define MLUOP_FAMILIES_CARAFE_WALK_H_

/* The walk over a block of the map: row by row of windows, some windows at a time. A block owns the
   grad_input of its pixels, and the output or the grad_mask of the windows around them. To
   grad_input windows beside the block contribute as well. */

#include "families/carafe/job.h"

struct walk {
  const struct carafe_args *args;
  int64_t n;                         /* image */
  struct carafe_span groups;         /* of the block */
  int64_t channel;                   /* the first one of each of them that is done in turn */
  struct carafe_span rows, columns;  /* that the block owns */
  int64_t row;                       /* of the windows in turn */
  struct carafe_span windows;        /* in turn: columns of their centres */
  int64_t packed_row, packed_column; /* of the input: what comes before is packed */
  float *ring;                       /* of the rows of the input under the windows */
  void *scratch;                     /* other memory of the kernel */
};

/* So many channels of each group are done in turn. */
static inline int64_t channels_of(const struct walk *s) {
  return mluop_min(s->args->plan.channels, s->args->C - s->channel);
}

/* Rows of the map under the windows in turn. */
static inline struct carafe_span rows_seen(const struct walk *s) {
  return carafe_window(s->row, s->args->K, s->args->H);
}

/* Columns of the map under the windows that the block owns. */
static inline struct carafe_span columns_seen(const struct walk *s) {
  const int64_t K = s->args->K, W = s->args->W;
  return (struct carafe_span){carafe_window(s->columns.begin, K, W).begin,
                              carafe_window(s->columns.end - 1, K, W).end};
}

/* Whether the block owns the windows of the row in turn. */
static inline int is_own_row(const struct walk *s) {
  return s->row >= s->rows.begin && s->row < s->rows.end;
}

/* Rows or columns of the windows that contribute to the block, of a map that has `extent`. */
static inline struct carafe_span centres_of(const struct walk *s, struct carafe_span own,
                                            int64_t extent) {
  const int64_t beside = s->args->output == NULL ? (s->args->K - 1) / 2 : 0;
  return carafe_both((struct carafe_span){0, extent},
                     (struct carafe_span){own.begin - beside, own.end + beside});
}

/* Whether the windows in turn are the last of their row. */
static inline int ends_row(const struct walk *s) {
  return s->windows.end == centres_of(s, s->columns, s->args->W).end;
}

/* Rows of the block to which the windows in turn are the last that contribute. */
static inline struct carafe_span rows_complete(const struct walk *s) {
  const int64_t above = s->row - (s->args->K - 1) / 2;
  const int is_last = s->row + 1 == centres_of(s, s->rows, s->args->H).end;
  if (!ends_row(s)) return (struct carafe_span){0, 0};
  return carafe_both(s->rows, (struct carafe_span){above, is_last ? s->rows.end : above + 1});
}

/* The first pixel of the output under the window around column j of a row. */
static inline int64_t first_pixel(const struct walk *s, int64_t row, int64_t j) {
  const struct carafe_args *a = s->args;
  return ((s->n * a->H + row) * a->S * a->W + j) * a->S;
}

/* The block that item *begin is in, with the rows of those before `end`; *begin becomes the next
   item. Items below the map have no work. */
static inline struct walk next_block(const struct carafe_args *a, int64_t *begin, int64_t end) {
  const int64_t parts = a->output != NULL ? mluop_div_up(a->C, a->plan.channels) : 1;
  const int64_t ranges = mluop_div_up(a->G, a->plan.groups) * parts; /* of channels */
  const int64_t across = mluop_div_up(a->W, a->plan.columns),
                down = mluop_div_up(a->H, a->plan.rows);
  const int64_t block = *begin / a->plan.rows, range = block % ranges,
                band = block / ranges / across;
  const int64_t stop = mluop_min(end, (block + 1) * a->plan.rows);
  struct walk s = {.args = a, .n = band / down, .channel = range % parts * a->plan.channels};
  s.groups.begin = range / parts * a->plan.groups;
  s.groups.end = mluop_min(a->G, s.groups.begin + a->plan.groups);
  s.columns.begin = block / ranges % across * a->plan.columns;
  s.columns.end = mluop_min(a->W, s.columns.begin + a->plan.columns);
  s.rows.begin = band % down * a->plan.rows + *begin % a->plan.rows;
  s.rows.end = mluop_min(a->H, s.rows.begin + stop - *begin);
  s.row = s.rows.begin < s.rows.end ? centres_of(&s, s.rows, a->H).begin - 1 : a->H;
  s.windows.end = centres_of(&s, s.columns, a->W).end;
  s.packed_row = carafe_window(s.rows.begin, a->K, a->H).begin;
  s.packed_column = columns_seen(&s).begin;
  *begin = stop;
  return s;
}

/* Moves on. Returns 0 after the last windows of the block. */
static inline int next_windows(struct walk *s) {
  const struct carafe_span centres = centres_of(s, s->columns, s->args->W);
  if (s->windows.end == centres.end) {
    s->windows.end = centres.begin;
    s->row++;
  }
  s->windows.begin = s->windows.end;
  s->windows.end = mluop_min(s->windows.begin + s->args->plan.windows, centres.end);
  return s->row < centres_of(s, s->rows, s->args->H).end;
}

#endif /* MLUOP_FAMILIES_CARAFE_WALK_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_JOB_H_
#define MLUOP_FAMILIES_CARAFE_JOB_H_

/* What forward and backward share: shapes, and how a job is cut into items. */

#include <stdint.h>

/* Input [N, H, W, G*C] and output [N, S*H, S*W, G*C] have G groups of C channels; the mask is
   [N, S*H, S*W, G, K, K]. Output pixel (p, q) has the K x K window of the input around
   (p / S, q / S). */
struct carafe_shape {
  int64_t N, H, W, C, G, K, S;
  int is_half;
};

struct carafe_span {
  int64_t begin, end;
};

/* An item is a row of a block: of some columns and rows of the map, for the channels of some whole
   groups, or a part of one. Items of a block follow each other: what is in the caches for one
   serves the next. */
struct carafe_cut {
  int64_t groups, channels; /* of a full block; channels: of each group */
  int64_t columns, rows;
};

/* The rows of a block that a thread does, one after the other. */
struct carafe_block {
  int64_t n, group, groups;  /* image; first group, and how many */
  int64_t channel, channels; /* of each of them */
  struct carafe_span rows, columns;
};

/* How the work of a call is done; 0 where it is not of a kernel. */
struct carafe_plan {
  int64_t part, parts;  /* backward: a group's channels, in parts of at most so many */
  int64_t windows;      /* windows of a row that are done together */
  int64_t plane;        /* small_channels: floats of a channel of a row; */
  int64_t spread;       /* and 0, or the lanes of a vector, if columns have vectors of groups */
  int64_t total_rows;   /* two-level sums: 0, or rows of windows that are summed together; */
  int64_t total_slices; /* and slices of the pixels of a window */
};

/* A call. Of the forward, the gradients are NULL; of the backward, the output. */
struct carafe_args {
  struct carafe_shape shape;
  const void *input, *mask, *grad_output;
  void *output, *grad_input, *grad_mask;
  int large; /* the tensors exceed the caches */
  struct carafe_cut cut;
  struct carafe_plan plan;
};

/* Channels that are done together, of one group or several. */
enum { CARAFE_ITEM_CHANNELS = 256 };

/* Rounding errors grow with the length of a sum: longer ones are made in two levels, as sums of
   sums of about this length. */
enum { CARAFE_SUM_LENGTH = 128, CARAFE_FORWARD_K = 45 };

/* Channels of a group are padded to this in packed rows: a multiple of every vector. */
enum { CARAFE_PAD = 16 };

/* Output pixels that are done together; where S > 1, they are under one window. */
enum { CARAFE_TILE = 4 };

static inline int64_t carafe_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t carafe_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t carafe_div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t carafe_padded(int64_t channels) {
  return carafe_div_up(channels, CARAFE_PAD) * CARAFE_PAD;
}

/* Items of the job, those below the map included. */
static inline int64_t carafe_items(const struct carafe_shape *a, const struct carafe_cut *cut) {
  return a->N * carafe_div_up(a->H, cut->rows) * carafe_div_up(a->W, cut->columns) *
         carafe_div_up(a->G, cut->groups) * carafe_div_up(a->C, cut->channels) * cut->rows;
}

/* The block that item *begin is in, with the rows of those before `end`; *begin becomes the next
   item. */
static inline struct carafe_block carafe_next_block(const struct carafe_shape *a,
                                                    const struct carafe_cut *cut, int64_t *begin,
                                                    int64_t end) {
  const int64_t parts = carafe_div_up(a->C, cut->channels);
  const int64_t ranges = carafe_div_up(a->G, cut->groups) * parts; /* of channels */
  const int64_t across = carafe_div_up(a->W, cut->columns), down = carafe_div_up(a->H, cut->rows);
  const int64_t block = *begin / cut->rows, range = block % ranges, band = block / ranges / across;
  struct carafe_block s = {.n = band / down,
                           .group = range / parts * cut->groups,
                           .channel = range % parts * cut->channels};
  s.groups = carafe_min(cut->groups, a->G - s.group);
  s.channels = carafe_min(cut->channels, a->C - s.channel);
  s.columns.begin = block / ranges % across * cut->columns;
  s.columns.end = carafe_min(a->W, s.columns.begin + cut->columns);
  const int64_t stop = carafe_min(end, (block + 1) * cut->rows);
  s.rows.begin = band % down * cut->rows + *begin % cut->rows;
  s.rows.end = carafe_min(a->H, s.rows.begin + stop - *begin);
  *begin = stop;
  return s;
}

/* The rows of the map under the windows of a row are kept in rings of so many. */
static inline int64_t carafe_slots(const struct carafe_shape *a) { return carafe_min(a->K, a->H); }

/* What is up to r = (K - 1) / 2 away from `at` and lies on the map. */
static inline struct carafe_span carafe_window(int64_t at, int64_t K, int64_t extent) {
  const int64_t r = (K - 1) / 2;
  return (struct carafe_span){carafe_max(0, at - r), carafe_min(extent, at + r + 1)};
}

/* The S x S pixels of a window are cut into slices of 3 or 4 (of 1, if S is 1). */
static inline int64_t carafe_slices(const struct carafe_shape *a) {
  return carafe_div_up(a->S * a->S, CARAFE_TILE);
}

static inline struct carafe_span carafe_slice(const struct carafe_shape *a, int64_t slice) {
  const int64_t all = a->S * a->S, slices = carafe_slices(a);
  return (struct carafe_span){all * slice / slices, all * (slice + 1) / slices};
}

#endif /* MLUOP_FAMILIES_CARAFE_JOB_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_JOB_H_
#define MLUOP_FAMILIES_CARAFE_JOB_H_

/* What all kernels share: a call, and how its job is cut into items. */

#include "core/kernel.h"

struct carafe_span {
  int64_t begin, end;
};

struct layout_args;

/* Where the tensors fit. Those that fill half of the caches are prefetched from memory; the output
   of larger ones goes past the caches. */
enum carafe_tensors { CARAFE_IN_CACHES, CARAFE_FILL_CACHES, CARAFE_EXCEED_CACHES };

/* How the work of a call is cut. An item is a row of a block: of some columns and rows of the map,
   for some whole groups, or (forward) a part of one. Items of a block follow each other: what is in
   the caches for one serves the next. */
struct carafe_plan {
  int64_t groups, columns, rows; /* of a full block */
  int64_t channels;              /* of each of its groups that are done together */
  int64_t windows;               /* of a row that are done together */
  int64_t rotation; /* forward: -1, or elements that the output begins after a line: store.h */
  enum carafe_tensors tensors;
  struct layout_args *planes; /* forward: NULL, or how the output becomes NCHW: nchw.h */
};

/* A call. Input [N, H, W, G*C] and output [N, S*H, S*W, G*C] have G groups of C channels; the mask
   is [N, S*H, S*W, G, K, K]. Output pixel (p, q) has the K x K window of the input around
   (p / S, q / S). */
struct carafe_args {
  int64_t N, H, W, C, G, K, S;
  int is_half;
  const void *input, *mask;
  void *output; /* of the backward: NULL */
  struct carafe_plan plan;
};

/* A call of the backward. */
struct carafe_backward_args {
  struct carafe_args both; /* what the forward has, too */
  const void *grad_output;
  void *grad_input, *grad_mask;
};

/* Those whose first member `a` is. */
static inline const struct carafe_backward_args *carafe_backward_of(const struct carafe_args *a) {
  return (const void *)a;
}

/* Channels that are done together, of one group or several. */
enum { CARAFE_ITEM_CHANNELS = 256 };

/* Rounding errors grow with the length of a sum: longer ones are made in two levels, as sums of
   sums of about this length: in the forward, of whole rows of a window. An element of grad_input
   that gets more contributions than CARAFE_SUM_TERMS has them added up by so many first. */
enum { CARAFE_SUM_LENGTH = 128, CARAFE_SUM_TERMS = 1024 };

/* The largest windows. */
enum { CARAFE_FORWARD_K = 45, CARAFE_BACKWARD_K = 137, CARAFE_SMALL_BACKWARD_K = 11 };

/* Channels of a group are padded to this in packed rows: a multiple of every vector. */
enum { CARAFE_PAD = 16 };

/* Output pixels that are done together; where S > 1, they are under one window. */
enum { CARAFE_TILE = 4 };

static inline int64_t carafe_padded(int64_t n) { return mluop_div_up(n, CARAFE_PAD) * CARAFE_PAD; }

static inline struct carafe_span carafe_both(struct carafe_span a, struct carafe_span b) {
  return (struct carafe_span){mluop_max(a.begin, b.begin), mluop_min(a.end, b.end)};
}

/* What is up to r = (K - 1) / 2 away from `at` and lies on the map. */
static inline struct carafe_span carafe_window(int64_t at, int64_t K, int64_t extent) {
  const int64_t r = (K - 1) / 2;
  return (struct carafe_span){mluop_max(0, at - r), mluop_min(extent, at + r + 1)};
}

/* Elements of a cache line. */
static inline int64_t carafe_line_elements(const struct carafe_args *a) {
  return a->is_half ? 2 * CARAFE_PAD : CARAFE_PAD;
}

/* The S x S pixels of a window are cut into slices of 3 or 4 (of 1, if S is 1). */
static inline int64_t carafe_slices(const struct carafe_args *a) {
  return mluop_div_up(a->S * a->S, CARAFE_TILE);
}

static inline struct carafe_span carafe_slice(const struct carafe_args *a, int64_t slice) {
  const int64_t all = a->S * a->S, slices = carafe_slices(a);
  return (struct carafe_span){all * slice / slices, all * (slice + 1) / slices};
}

#endif /* MLUOP_FAMILIES_CARAFE_JOB_H_ */

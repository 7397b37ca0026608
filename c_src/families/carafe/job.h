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

/* How the work of a call is done; 0 where it is not of a kernel. An item is a row of a block: of
   some columns and rows of the map, for the channels of some whole groups, or a part of one. Items
   of a block follow each other: what is in the caches for one serves the next. */
struct carafe_plan {
  int64_t groups, channels; /* of a full block; channels: of each group */
  int64_t columns, rows;
  int64_t windows;      /* windows of a row that are done together */
  int64_t rotation;     /* forward: -1, or elements that the output begins after a line: store.h */
  int64_t part;         /* backward: channels of a group that are summed together */
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
  struct carafe_plan plan;
};

/* Channels that are done together, of one group or several. */
enum { CARAFE_ITEM_CHANNELS = 256 };

/* Rounding errors grow with the length of a sum: longer ones are made in two levels, as sums of
   sums of about this length. */
enum { CARAFE_SUM_LENGTH = 128 };

/* The largest windows. */
enum { CARAFE_FORWARD_K = 45, CARAFE_BACKWARD_K = 137, CARAFE_SMALL_BACKWARD_K = 11 };

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

/* What is up to r = (K - 1) / 2 away from `at` and lies on the map. */
static inline struct carafe_span carafe_window(int64_t at, int64_t K, int64_t extent) {
  const int64_t r = (K - 1) / 2;
  return (struct carafe_span){carafe_max(0, at - r), carafe_min(extent, at + r + 1)};
}

/* Elements of a cache line. */
static inline int64_t carafe_line_elements(const struct carafe_shape *shape) {
  return shape->is_half ? 2 * CARAFE_PAD : CARAFE_PAD;
}

/* The S x S pixels of a window are cut into slices of 3 or 4 (of 1, if S is 1). */
static inline int64_t carafe_slices(const struct carafe_shape *a) {
  return carafe_div_up(a->S * a->S, CARAFE_TILE);
}

#endif /* MLUOP_FAMILIES_CARAFE_JOB_H_ */

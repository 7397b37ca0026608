/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/masked_col2im.h"

#include "kernels/pick.h"

/* Where positions ascend, the columns of a stretch of the map are neighbours: im is written once,
   from its begin to its end, zeros included. Each vector of it is described once for all channels:
   which elements have a column, and which are zero. */

enum { BLOCKS = MASKED_COL2IM_CHUNK_BYTES / PICK_BYTES + 2 /* see chunk_begin */ };

struct block {
  int64_t at; /* the first element of the plane */
  uint32_t keep;
  struct pick pick; /* from a row of col */
  int32_t offsets[PICK_LANES_MAX];
};

struct chunk {
  int64_t begin, elements;
  int64_t count; /* of blocks */
  int64_t lanes; /* elements in each block: fewer than fit only if the plane is so small */
  struct block blocks[BLOCKS];
};

static int64_t position(const struct masked_col2im_args *a, int64_t m) {
  return a->mask_h_idx[m] * a->W + a->mask_w_idx[m];
}

/* The first column whose position is `at` or later. */
static int64_t find_column(const struct masked_col2im_args *a, int64_t at) {
  int64_t low = 0, high = a->M;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (position(a, middle) < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Returns the first column after the block. */
static int64_t describe_block(const struct masked_col2im_args *a, struct block *b, int64_t at,
                              int64_t lanes, int64_t m) {
  b->at = at;
  b->keep = 0;
  b->pick.first = m;
  memset(b->pick.index, 0, sizeof(b->pick.index));
  memset(b->offsets, 0, sizeof(b->offsets));
  int64_t rank = 0;
  for (; m + rank < a->M; rank++) {
    const int64_t k = position(a, m + rank) - at;
    if (k >= lanes) break;
    b->keep |= UINT32_C(1) << k;
    b->pick.index[k] = (uint8_t)rank;
    b->offsets[k] = (int32_t)(m + rank);
  }
  return m + rank;
}

/* The first element of a chunk. Chunks are nearly equal, so that none is shorter than a block (but
   for a single one), and begin with a line where im does: up to PICK_LANES_MAX - 1 elements early.
 */
static int64_t chunk_begin(const struct masked_col2im_args *a, int64_t number) {
  const int64_t plane = a->H * a->W;
  return number < a->chunks ? number * plane / a->chunks / PICK_LANES_MAX * PICK_LANES_MAX : plane;
}

static void describe_chunk(const struct masked_col2im_args *a, struct chunk *c, int64_t number) {
  const int64_t full = pick_lanes(a->element_size);
  const int64_t begin = chunk_begin(a, number), end = chunk_begin(a, number + 1);
  c->begin = begin;
  c->elements = end - begin;
  c->count = (end - begin + full - 1) / full;
  c->lanes = end - begin < full ? end - begin : full;
  int64_t m = find_column(a, begin);
  for (int64_t i = 0; i < c->count; i++) {
    int64_t at = begin + i * full;
    if (at + c->lanes > end) {
      /* The last block may share elements with the one before it: both write the same. */
      at = end - c->lanes;
      m = find_column(a, at);
    }
    m = describe_block(a, &c->blocks[i], at, c->lanes, m);
  }
}

MLUOP_INLINE void move_chunk(const struct masked_col2im_args *a, const struct chunk *c,
                             int64_t channel, int64_t size) {
  char buffer[BLOCKS * PICK_BYTES];
  const int64_t row = channel * a->M * size;
  char *out = (char *)a->im + (channel * a->H * a->W + c->begin) * size;
  const int64_t left = (a->C - channel) * a->M; /* elements of col from the row on */
  const int direct = !a->stream && c->elements * size >= PICK_BYTES;
  char *to = direct ? out : buffer;
  for (int64_t i = 0; i < c->count; i++) {
    const struct block *b = &c->blocks[i];
    char *here = to + (b->at - c->begin) * size;
    if (b->keep == 0) {
      memset(here, 0, PICK_BYTES);
    } else if (b->pick.first + pick_lanes(size) <= left) {
      pick_elements(here, &b->pick, (const char *)a->col + row + b->pick.first * size, b->keep, 1,
                    size);
    } else {
      gather_elements(here, (const char *)a->col + row, b->offsets, 0, b->keep, size);
    }
  }
  if (!direct) stream_bytes(out, buffer, c->elements * size);
}

void MLUOP_VARIANT(masked_col2im_ascending)(const void *vargs, int64_t begin, int64_t end,
                                            void *scratch) {
  (void)scratch;
  const struct masked_col2im_args *a = vargs;
  struct chunk chunk;
  for (int64_t item = begin; item < end; item++) {
    if (item == begin || item % a->C == 0) describe_chunk(a, &chunk, item / a->C);
    if (a->element_size == 2) {
      move_chunk(a, &chunk, item % a->C, 2);
    } else {
      move_chunk(a, &chunk, item % a->C, 4);
    }
  }
  if (a->stream) vf_stream_end();
}

MLUOP_INLINE void scatter(const struct masked_col2im_args *a, int64_t channel, int64_t size) {
  enum { STRETCH = 256 };
  int64_t at[STRETCH];
  char *plane = (char *)a->im + channel * a->H * a->W * size;
  memset(plane, 0, (size_t)(a->H * a->W * size));
  for (int64_t m = 0; m < a->M; m += STRETCH) {
    const char *from = (const char *)a->col + (channel * a->M + m) * size;
    const int64_t count = a->M - m < STRETCH ? a->M - m : STRETCH;
    for (int64_t k = 0; k < count; k++) at[k] = position(a, m + k);
    for (int64_t k = 0; k < count; k++) {
      memcpy(plane + at[k] * size, from + k * size, (size_t)size);
    }
  }
}

void MLUOP_VARIANT(masked_col2im_any)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  (void)scratch;
  const struct masked_col2im_args *a = vargs;
  for (int64_t channel = begin; channel < end; channel++) {
    if (a->element_size == 2) {
      scatter(a, channel, 2);
    } else {
      scatter(a, channel, 4);
    }
  }
}

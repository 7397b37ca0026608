/* SPDX-License-Identifier: Apache-2.0 */
#include "families/masked/blocks.h"
#include "families/masked/kernels.h"

/* Where positions are sorted, the columns of a stretch of the map are neighbours: im is written
   once, block by block, zeros included. */

enum block_kind {
  BLOCK_FULL,    /* every element has a column: a copy */
  BLOCK_SCATTER, /* cleared, then the columns are put in one by one */
  BLOCK_PICKS    /* vectors are made of the columns and zeros */
};

struct map_vector {
  uint32_t keep;    /* elements that have a column */
  struct pick pick; /* from a row of col */
  int32_t offsets[PICK_LANES_MAX];
};

struct map_block {
  enum block_kind kind;
  int64_t begin, elements;
  int64_t first, columns; /* of col */
  const int32_t *places;  /* of the columns */
  struct map_vector vectors[BLOCK_VECTORS];
};

/* The first column in [low, M) whose position is `at` or later, or M. */
static int64_t find_column(const struct masked_args *a, int64_t at, int64_t low) {
  int64_t high = a->M;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (a->plan.places[middle] < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void describe_vectors(struct map_block *c, int64_t full) {
  int64_t rank = 0; /* the first column of the block that is not before the vector */
  struct map_vector *b = c->vectors;
  for (int64_t end = full; end < c->elements + full; end += full, b++) {
    b->keep = 0;
    b->pick.first = c->first + rank;
    memset(b->pick.index, 0, sizeof(b->pick.index));
    for (int64_t lane = 0; rank < c->columns && c->places[rank] - c->begin < end; rank++, lane++) {
      const int64_t k = c->places[rank] - c->begin - (end - full);
      b->keep |= UINT32_C(1) << k;
      b->pick.index[k] = (uint8_t)lane;
      b->offsets[k] = (int32_t)(c->first + rank);
    }
  }
}

/* Where so few channels follow each other, or only one element in so many has a column, describing
   and making vectors takes longer than stores. */
enum { FEW_CHANNELS = 4, SPARSE = 12 };

static enum block_kind kind_of(const struct masked_args *a, const struct map_block *c,
                               int64_t channels) {
  if (!a->plan.sorted) return BLOCK_SCATTER;
  if (c->columns == c->elements) return BLOCK_FULL;
  const int many = channels > FEW_CHANNELS && c->columns * SPARSE > c->elements;
  return PICK_SHUFFLES && many ? BLOCK_PICKS : BLOCK_SCATTER;
}

static void describe_block(const struct masked_args *a, struct map_block *c, int64_t number,
                           int64_t channels) {
  const int64_t end = block_begin(a, number + 1);
  c->begin = block_begin(a, number);
  c->elements = end - c->begin;
  c->first = a->plan.sorted ? find_column(a, c->begin, 0) : 0;
  c->columns = (a->plan.sorted ? find_column(a, end, c->first) : a->M) - c->first;
  c->places = a->plan.places + c->first;
  c->kind = kind_of(a, c, channels);
  if (c->kind == BLOCK_PICKS) describe_vectors(c, pick_lanes(a->element_size));
}

/* `left`: elements of col from the row on. */
MLUOP_INLINE void make_vector(const struct map_vector *b, const char *row, int64_t left, char *to,
                              int64_t size) {
  if (b->keep == 0) {
    memset(to, 0, PICK_BYTES);
  } else if (b->pick.first + pick_lanes(size) <= left) {
    pick_elements(to, &b->pick, row + b->pick.first * size, b->keep, 1, size);
  } else {
    gather_elements(to, row, left, b->offsets, 0, b->keep, size);
  }
}

MLUOP_INLINE void make_vectors(const struct map_block *c, const char *row, int64_t left, char *to,
                               int64_t size) {
  const struct map_vector *b = c->vectors;
  const char *const end = to + c->elements * size;
  for (; to + PICK_BYTES <= end; to += PICK_BYTES) make_vector(b++, row, left, to, size);
  if (to == end) return;
  char rest[PICK_BYTES];
  make_vector(b, row, left, rest, size);
  memcpy(to, rest, (size_t)(end - to));
}

/* `begin`: the place of the first element of `to`. (An address before that would be none in C.) */
MLUOP_INLINE void scatter(char *to, int64_t begin, const char *from, const int32_t *places,
                          int64_t count, int64_t size) {
  const uintptr_t origin = (uintptr_t)to - (uintptr_t)(begin * size);
  for (int64_t k = 0; k < count; k++) {
    memcpy((void *)(origin + (uintptr_t)(places[k] * size)), from + k * size, (size_t)size);
  }
}

MLUOP_INLINE void move_block(const struct masked_args *a, const struct map_block *c,
                             int64_t channel, int64_t size) {
  char buffer[BLOCK_VECTORS * PICK_BYTES];
  const int64_t bytes = c->elements * size;
  const char *row = (const char *)a->source + channel * a->M * size, *from = row + c->first * size;
  char *out = (char *)a->target + (channel * a->plan.row + c->begin) * size;
  char *to = a->plan.stream ? buffer : out;
  if (c->kind == BLOCK_PICKS) {
    make_vectors(c, row, (a->C - channel) * a->M, to, size);
  } else if (c->kind == BLOCK_SCATTER) {
    clear_bytes(to, bytes);
    scatter(to, c->begin, from, c->places, c->columns, size);
  } else if (!a->plan.stream) {
    memcpy(to, from, (size_t)bytes);
  }
  if (!a->plan.stream) return;
  if (channel + 1 < a->C) mluop_prefetch_bytes(from, a->M * size, c->columns * size);
  stream_bytes(out, c->kind == BLOCK_FULL ? from : buffer, bytes);
}

static void do_block(const struct masked_args *a, int64_t number, int64_t begin, int64_t end) {
  struct map_block block;
  describe_block(a, &block, number, end - begin);
  for (int64_t channel = begin; channel < end; channel++) {
    if (a->element_size == 2) {
      move_block(a, &block, channel, 2);
    } else {
      move_block(a, &block, channel, 4);
    }
  }
}

void MLUOP_VARIANT(masked_col2im_forward)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  (void)scratch;
  do_blocks(vargs, begin, end, do_block);
}

void MLUOP_VARIANT(masked_col2im_locate)(const void *vargs, int64_t begin, int64_t end,
                                         void *scratch) {
  (void)scratch;
  const struct masked_args *a = vargs;
  const int32_t *h = a->mask_h_idx, *w = a->mask_w_idx;
  int32_t *restrict places = a->plan.places;
  const uint32_t W = (uint32_t)a->W, last_h = (uint32_t)(a->H - 1), last_w = W - 1;
  uint32_t out = 0, unordered = 0;
  for (int64_t m = begin; m < end; m++) {
    out |= (uint32_t)((uint32_t)h[m] > last_h) | (uint32_t)((uint32_t)w[m] > last_w);
    unordered |=
        (uint32_t)(h[m] < h[m - 1]) | ((uint32_t)(h[m] == h[m - 1]) & (uint32_t)(w[m] <= w[m - 1]));
    places[m] = (int32_t)((uint32_t)h[m] * W + (uint32_t)w[m]);
  }
  const uint32_t seen = (out ? MASKED_OUT_OF_MAP : 0) | (unordered ? MASKED_UNORDERED : 0);
  if (seen) __atomic_fetch_or(a->plan.seen, seen, __ATOMIC_RELAXED);
}

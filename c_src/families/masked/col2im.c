/* SPDX-License-Identifier: Apache-2.0 */
#include "families/masked/col2im.h"

#include "families/masked/kernels.h"
#include "shared/pick.h"

/* Where positions are sorted, the columns of a stretch of the map are neighbours: im is written
   once, stretch by stretch, zeros included. What a block of the map looks like is found once for
   all channels. */

enum {
  VECTORS = MASKED_COL2IM_BLOCK_BYTES / PICK_BYTES + 2, /* see block_begin */
  ELEMENTS_MAX = VECTORS * PICK_LANES_MAX
};

enum block_kind {
  BLOCK_FULL,    /* every element has a column: a copy */
  BLOCK_SCATTER, /* cleared, then the columns are put in one by one */
  BLOCK_VECTORS  /* vectors are made of the columns and zeros */
};

struct map_vector {
  int64_t at; /* the first element, from the begin of the block on */
  uint32_t keep;
  struct pick pick; /* from a row of col */
  int32_t offsets[PICK_LANES_MAX];
};

struct map_block {
  enum block_kind kind;
  int64_t begin, elements;
  int64_t first, columns;       /* of col */
  uint16_t place[ELEMENTS_MAX]; /* of each column, from the begin of the block on */
  int64_t count;                /* of vectors */
  int64_t lanes; /* elements in each vector: fewer than fit only if the plane is so small */
  struct map_vector vectors[VECTORS];
};

static int64_t position(const struct masked_col2im_args *a, int64_t m) {
  return a->call.mask_h_idx[m] * a->call.W + a->call.mask_w_idx[m];
}

/* The first column in [low, high) whose position is `at` or later, or `high`. */
static int64_t find_column(const struct masked_col2im_args *a, int64_t at, int64_t low,
                           int64_t high) {
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

/* `rank`: the first column of the block that is not before the vector. Returns the first after it.
 */
static int64_t describe_vector(const struct map_block *c, struct map_vector *b, int64_t at,
                               int64_t rank) {
  b->at = at;
  b->keep = 0;
  b->pick.first = c->first + rank;
  memset(b->pick.index, 0, sizeof(b->pick.index));
  int64_t lane = 0;
  for (; rank < c->columns && c->place[rank] < at + c->lanes; rank++, lane++) {
    const int64_t k = c->place[rank] - at;
    b->keep |= UINT32_C(1) << k;
    b->pick.index[k] = (uint8_t)lane;
    b->offsets[k] = (int32_t)(c->first + rank);
  }
  return rank;
}

static void describe_vectors(struct map_block *c, int64_t full) {
  c->count = (c->elements + full - 1) / full;
  c->lanes = c->elements < full ? c->elements : full;
  int64_t rank = 0;
  for (int64_t i = 0; i < c->count; i++) {
    int64_t at = i * full;
    if (at + c->lanes > c->elements) {
      /* The last vector may share elements with the one before it: both write the same. */
      at = c->elements - c->lanes;
      while (rank > 0 && c->place[rank - 1] >= at) rank--;
    }
    rank = describe_vector(c, &c->vectors[i], at, rank);
  }
}

/* Vectors cost as much as so many stores, describing them as much as so many for each column. */
enum { COST_OF_VECTOR = 4, COST_OF_DESCRIPTION = 4 };

static enum block_kind choose_kind(const struct map_block *c, int64_t channels, int64_t full) {
  if (c->columns == c->elements) return BLOCK_FULL;
  if (!PICK_SHUFFLES) return BLOCK_SCATTER;
  const int64_t vectors = c->elements / full * COST_OF_VECTOR * channels;
  return c->columns * (channels - COST_OF_DESCRIPTION) < vectors ? BLOCK_SCATTER : BLOCK_VECTORS;
}

/* The first element of a block. Blocks are nearly equal, so that none is shorter than a vector
   (but for a single one), and begin with a line where im does: up to PICK_LANES_MAX - 1 elements
   early.
 */
static int64_t block_begin(const struct masked_col2im_args *a, int64_t number) {
  const int64_t plane = a->call.H * a->call.W;
  return number < a->blocks ? number * plane / a->blocks / PICK_LANES_MAX * PICK_LANES_MAX : plane;
}

/* `first`: the first column of the block, if it is known, else -1. */
static void describe_block(const struct masked_col2im_args *a, struct map_block *c, int64_t number,
                           int64_t first, int64_t channels) {
  const int64_t full = pick_lanes(a->call.element_size);
  const int64_t begin = block_begin(a, number), end = block_begin(a, number + 1);
  c->begin = begin;
  c->elements = end - begin;
  c->first = first >= 0 ? first : find_column(a, begin, 0, a->call.M);
  const int64_t most = a->call.M - c->first < c->elements ? a->call.M : c->first + c->elements;
  c->columns = find_column(a, end, c->first, most) - c->first;
  c->kind = choose_kind(c, channels, full);
  if (c->kind == BLOCK_FULL) return;
  const int32_t *h = a->call.mask_h_idx + c->first, *w = a->call.mask_w_idx + c->first;
  for (int64_t k = 0; k < c->columns; k++) {
    c->place[k] =
        (uint16_t)((uint32_t)h[k] * (uint32_t)a->call.W + (uint32_t)w[k] - (uint32_t)begin);
  }
  if (c->kind == BLOCK_VECTORS) describe_vectors(c, full);
}

MLUOP_INLINE void move_vectors(const struct map_block *c, const char *row, int64_t left, char *to,
                               int64_t size) {
  for (int64_t i = 0; i < c->count; i++) {
    const struct map_vector *b = &c->vectors[i];
    char *here = to + b->at * size;
    if (b->keep == 0) {
      memset(here, 0, PICK_BYTES);
    } else if (b->pick.first + pick_lanes(size) <= left) {
      pick_elements(here, &b->pick, row + b->pick.first * size, b->keep, 1, size);
    } else {
      gather_elements(here, row, left, b->offsets, 0, b->keep, size);
    }
  }
}

MLUOP_INLINE void move_block(const struct masked_col2im_args *a, const struct map_block *c,
                             int64_t channel, int64_t size) {
  char buffer[VECTORS * PICK_BYTES];
  const int64_t bytes = c->elements * size;
  const char *row = (const char *)a->call.source + channel * a->call.M * size,
             *from = row + c->first * size;
  char *out = (char *)a->call.target + (channel * a->call.H * a->call.W + c->begin) * size;
  const int direct = !a->stream && (c->kind != BLOCK_VECTORS || bytes >= PICK_BYTES);
  char *to = direct ? out : buffer;
  if (c->kind == BLOCK_VECTORS) {
    move_vectors(c, row, (a->call.C - channel) * a->call.M, to,
                 size); /* elements of col from the row on */
  } else if (c->kind == BLOCK_SCATTER) {
    clear_bytes(to, bytes);
    for (int64_t k = 0; k < c->columns; k++) {
      memcpy(to + c->place[k] * size, from + k * size, (size_t)size);
    }
  } else if (direct) {
    memcpy(out, from, (size_t)bytes);
  } else {
    stream_bytes(out, from, bytes);
    return;
  }
  if (!direct) stream_bytes(out, buffer, bytes);
}

/* Channels [begin, end) of a block. `first`: its first column, if it is known, else -1. Returns
   the first column after it. */
static int64_t do_block(const struct masked_col2im_args *a, int64_t number, int64_t begin,
                        int64_t end, int64_t first) {
  struct map_block block;
  describe_block(a, &block, number, first, end - begin);
  for (int64_t channel = begin; channel < end; channel++) {
    if (a->call.element_size == 2) {
      move_block(a, &block, channel, 2);
    } else {
      move_block(a, &block, channel, 4);
    }
  }
  return block.first + block.columns;
}

void MLUOP_VARIANT(masked_col2im_sorted)(const void *vargs, int64_t begin, int64_t end,
                                         void *scratch) {
  (void)scratch;
  const struct masked_col2im_args *a = vargs;
  int64_t next = -1;
  if (a->by_channel) {
    for (int64_t number = 0; number < a->blocks; number++) {
      next = do_block(a, number, begin, end, next);
    }
  } else {
    for (int64_t item = begin; item < end;) {
      const int64_t number = item / a->call.C, channel = item % a->call.C;
      const int64_t count = a->call.C - channel < end - item ? a->call.C - channel : end - item;
      next = do_block(a, number, channel, channel + count, next);
      item += count;
    }
  }
  if (a->stream) vf_stream_end();
}

void MLUOP_VARIANT(masked_col2im_check)(const void *vargs, int64_t begin, int64_t end,
                                        void *scratch) {
  (void)scratch;
  const struct masked_col2im_args *a = vargs;
  const int32_t *h = a->call.mask_h_idx, *w = a->call.mask_w_idx;
  const uint32_t last_h = (uint32_t)(a->call.H - 1), last_w = (uint32_t)(a->call.W - 1);
  uint32_t out = 0, unordered = 0;
  if (begin == 0) {
    out = ((uint32_t)h[0] > last_h) | ((uint32_t)w[0] > last_w);
    begin = 1;
  }
  for (int64_t m = begin; m < end; m++) {
    out |= (uint32_t)((uint32_t)h[m] > last_h) | (uint32_t)((uint32_t)w[m] > last_w);
    unordered |=
        (uint32_t)(h[m] < h[m - 1]) | ((uint32_t)(h[m] == h[m - 1]) & (uint32_t)(w[m] <= w[m - 1]));
  }
  const uint32_t seen =
      (out ? MASKED_COL2IM_OUT_OF_MAP : 0) | (unordered ? MASKED_COL2IM_UNORDERED : 0);
  if (seen) __atomic_fetch_or(a->seen, seen, __ATOMIC_RELAXED);
}

MLUOP_INLINE void scatter(const struct masked_col2im_args *a, int64_t channel, int64_t size) {
  enum { STRETCH = 256 };
  int64_t at[STRETCH];
  char *plane = (char *)a->call.target + channel * a->call.H * a->call.W * size;
  memset(plane, 0, (size_t)(a->call.H * a->call.W * size));
  for (int64_t m = 0; m < a->call.M; m += STRETCH) {
    const char *from = (const char *)a->call.source + (channel * a->call.M + m) * size;
    const int64_t count = a->call.M - m < STRETCH ? a->call.M - m : STRETCH;
    for (int64_t k = 0; k < count; k++) at[k] = position(a, m + k);
    for (int64_t k = 0; k < count; k++) {
      memcpy(plane + at[k] * size, from + k * size, (size_t)size);
    }
  }
}

void MLUOP_VARIANT(masked_col2im_unordered)(const void *vargs, int64_t begin, int64_t end,
                                            void *scratch) {
  (void)scratch;
  const struct masked_col2im_args *a = vargs;
  for (int64_t channel = begin; channel < end; channel++) {
    if (a->call.element_size == 2) {
      scatter(a, channel, 2);
    } else {
      scatter(a, channel, 4);
    }
  }
}

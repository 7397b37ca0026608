/* SPDX-License-Identifier: Apache-2.0 */
#include "families/masked/blocks.h"
#include "families/masked/kernels.h"

/* Tap (i, j) reads what tap (0, 0) reads, (i * W + j) elements further on. So positions are
   described once, in groups that fill a vector of output, and the description serves every tap of
   every channel. Only which positions are on the map depends on the tap. */

/* Rows and columns of the kernel that are worked on together. */
enum { TAPS = 16 };

struct position_group {
  int64_t m; /* the first position, from the begin of the block on */
  struct pick pick;
};

struct column_block {
  int64_t begin, positions;
  int64_t first, last; /* of all picks */
  int64_t count;       /* of groups */
  int64_t lanes;       /* positions in each group: fewer than fit only if M is so small */
  int32_t offsets[BLOCK_VECTORS * PICK_LANES_MAX]
      __attribute__((aligned(64)));      /* of each position: h * W + w modulo 2^32 */
  uint32_t on_rows[TAPS][BLOCK_VECTORS]; /* bit k: row h + i of position k is on the map */
  uint32_t on_columns[TAPS][BLOCK_VECTORS];
  struct position_group groups[BLOCK_VECTORS];
};

struct index_range {
  int64_t low, high;
};

MLUOP_INLINE struct index_range range_of(const int32_t *values, int64_t lanes) {
  int32_t low = values[0], high = values[0];
  for (int64_t k = 0; k < lanes; k++) {
    low = values[k] < low ? values[k] : low;
    high = values[k] > high ? values[k] : high;
  }
  return (struct index_range){low, high};
}

MLUOP_INLINE void describe_pick(struct pick *pick, const int32_t *offsets, int64_t lanes,
                                int64_t size) {
  const struct index_range range = range_of(offsets, lanes);
  const uint32_t low = (uint32_t)range.low;
  pick->first = range.low;
  memset(pick->index, 0, sizeof(pick->index));
  for (int64_t k = 0; k < lanes; k++) pick->index[k] = (uint8_t)((uint32_t)offsets[k] - low);
  pick_classify(pick, range.high - range.low + 1, lanes, size);
}

MLUOP_INLINE void describe_block(const struct masked_args *a, struct column_block *c,
                                 int64_t number, int64_t size) {
  const int64_t full = pick_lanes(size);
  const int64_t begin = block_begin(a, number), end = block_begin(a, number + 1);
  const int32_t *h = a->mask_h_idx + begin, *w = a->mask_w_idx + begin;
  c->begin = begin;
  c->positions = end - begin;
  c->count = (c->positions + full - 1) / full;
  c->lanes = c->positions < full ? c->positions : full;
  for (int64_t k = 0; k < c->positions; k++) {
    c->offsets[k] = (int32_t)((uint32_t)h[k] * (uint32_t)a->W + (uint32_t)w[k]);
  }
  c->first = INT64_MAX;
  c->last = INT64_MIN;
  for (int64_t g = 0; g < c->count; g++) {
    struct position_group *group = &c->groups[g];
    /* The last group may share positions with the one before it: both write the same. */
    group->m = g * full + c->lanes <= c->positions ? g * full : c->positions - c->lanes;
    describe_pick(&group->pick, c->offsets + group->m, c->lanes == full ? full : c->lanes, size);
    c->first = group->pick.first < c->first ? group->pick.first : c->first;
    c->last = group->pick.first > c->last ? group->pick.first : c->last;
  }
}

/* Bit k: 0 <= values[k] - pad + tap < extent. */
static uint32_t on_map(const int32_t *values, int64_t lanes, int64_t pad, int64_t tap,
                       int64_t extent) {
  uint32_t bits = 0;
  for (int64_t k = 0; k < lanes; k++) {
    bits |= (uint32_t)((uint64_t)(values[k] - pad + tap) < (uint64_t)extent) << k;
  }
  return bits;
}

MLUOP_INLINE int all_on_map(struct index_range range, int64_t pad, int64_t i, int64_t n,
                            int64_t extent) {
  return range.low - pad + i >= 0 && range.high - pad + i + n <= extent;
}

/* Taps i to i + n - 1. `on` is set for each group and tap. */
MLUOP_INLINE void find_on_map(uint32_t on[TAPS][BLOCK_VECTORS], const struct column_block *c,
                              const int32_t *indices, int64_t pad, int64_t i, int64_t n,
                              int64_t extent, int64_t size) {
  const int64_t full = pick_lanes(size), lanes = c->lanes == full ? full : c->lanes;
  const uint32_t all = (uint32_t)((UINT64_C(1) << lanes) - 1);
  const int32_t *own = indices + c->begin;
  const int all_inside = all_on_map(range_of(own, c->positions), pad, i, n, extent);
  for (int64_t g = 0; g < c->count; g++) {
    const int32_t *values = own + c->groups[g].m;
    const int inside = all_inside || all_on_map(range_of(values, lanes), pad, i, n, extent);
    for (int64_t tap = 0; tap < n; tap++) {
      on[tap][g] = inside ? all : on_map(values, lanes, pad, i + tap, extent);
    }
  }
}

/* A group at a tap that reads `shift` (modulo 2^64) elements on from tap (0, 0). `safe`: all that a
   pick reads is in the feature. */
MLUOP_INLINE void move_group(const struct column_block *c, const struct position_group *g,
                             const char *plane, int64_t left, uint64_t shift, char *to,
                             uint32_t keep, int safe, int64_t size) {
  const int64_t from = (int64_t)((uint64_t)g->pick.first + shift);
  if (!safe || g->pick.kind == PICK_FAR) {
    gather_elements(to, plane, left, c->offsets + g->m, (int32_t)(uint32_t)shift, keep, size);
  } else if (g->pick.kind == PICK_RUN && keep == pick_all(size)) {
    memcpy(to, plane + from * size, PICK_BYTES);
  } else if (g->pick.kind == PICK_NEAR) {
    pick_elements(to, &g->pick, plane + from * size, keep, PICK_VECTORS, size);
  } else {
    pick_elements(to, &g->pick, plane + from * size, keep, 2, size);
  }
}

/* One row of data_col: the groups of the block at one tap. What is `ahead` elements behind their
   first ones is needed soon (0: nothing is). */
MLUOP_INLINE void move_row(const struct masked_args *a, const struct column_block *c,
                           const uint32_t *on_row, const uint32_t *on_column, int64_t channel,
                           uint64_t shift, char *to, int64_t ahead, int64_t size) {
  const int64_t plane = a->H * a->W, window = PICK_VECTORS * pick_lanes(size);
  const char *feature = (const char *)a->source + channel * plane * size;
  const int64_t left = (a->C - channel) * plane; /* elements from there on */
  /* Where this wraps around, no position is on the map. */
  const uint64_t base = (uint64_t)(channel * plane) + shift;
  const int64_t begin = (int64_t)(base + (uint64_t)c->first);
  const int64_t end = (int64_t)(base + (uint64_t)c->last + (uint64_t)window);
  const int safe = begin >= 0 && begin <= end && end <= a->C * plane;
  for (int64_t g = 0; g + 1 < c->count; g++) {
    if (ahead != 0) {
      const uint64_t next = (uint64_t)c->groups[g].pick.first + shift + (uint64_t)ahead;
      mluop_prefetch((const void *)((uintptr_t)feature + next * (uint64_t)size));
    }
    move_group(c, &c->groups[g], feature, left, shift, to + g * PICK_BYTES,
               on_row[g] & on_column[g], safe, size);
  }
  const int64_t g = c->count - 1;
  move_group(c, &c->groups[g], feature, left, shift, to + c->groups[g].m * size,
             on_row[g] & on_column[g], safe, size);
}

MLUOP_INLINE void move_channel(const struct masked_args *a, const struct column_block *c,
                               int64_t channel, int64_t i0, int64_t j0, int64_t size) {
  char buffer[BLOCK_VECTORS * PICK_BYTES];
  const int64_t bytes = c->positions * size;
  for (int64_t i = i0; i < a->window.kernel_h && i < i0 + TAPS; i++) {
    for (int64_t j = j0; j < a->window.kernel_w && j < j0 + TAPS; j++) {
      const int64_t row = (channel * a->window.kernel_h + i) * a->window.kernel_w + j;
      const uint64_t shift =
          (uint64_t)(i - a->window.pad_h) * (uint64_t)a->W + (uint64_t)(j - a->window.pad_w);
      char *out = (char *)a->target + (row * a->M + c->begin) * size;
      const uint32_t *on_row = c->on_rows[i - i0], *on_column = c->on_columns[j - j0];
      const int direct = !a->plan.stream && bytes >= PICK_BYTES;
      /* The first row of taps fetches the next plane: each tap another line of each group. */
      const int fetch = a->plan.stream && i == i0;
      const int64_t ahead = fetch ? a->H * a->W + (j - j0) * (LINE_BYTES / size - 1) : 0;
      move_row(a, c, on_row, on_column, channel, shift, direct ? out : buffer, ahead, size);
      if (!direct) stream_bytes(out, buffer, bytes);
    }
  }
}

MLUOP_INLINE void do_block_of(const struct masked_args *a, int64_t number, int64_t begin,
                              int64_t end, int64_t size) {
  struct column_block block, *c = &block;
  describe_block(a, c, number, size);
  for (int64_t i0 = 0; i0 < a->window.kernel_h; i0 += TAPS) {
    const int64_t taps_h = a->window.kernel_h - i0 < TAPS ? a->window.kernel_h - i0 : TAPS;
    find_on_map(c->on_rows, c, a->mask_h_idx, a->window.pad_h, i0, taps_h, a->H, size);
    for (int64_t j0 = 0; j0 < a->window.kernel_w; j0 += TAPS) {
      const int64_t taps_w = a->window.kernel_w - j0 < TAPS ? a->window.kernel_w - j0 : TAPS;
      find_on_map(c->on_columns, c, a->mask_w_idx, a->window.pad_w, j0, taps_w, a->W, size);
      for (int64_t channel = begin; channel < end; channel++) {
        move_channel(a, c, channel, i0, j0, size);
      }
    }
  }
}

static void do_block(const struct masked_args *a, int64_t number, int64_t begin, int64_t end) {
  if (a->element_size == 2) {
    do_block_of(a, number, begin, end, 2);
  } else {
    do_block_of(a, number, begin, end, 4);
  }
}

void MLUOP_VARIANT(masked_im2col_forward)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  (void)scratch;
  do_blocks(vargs, begin, end, do_block);
}

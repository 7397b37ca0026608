/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/kernels.h"
#include "families/carafe/nchw.h"
#include "families/carafe/store.h"

/* The forward: rows of the input are packed into a ring; tile by tile, the sums of some output
   pixels are made and stored. */

/* Between the products of the windows in turn, the row that comes next is packed as far as theirs
   is done, which hides what it takes. All windows before column `done` are. */
static __attribute__((noinline)) void pack_ahead(struct walk *s, int64_t done) {
  const int64_t next = rows_seen(s).end;
  if (s->packed_row > next || next == s->args->H || s->row + 1 == s->rows.end) return;
  const struct carafe_span columns = columns_seen(s);
  const int64_t all = s->columns.end - s->columns.begin;
  const int64_t share = (done - s->columns.begin) * (columns.end - columns.begin);
  while (s->packed_row == next && (s->packed_column - columns.begin) * all < share) {
    pack_pixel(s);
    count_pixel(s);
  }
}

/* The weights under the next windows that a tile at the same place needs for the rows in turn: all
   rows of a large window at once would hold up the loads in between. */
static __attribute__((noinline)) void prefetch_weights(const struct tile *t, int pixels) {
  const struct carafe_args *a = t->walk->args;
  const char *from = t->next.at + (t->window - t->walk->windows.begin) * t->next.step;
  for (int64_t i = t->now.begin * a->K; i < t->now.end * a->K; i += carafe_line_elements(a)) {
    for (int e = 0; e < pixels; e++) {
      mluop_prefetch(mluop_at(from + t->next.offset[e], i, a->is_half));
    }
  }
}

/* The sums of a tile. Long ones are made in two levels, some rows of the windows at a time. What
   the loop over taps does not need stays in memory: the compiler would keep it in vector registers,
   where it waits behind products. */
MLUOP_INLINE void sum_rows(vf sum[PIXELS][VECTORS], struct tile *t, int pixels, int neighbours,
                           int vectors) {
  t->now.end = 0;
  do {
    t->now.begin = t->now.end;
    t->now.end = mluop_min(t->now.begin + t->rows_at_once, t->row_count);
    if (t->next.at != NULL && mluop_opaque(t->channel) == 0) prefetch_weights(t, pixels);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) sum[e][v] = vf_set(0.0f);
    }
    add_rows(sum, t, pixels, neighbours, vectors, 0);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
        float *total = t->totals + (e * SUM_VECTORS + v) * VL;
        if (t->now.begin > 0) sum[e][v] = vf_load(total) + sum[e][v];
        if (t->now.end < t->row_count) vf_store(total, sum[e][v]);
      }
    }
  } while (t->now.end < t->row_count);
}

/* Some vectors of channels, of all tiles that fit before the last window in turn. */
MLUOP_INLINE void sum_vectors(struct tile *t, int pixels, int neighbours, int vectors) {
  struct walk *s = t->walk;
  const int64_t step = neighbours ? pixels : 1;
  for (; t->window + step <= s->windows.end; move_tile(t, t->window + step)) {
    vf sum[PIXELS][VECTORS];
    clip_tile(t, (struct carafe_span){0, s->args->W}, neighbours);
    sum_rows(sum, t, pixels, neighbours, vectors);
    store_sums(sum, t, pixels, vectors);
    if (t->channel == 0) pack_ahead(s, t->window + step);
  }
}

/* In functions of their own: one with all tiles takes compilers long. */
#define TILES(kind, pixels, neighbours)                                               \
  static __attribute__((noinline)) void sum_##kind(struct tile *t, int64_t vectors) { \
    if (vectors == 1) sum_vectors(t, pixels, neighbours, 1);                          \
    if (vectors == 2) sum_vectors(t, pixels, neighbours, 2);                          \
    if (SUM_VECTORS > 2 && vectors == 3) sum_vectors(t, pixels, neighbours, 3);       \
    if (SUM_VECTORS > 3 && vectors == 4) sum_vectors(t, pixels, neighbours, 4);       \
  }

TILES(one, 1, 0)
TILES(three, 3, 0)
TILES(four, 4, 0)
TILES(neighbours, 4, 1)

/* All tiles of a kind from the one in turn on. Channels are cut into about equal numbers of
   vectors. */
static void sum_tiles(struct tile *t, enum tile_kind kind) {
  const struct walk *s = t->walk;
  const int64_t per = vectors_at_once(s->args), most = SUM_VECTORS / per * per;
  const int64_t all = mluop_div_up(channels_of(s), VL), cuts = mluop_div_up(all, most);
  const int64_t begin = t->window;
  for (int64_t cut = 0, at = 0, vectors; cut < cuts; cut++, at += vectors) {
    vectors = mluop_div_up(all - at, (cuts - cut) * per) * per;
    t->channel = at * VL;
    move_tile(t, begin);
    if (kind == ONE) sum_one(t, vectors);
    if (kind == THREE) sum_three(t, vectors);
    if (kind == FOUR) sum_four(t, vectors);
    if (kind == NEIGHBOURS) sum_neighbours(t, vectors);
  }
}

/* Half weights of the windows in turn, of the block's groups, in rows as in the mask. */
static void pack_weights(const struct walk *s) {
  const struct carafe_args *a = s->args;
  const int64_t taps = a->K * a->K, pixels = (s->windows.end - s->windows.begin) * a->S;
  const int64_t groups = s->groups.end - s->groups.begin, runs = groups == a->G ? 1 : pixels;
  const int64_t run = pixels / runs * groups * taps;
  float *to = s->scratch;
  for (int64_t u = 0; u < a->S; u++) {
    const int64_t pixel = first_pixel(s, s->row, s->windows.begin) + u * a->S * a->W;
    for (int64_t i = 0; i < runs; i++, to += run) {
      carafe_pack_run(to, a->mask, ((pixel + i) * a->G + s->groups.begin) * taps, run, 1);
    }
  }
}

static struct pixels weights_of(const struct walk *s, int64_t slice, int64_t group) {
  const struct carafe_args *a = s->args;
  const int64_t taps = a->K * a->K, groups = s->groups.end - s->groups.begin;
  const int64_t pixel = groups * taps * (int64_t)sizeof(float);
  if (!a->is_half) return pixels_in(s, slice, group, a->mask, taps);
  float *at = (float *)s->scratch + (group - s->groups.begin) * taps;
  return pixels_at(s, slice, (char *)at, pixel, (s->windows.end - s->windows.begin) * a->S * pixel);
}

/* The pixels of a slice, of one group. next: at the next windows, or NULL. */
static void sum_slice(struct walk *s, int64_t slice, int64_t group, const struct walk *next) {
  const struct carafe_args *a = s->args;
  const struct pixels output = output_of(s, slice, group);
  const struct pixels weights = weights_of(s, slice, group);
  struct tile t;
  begin_tiles(&t, s, group, &output, &weights, rows_seen(s), s->ring + input_column(s, 0));
  t.next.at = NULL;
  if (next != NULL) t.next = pixels_in(next, slice, group, a->mask, a->K * a->K);
  t.rows_at_once = CARAFE_SUM_LENGTH / a->K;
  while (t.window < s->windows.end) {
    sum_tiles(&t, tile_at(a, slice, t.window, s->windows.end));
  }
}

static void sum_windows(struct walk *s) {
  const struct carafe_args *a = s->args;
  struct walk next = *s;
  const struct walk *ahead =
      a->plan.tensors != CARAFE_IN_CACHES && next_windows(&next) ? &next : NULL;
  if (a->is_half) pack_weights(s);
  for (int64_t slice = 0; slice < carafe_slices(a); slice++) {
    for (int64_t g = s->groups.begin; g < s->groups.end; g++) sum_slice(s, slice, g, ahead);
  }
}

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *memory) {
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {memory, 0};
  float *scratch, *ring = carafe_lay_out_forward(&arena, args, &scratch);
  while (begin < end) {
    struct walk s = next_block(args, &begin, end);
    s.ring = ring;
    s.scratch = scratch;
    while (next_windows(&s)) {
      for (; s.packed_row < rows_seen(&s).end; count_pixel(&s)) pack_pixel(&s);
      sum_windows(&s);
      if (args->plan.planes != NULL) put_into_planes(&s);
    }
  }
  vf_stream_end();
}

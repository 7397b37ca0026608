/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/kernels.h"
#include "families/carafe/store.h"

/* The forward: rows of the input are packed into a ring; tile by tile, the sums of some output
   pixels are made and stored. */

/* What the loop over taps does not need stays in memory: the compiler would keep it in vector
   registers, where it waits behind products. */
struct tile_sums {
  struct tile tile;
  int64_t end, channel; /* of the windows; the first of the item's channels */
  int64_t rows_at_once;
  int packs_ahead; /* between tiles */
  float totals[PIXELS][SUM_VECTORS][VL];
};

/* The sums of a tile. Long ones are made in two levels, some rows of the windows at a time. */
MLUOP_INLINE void sum_rows(vf sum[PIXELS][VECTORS], struct tile_sums *u, int pixels, int neighbours,
                           int vectors) {
  struct tile *t = &u->tile;
  t->stop_row = 0;
  do {
    t->row = t->stop_row;
    t->stop_row = carafe_min(t->row + u->rows_at_once, t->row_count);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) sum[e][v] = vf_set(0.0f);
    }
    add_rows(sum, t, pixels, neighbours, vectors, 0);
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
        if (t->row > 0) sum[e][v] = vf_load(u->totals[e][v]) + sum[e][v];
        if (t->stop_row < t->row_count) vf_store(u->totals[e][v], sum[e][v]);
      }
    }
  } while (t->stop_row < t->row_count);
}

/* Some vectors of channels, of the tiles of some windows. */
MLUOP_INLINE void sum_vectors(struct tile_sums *u, int pixels, int neighbours, int vectors) {
  struct tile *t = &u->tile;
  const int64_t step = neighbours ? pixels : 1;
  for (; t->window < u->end; move_tile(t, t->window + step)) {
    vf sum[PIXELS][VECTORS];
    prefetch_lines(&t->walk->prefetch);
    clip_tile(t, (struct carafe_span){0, t->walk->args->shape.W}, neighbours);
    sum_rows(sum, u, pixels, neighbours, vectors);
    store_sums(sum, t, u->channel, pixels, vectors);
    if (u->packs_ahead) pack_ahead(t->walk, t->window + step);
  }
}

/* In functions of their own: one with all tiles takes compilers long. */
#define TILES(kind, pixels, neighbours)                                                    \
  static __attribute__((noinline)) void sum_##kind(struct tile_sums *u, int64_t vectors) { \
    if (vectors == 1) sum_vectors(u, pixels, neighbours, 1);                               \
    if (vectors == 2) sum_vectors(u, pixels, neighbours, 2);                               \
    if (SUM_VECTORS > 2 && vectors == 3) sum_vectors(u, pixels, neighbours, 3);            \
    if (SUM_VECTORS > 3 && vectors == 4) sum_vectors(u, pixels, neighbours, 4);            \
  }

TILES(one, 1, 0)
TILES(three, 3, 0)
TILES(four, 4, 0)
TILES(neighbours, 4, 1)

/* The tiles from the one in turn on, before window `end`. Channels are cut into about equal numbers
   of vectors. */
static void sum_tiles(struct tile_sums *u, int64_t end, enum tile_kind kind) {
  struct tile *t = &u->tile;
  const struct walk *s = t->walk;
  const int64_t per = vectors_at_once(s->args), most = SUM_VECTORS / per * per;
  const int64_t all = carafe_div_up(s->channels, VL), cuts = carafe_div_up(all, most);
  const int64_t begin = t->window, at_zero = t->at_zero;
  u->end = end;
  for (int64_t cut = 0, at = 0, vectors; cut < cuts; cut++, at += vectors) {
    vectors = carafe_div_up(all - at, (cuts - cut) * per) * per;
    u->channel = at * VL;
    t->at_zero = at_zero + u->channel;
    move_tile(t, begin);
    if (kind == ONE) sum_one(u, vectors);
    if (kind == THREE) sum_three(u, vectors);
    if (kind == FOUR) sum_four(u, vectors);
    if (kind == NEIGHBOURS) sum_neighbours(u, vectors);
    u->packs_ahead = 0;
  }
  t->at_zero = at_zero;
}

/* Half weights of some windows, of the block's groups, in rows as in the mask. */
static void pack_weights(const struct walk *s, struct carafe_span windows) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_rings *rings = s->scratch;
  const int64_t taps = a->K * a->K, pixels = (windows.end - windows.begin) * a->S;
  const int64_t used = s->groups * taps, runs = s->groups == a->G ? 1 : pixels;
  float *to = rings->taps;
  for (int64_t u = 0; u < a->S; u++) {
    const int64_t pixel = first_pixel(s, s->row, windows.begin) + u * a->S * a->W;
    for (int64_t i = 0; i < runs; i++, to += pixels / runs * used) {
      const int64_t from = ((pixel + i) * a->G + s->group) * taps;
      carafe_pack_run(to, s->args->mask, from, pixels / runs * used, 1);
    }
  }
}

static struct pixels weights_of(const struct walk *s, const struct slice *c) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_rings *rings = s->scratch;
  const int64_t taps = a->K * a->K, pixel = s->groups * taps * (int64_t)sizeof(float);
  if (!a->is_half) return pixels_in(s, c, s->args->mask, taps);
  return pixels_at(s, c, (char *)(rings->taps + c->group * taps), pixel,
                   (c->windows.end - c->windows.begin) * a->S * pixel);
}

/* The pixels of a slice, group by group. */
static void sum_slice(struct walk *s, const struct slice *c) {
  const struct carafe_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const struct carafe_rings *rings = s->scratch;
  const struct pixels output = pixels_in(s, c, args->output, a->C), weights = weights_of(s, c);
  float *rows[CARAFE_FORWARD_K];
  struct tile_sums u;
  struct tile *t = &u.tile;
  *t = tile_of(s, c, &output, &weights, s->window, rings->input, rows);
  t->at_zero = input_column(s, 0);
  u.rows_at_once = carafe_max(1, CARAFE_SUM_LENGTH / a->K);
  for (int64_t g = 0; g < s->groups; g++) {
    for (move_tile(t, c->windows.begin); t->window < c->windows.end;) {
      u.packs_ahead = g == 0;
      const enum tile_kind kind = tile_at(s, c, t->window, c->windows.end);
      const int64_t step = tile_step(kind), left = c->windows.end - t->window;
      sum_tiles(&u, t->window + left / step * step, kind);
    }
    t->pixels.at += a->C * (a->is_half ? 2 : 4);
    t->taps.at += a->K * a->K * (int64_t)sizeof(float);
    t->at_zero += carafe_padded(args->plan.channels);
  }
}

static void sum_windows(struct walk *s, struct carafe_span windows) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t slices = carafe_slices(a), count = windows.end - windows.begin;
  const int64_t vectors = s->groups * carafe_div_up(s->channels, SUM_VECTORS * VL);
  prefetch_after(s, windows, 1,
                 vectors * (a->S == 1 ? carafe_div_up(count, PIXELS) : count * slices));
  if (a->is_half) pack_weights(s, windows);
  for (int64_t slice = 0; slice < slices; slice++) {
    const struct slice c = slice_at(s, windows, 0, slice);
    sum_slice(s, &c);
  }
}

static void begin_block(const struct walk *s) { (void)s; }

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *memory) {
  static const struct steps steps = {begin_block, pack_pixel, sum_windows, NULL};
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {memory, 0};
  const struct carafe_rings rings = carafe_lay_out(&arena, args);
  walk_items(args, begin, end, &rings, &steps);
  vf_stream_end();
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_SLICE_H_
#define MLUOP_FAMILIES_CARAFE_SLICE_H_

/* PACK: a slice is up to 4 of the pixels under a window, for some windows of a row, and one
   group. Its gradients and weights are read where they are, if they are whole vectors of floats,
   or else packed into a buffer of such. */

#include "families/carafe/backward.h"
#include "families/carafe/pack.h"
#include "families/carafe/walk.h"

/* Elements of pixel e of the window around column j are at `at` + (j - begin) * step + offset[e].
 */
struct pixels {
  float *at;
  int64_t step, offset[CARAFE_TILE];
};

struct slice {
  struct carafe_span centres; /* of the windows */
  int64_t first;              /* the first pixel of all, and of the others ... */
  int64_t offset[CARAFE_TILE];
  int pixels;    /* ... of a window, so many; with S == 1, of neighbours */
  int64_t group; /* of the block */
  struct pixels grads;
};

static struct slice slice_at(const struct block_walk *s, struct carafe_span centres, int64_t group,
                             int64_t number) {
  const struct carafe_shape *a = &s->args->shape;
  struct slice c = {.centres = centres, .first = pixel_of(s, centres.begin), .group = group};
  c.pixels = pixels_of_slice(a, number, c.offset);
  if (a->S > 1) return c;
  for (int e = 0; e < CARAFE_TILE; e++) c.offset[e] = e;
  return c;
}

/* The pixels of a tile are under one window, or they are 4 neighbours in a row, whose windows
   overlap (S == 1). */
enum tile_kind { ONE, THREE, FOUR, NEIGHBOURS };

/* The tile that begins at window `j`, before `end`. Windows of one tap do not overlap. */
static enum tile_kind tile_at(const struct block_walk *s, const struct slice *c, int64_t j,
                              int64_t end) {
  const struct carafe_shape *a = &s->args->shape;
  if (a->S == 1 && a->K > 1 && end - j >= CARAFE_TILE) return NEIGHBOURS;
  return c->pixels == 4 ? FOUR : c->pixels == 3 ? THREE : ONE;
}

/* From a tile to the next one, in windows. */
static int64_t tile_step(enum tile_kind kind) { return kind == NEIGHBOURS ? CARAFE_TILE : 1; }

/* What the tiles of a slice work on: some rows of their windows, of these the columns [begin, end)
   from the first pixel's first tap on, and one part of the channels. */
struct pixel_tile {
  const float *grad[CARAFE_TILE];
  float *taps[CARAFE_TILE]; /* weights or grad_mask, from the first row on */
  float *ring;
  int64_t row, row_floats, slots; /* row: of the ring, the first one */
  int64_t at, pixel;              /* in a row: where column `begin` is; to the next column */
  int64_t begin, end, rows, K;
  int64_t length; /* grad_mask: channels, in whole vectors; ... */
  int is_first;   /* ... not to be added to what is there */
  struct prefetch *prefetch;
};

static struct pixel_tile first_tile(struct block_walk *s, const struct slice *c, float *ring,
                                    int64_t row_floats, struct carafe_span rows, int64_t part) {
  const int64_t slots = carafe_slots(&s->args->shape), padded = carafe_padded(s->args->plan.part);
  return (struct pixel_tile){.ring = ring + part * slots * row_floats + c->group * padded,
                             .row = rows.begin % slots,
                             .row_floats = row_floats,
                             .slots = slots,
                             .pixel = carafe_pixel_floats(s->args),
                             .rows = rows.end - rows.begin,
                             .K = s->args->shape.K,
                             .is_first = part == 0,
                             .prefetch = &s->prefetch};
}

/* The tile that begins at window `j`. */
static void place_tile(struct pixel_tile *t, const struct slice *c, const struct pixels *taps,
                       int64_t j, int64_t channel, int64_t tap) {
  const int64_t i = j - c->centres.begin;
  for (int e = 0; e < CARAFE_TILE; e++) {
    t->grad[e] = c->grads.at + i * c->grads.step + c->grads.offset[e] + channel;
    t->taps[e] = taps->at + i * taps->step + taps->offset[e] + tap;
  }
}

/* Where `length` elements of each pixel of a slice are in a tensor of as many for each group. */
static struct pixels pixels_in(const struct block_walk *s, const struct slice *c,
                               const void *tensor, int64_t length) {
  const struct carafe_shape *a = &s->args->shape;
  struct pixels p = {.step = a->S * a->G * length};
  p.at = (float *)tensor + (c->first * a->G + s->group + c->group) * length;
  for (int e = 0; e < CARAFE_TILE; e++) p.offset[e] = c->offset[e] * a->G * length;
  return p;
}

/* The same in a buffer, where `length` elements of each stand side by side. */
static struct pixels pixels_of_buffer(const struct block_walk *s, const struct slice *c,
                                      float *buffer, int64_t length) {
  const int64_t pixels = s->args->shape.S > 1 ? c->pixels : 1;
  struct pixels p = {.at = buffer, .step = pixels * length};
  for (int e = 0; e < CARAFE_TILE; e++) p.offset[e] = e * length;
  return p;
}

/* `length` elements of each pixel of a tensor, as floats: where they are if that is so `in_place`,
   or else in `buffer`, padded to whole vectors. */
static struct pixels pack_pixels(const struct block_walk *s, const struct slice *c,
                                 const void *tensor, int64_t length, int in_place, float *buffer) {
  const struct carafe_shape *a = &s->args->shape;
  if (in_place) return pixels_in(s, c, tensor, length);
  const struct pixels to = pixels_of_buffer(s, c, buffer, carafe_padded(length));
  for (int64_t j = 0; j < c->centres.end - c->centres.begin; j++) {
    for (int e = 0; e < (a->S > 1 ? c->pixels : 1); e++) {
      const int64_t pixel = c->first + j * a->S + c->offset[e];
      carafe_pack_run(to.at + j * to.step + to.offset[e], tensor,
                      (pixel * a->G + s->group + c->group) * length, length, a->is_half);
    }
  }
  return to;
}

#endif /* MLUOP_FAMILIES_CARAFE_SLICE_H_ */

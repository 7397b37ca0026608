/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PACK_H_
#define MLUOP_FAMILIES_CARAFE_PACK_H_

/* Pack: what a kernel reads again and again is copied once into scratch memory that stays in the
   second-level cache, as floats in whole vectors. */

#include "families/carafe/general.h"
#include "families/carafe/walk.h"
#include "vector/simd.h"

/* `count` elements of a half or float tensor from number `at` on, padded with zeros to whole
   vectors: no lane computes on what nobody wrote. */
static inline void carafe_pack_run(float *to, const void *tensor, int64_t at, int64_t count,
                                   int is_half) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store(to + i, vf_load_as(tensor, at + i, is_half));
  if (i < count) vf_store(to + i, vf_load_part_as(tensor, at + i, count - i, is_half));
}

/* The way back. */
static inline void carafe_store_run(void *tensor, int64_t at, const float *from, int64_t count,
                                    int is_half) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store_as(tensor, at + i, vf_load(from + i), is_half);
  if (i == count) return;
  const vf last = vf_load_part(from + i, count - i); /* nothing may have been written behind it */
  vf_store_part_as(tensor, at + i, last, count - i, is_half);
}

/* Column x of the ring of the input. */
static inline int64_t input_column(const struct walk *s, int64_t x) {
  const struct carafe_rings *rings = s->scratch;
  return (x - s->input.begin + CARAFE_MARGIN) * rings->column;
}

/* Row y of a ring. */
static inline float *row_of_ring(const struct carafe_rings *rings, float *ring, int64_t y) {
  return ring + y % rings->slots * rings->pixel;
}

/* The first element of the block's groups of a pixel of the map. */
static inline int64_t map_element(const struct walk *s, int64_t y, int64_t x) {
  const struct carafe_shape *a = &s->args->shape;
  return (((s->n * a->H + y) * a->W + x) * a->G + s->group) * a->C;
}

/* The item's channels of a group, whose first element is `from`. */
static inline void pack_group(float *to, const struct walk *s, int64_t from) {
  const struct carafe_shape *a = &s->args->shape;
  const void *input = s->args->input;
  const int64_t rotation = carafe_max(0, s->args->plan.rotation);
  int64_t done = 0;
  if (rotation > 0 && s->channel == 0) {
    const char *end = mluop_at(input, from + a->C - rotation, a->is_half);
    const char *begin = mluop_at(input, from - rotation, a->is_half);
    for (; done < carafe_line_elements(a); done += VL) {
      vf_store(to + done, vf_load_split_as(rotation - done, end, begin, done, a->is_half));
    }
  }
  carafe_pack_run(to + done, input, from + s->channel + done - rotation, s->channels - done,
                  a->is_half);
}

static __attribute__((noinline)) void pack_pixel(struct walk *s) {
  const struct carafe_args *args = s->args;
  const struct carafe_rings *rings = s->scratch;
  const int64_t from = map_element(s, s->packed_row, s->packed_column);
  float *to = row_of_ring(rings, rings->input, s->packed_row) + input_column(s, s->packed_column);
  for (int64_t g = 0; g < s->groups; g++) {
    pack_group(to + g * carafe_padded(args->plan.channels), s, from + g * args->shape.C);
  }
  if (++s->packed_column < s->input.end) return;
  s->packed_column = s->input.begin;
  s->packed_row++;
}

/* Between the products of the windows in turn, the row that comes next is packed as far as theirs
   is done, which hides what it takes. All windows before column `done` are. */
static inline void pack_ahead(struct walk *s, int64_t done) {
  const int64_t next = s->window.end, all = s->columns.end - s->columns.begin;
  if (next == s->args->shape.H || s->row + 1 == s->rows.end) return;
  const int64_t share = (done - s->columns.begin) * (s->input.end - s->input.begin);
  while (s->packed_row == next && (s->packed_column - s->input.begin) * all < share) pack_pixel(s);
}

/* A slice is up to 4 of the S x S output pixels under a window, or that many neighbours (S == 1);
   for some windows of a row, and one group. */
struct slice {
  struct carafe_span windows;
  int64_t group; /* of the block */
  int pixels;    /* of a window */
  int64_t row[CARAFE_TILE], column[CARAFE_TILE];
};

/* What each pixel of a slice has, in a tensor or packed: of pixel e under the window around column
   j, at `at` + (j - begin) * step + offset[e]; in bytes. */
struct pixels {
  char *at;
  int64_t step, offset[CARAFE_TILE];
};

static struct slice slice_at(const struct walk *s, struct carafe_span windows, int64_t group,
                             int64_t number) {
  const int64_t S = s->args->shape.S;
  const struct carafe_span pixels = pixels_of_slice(&s->args->shape, number);
  struct slice c = {.windows = windows, .group = group, .pixels = (int)(pixels.end - pixels.begin)};
  for (int e = 0; e < CARAFE_TILE; e++) {
    c.row[e] = S > 1 ? (pixels.begin + e) / S : 0;
    c.column[e] = S > 1 ? (pixels.begin + e) % S : e;
  }
  return c;
}

/* In rows of pixels of so many bytes: pixel 0 of the first window is at `at`. */
static struct pixels pixels_at(const struct walk *s, const struct slice *c, char *at, int64_t pixel,
                               int64_t row) {
  struct pixels p = {.at = at, .step = s->args->shape.S * pixel};
  for (int e = 0; e < CARAFE_TILE; e++) p.offset[e] = c->row[e] * row + c->column[e] * pixel;
  return p;
}

/* In a tensor that has `length` elements for each group. */
static struct pixels pixels_in(const struct walk *s, const struct slice *c, const void *tensor,
                               int64_t length) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t size = a->is_half ? 2 : 4, pixel = a->G * length * size;
  const int64_t first = first_pixel(s, s->row, c->windows.begin);
  return pixels_at(s, c, (char *)tensor + first * pixel + (s->group + c->group) * length * size,
                   pixel, a->S * a->W * pixel);
}

#endif /* MLUOP_FAMILIES_CARAFE_PACK_H_ */

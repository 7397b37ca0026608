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
  return (x - columns_seen(s).begin + CARAFE_MARGIN) * carafe_column_floats(s->args);
}

/* Row y of a ring. */
static inline float *row_of_ring(const struct carafe_args *a, float *ring, int64_t y) {
  return ring + y % carafe_slots(a) * carafe_pixel_floats(a);
}

/* The first element of the block's groups of a pixel of the map. */
static inline int64_t map_element(const struct walk *s, int64_t y, int64_t x) {
  const struct carafe_args *a = s->args;
  return (((s->n * a->H + y) * a->W + x) * a->G + s->groups.begin) * a->C;
}

enum { PIXELS_AHEAD = 6 };

/* The channels in turn of a group, whose first element is `from`. Those of a pixel that comes soon
   are prefetched. */
static inline void pack_group(float *to, const struct walk *s, int64_t from) {
  const struct carafe_args *a = s->args;
  const int64_t rotation = mluop_max(0, a->plan.rotation), count = channels_of(s);
  int64_t done = 0;
  if (a->plan.tensors != CARAFE_IN_CACHES && s->packed_row + 1 < a->H) {
    const int64_t ahead = from + s->channel + PIXELS_AHEAD * a->G * a->C;
    for (int64_t i = 0; i < count; i += carafe_line_elements(a)) {
      mluop_prefetch(mluop_at(a->input, ahead + i, a->is_half));
    }
  }
  if (rotation > 0 && s->channel == 0) {
    const char *end = mluop_at(a->input, from + a->C - rotation, a->is_half);
    const char *begin = mluop_at(a->input, from - rotation, a->is_half);
    for (; done < carafe_line_elements(a); done += VL) {
      vf_store(to + done, vf_load_split_as(rotation - done, end, begin, done, a->is_half));
    }
  }
  carafe_pack_run(to + done, a->input, from + s->channel + done - rotation, count - done,
                  a->is_half);
}

/* The channels in turn of the next pixel. */
static __attribute__((noinline)) void pack_pixel(const struct walk *s) {
  const struct carafe_args *a = s->args;
  const int64_t from = map_element(s, s->packed_row, s->packed_column);
  float *to = row_of_ring(a, s->ring, s->packed_row) + input_column(s, s->packed_column);
  for (int64_t g = 0; g < s->groups.end - s->groups.begin; g++) {
    pack_group(to + g * carafe_padded(a->plan.channels), s, from + g * a->C);
  }
}

static inline void count_pixel(struct walk *s) {
  if (++s->packed_column < columns_seen(s).end) return;
  s->packed_column = columns_seen(s).begin;
  s->packed_row++;
}

/* What the pixels of a slice have, in a tensor or packed: of pixel e under some window, `offset[e]`
   bytes after `at`, and `step` bytes further under the next window. Where S is 1, pixels are
   neighbours. */
struct pixels {
  char *at;
  int64_t step, offset[CARAFE_TILE];
};

/* In rows of `row` bytes, where a pixel has `pixel` bytes. */
static struct pixels pixels_at(const struct walk *s, int64_t slice, char *at, int64_t pixel,
                               int64_t row) {
  const int64_t S = s->args->S, begin = carafe_slice(s->args, slice).begin;
  struct pixels p = {.at = at, .step = S * pixel};
  for (int64_t e = 0; e < CARAFE_TILE; e++) {
    p.offset[e] = S > 1 ? (begin + e) / S * row + (begin + e) % S * pixel : e * pixel;
  }
  return p;
}

/* In a tensor that has `length` elements for each group: of the first window in turn. */
static struct pixels pixels_in(const struct walk *s, int64_t slice, int64_t group,
                               const void *tensor, int64_t length) {
  const struct carafe_args *a = s->args;
  const int64_t size = a->is_half ? 2 : 4, pixel = a->G * length * size;
  const int64_t first = first_pixel(s, s->row, s->windows.begin);
  return pixels_at(s, slice, (char *)tensor + first * pixel + group * length * size, pixel,
                   a->S * a->W * pixel);
}

#endif /* MLUOP_FAMILIES_CARAFE_PACK_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PACK_H_
#define MLUOP_FAMILIES_CARAFE_PACK_H_

/* Pack: what a kernel reads again and again is copied once into scratch memory that stays in the
   second-level cache, as floats in whole vectors. */

#include "families/carafe/forward.h"
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

/* The last rows of a block of the input, packed: row y is in slot y % slots. The pixels of a column
   lie side by side: windows are in one piece, and spread over all sets of the first-level cache. */
struct ring {
  const struct carafe_args *args;
  const struct carafe_block *block;
  int64_t rotation; /* elements: groups begin with as many channels from their end */
  float *floats;
  int64_t slots, pixel, group; /* pixel, group: floats of a packed one */
  struct carafe_span columns;  /* of the map */
  int64_t row, column;         /* what is before (row, column) has been packed */
  int64_t next_end, at_once;   /* rows before next_end are packed ahead, so many pixels at once */
};

/* Row y; from there on, group g of column 0, which may be beside what is packed. */
static inline const float *row_of_ring(const struct ring *ring, int64_t y) {
  return ring->floats + y % ring->slots * ring->pixel;
}
static inline int64_t group_of_ring(const struct ring *ring, int64_t g) {
  return g * ring->group - ring->columns.begin * ring->slots * ring->pixel;
}

/* The item's channels of a group, whose first element is `from`. */
static inline void pack_group(float *to, const struct ring *ring, int64_t from) {
  const struct carafe_shape *a = &ring->args->shape;
  const void *input = ring->args->input;
  const int64_t rotation = ring->rotation;
  int64_t done = 0;
  if (rotation > 0 && ring->block->channel == 0) {
    const char *end = mluop_at(input, from + a->C - rotation, a->is_half);
    const char *begin = mluop_at(input, from - rotation, a->is_half);
    for (; done < carafe_line_elements(a); done += VL) {
      vf_store(to + done, vf_load_split_as(rotation - done, end, begin, done, a->is_half));
    }
  }
  carafe_pack_run(to + done, input, from + ring->block->channel + done - rotation,
                  ring->block->channels - done, a->is_half);
}

static __attribute__((noinline)) void pack_pixel(struct ring *ring) {
  const struct carafe_shape *a = &ring->args->shape;
  const struct carafe_block *block = ring->block;
  const int64_t pixel = (block->n * a->H + ring->row) * a->W + ring->column;
  const int64_t from = (pixel * a->G + block->group) * a->C;
  const int64_t slot = (ring->column - ring->columns.begin) * ring->slots + ring->row % ring->slots;
  float *to = ring->floats + slot * ring->pixel;
  for (int64_t g = 0; g < block->groups; g++) {
    pack_group(to + g * ring->group, ring, from + g * a->C);
  }
  if (++ring->column < ring->columns.end) return;
  ring->column = ring->columns.begin;
  ring->row++;
}

static inline void begin_block(struct ring *ring, const struct carafe_block *block) {
  const struct carafe_shape *a = &ring->args->shape;
  ring->block = block;
  ring->columns.begin = carafe_window(block->columns.begin, a->K, a->W).begin;
  ring->columns.end = carafe_window(block->columns.end - 1, a->K, a->W).end;
  ring->column = ring->columns.begin;
  ring->row = carafe_window(block->rows.begin, a->K, a->H).begin;
  ring->at_once = carafe_div_up(ring->columns.end - ring->columns.begin,
                                block->columns.end - block->columns.begin);
}

/* Packs what is under the windows of a row and has not been packed yet. */
static inline void pack_rows(struct ring *ring, int64_t row) {
  const struct carafe_shape *a = &ring->args->shape;
  const struct carafe_span span = carafe_window(row, a->K, a->H);
  while (ring->row < span.end) pack_pixel(ring);
  ring->next_end = row + 1 < ring->block->rows.end ? carafe_min(span.end + 1, a->H) : 0;
}

/* Packs a part of the row that the next item needs, between the products of this one: that hides
   what it takes. */
static inline void pack_ahead(struct ring *ring, int64_t columns) {
  if (ring->row >= ring->next_end) return;
  for (int64_t i = columns * ring->at_once; i > 0 && ring->row < ring->next_end; i--) {
    pack_pixel(ring);
  }
}

/* Weights of windows, in the mask or packed; distances in floats. */
struct weights {
  const float *first;
  int64_t row, pixel, group; /* row: to the next row of output pixels */
};

/* The weights of the windows around `columns`, of all taps. Halves are packed. */
static inline struct weights pack_weights(const struct ring *ring, float *memory, int64_t y,
                                          struct carafe_span columns) {
  const struct carafe_shape *a = &ring->args->shape;
  const struct carafe_block *s = ring->block;
  const int64_t taps = a->K * a->K, pixel = a->G * taps, row = a->S * a->W * pixel;
  const int64_t pixels = (columns.end - columns.begin) * a->S, used = s->groups * taps;
  const int64_t at =
      (s->n * a->H + y) * a->S * row + columns.begin * a->S * pixel + s->group * taps;
  if (!a->is_half) {
    return (struct weights){(const float *)ring->args->mask + at, row, pixel, taps};
  }
  const int64_t runs = used == pixel ? 1 : pixels;
  float *to = memory;
  for (int64_t u = 0; u < a->S; u++) {
    for (int64_t i = 0; i < runs; i++, to += pixels * used / runs) {
      const int64_t run = at + u * row + i * pixel;
      carafe_pack_run(to, ring->args->mask, run, pixels * used / runs, 1);
    }
  }
  return (struct weights){memory, pixels * used, used, taps};
}

#endif /* MLUOP_FAMILIES_CARAFE_PACK_H_ */

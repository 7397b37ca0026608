/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_SOURCE_H_
#define MLUOP_FAMILIES_CARAFE_SOURCE_H_

/* The input rows that an item of the backward operator sees, as floats. */

#include "families/carafe/item.h"

enum { CARAFE_MAX_K = 137 };

/* Rows of a map, of the input or as large as the input: channel 0 of an item's block at column
   `first` is at row[i]; `pixel` floats further is the next column, `group` floats the next group.
   Words instead, if the rows are those of an input of halves. */
struct carafe_rows {
  float *row[CARAFE_MAX_K];
  int64_t first, pixel, group;
};

/* The input as an item sees it: the rows under its windows, in place or packed. */
struct carafe_source {
  struct carafe_rows rows;
  float *ring;
  int64_t strip, packed; /* rows of `strip` before `packed` are in the ring */
};

static void pack_pixel(float *to, const void *input, int64_t from, int64_t length, int is_half) {
  int64_t c = 0;
  for (; c + VL <= length; c += VL) vf_store(to + c, vf_load_as(input, from + c, is_half));
  if (c < length) {
    vf_store(to + c, vf_load_part_as(input, from + c, length - c, is_half));
    c += VL;
  }
  for (; c < carafe_padded(length); c += VL) vf_store(to + c, vf_set(0.0f));
}

static void pack_part(float *to, const void *input, int64_t from, int64_t length, int is_half) {
  for (int64_t c = 0; c < length; c += VL) {
    const int64_t n = carafe_min(VL, length - c);
    vf_store_part(to + c, vf_load_part_as(input, from + c, n, is_half), n);
  }
}

static void pack_row(const struct carafe_shape *a, const struct carafe_item *item,
                     const struct carafe_rows *rows, const void *input, int64_t y, int64_t turn,
                     float *to) {
  const int64_t end = carafe_window(item->column + item->columns - 1, a->K, a->W).end;
  for (int64_t x = rows->first; x < end; x++) {
    const int64_t from = (((item->n * a->H + y) * a->W + x) * a->G + item->group) * a->C;
    for (int64_t g = 0; g < item->groups; g++) {
      const int64_t group = from + g * a->C, channel = item->channel - turn;
      const int64_t done = channel < 0 ? carafe_line_elements(a) : 0;
      if (done > 0) {
        pack_part(to + g * rows->group, input, group + a->C - turn, turn, a->is_half);
        pack_part(to + g * rows->group + turn, input, group, done - turn, a->is_half);
      }
      pack_pixel(to + g * rows->group + done, input, group + channel + done, item->length - done,
                 a->is_half);
    }
    to += rows->pixel;
  }
}

/* Points source->rows to the rows under the item's windows, packing those that are new. */
static inline void carafe_see(struct carafe_source *source, const struct carafe_shape *a,
                              const struct carafe_plan *plan, const struct carafe_item *item,
                              const void *input) {
  struct carafe_rows *rows = &source->rows;
  const struct carafe_span window = carafe_window(item->row, a->K, a->H);
  rows->first = carafe_window(item->column, a->K, a->W).begin;
  if (!plan->packed) {
    rows->pixel = carafe_words(a, a->G * a->C);
    rows->group = carafe_words(a, a->C);
    const int64_t begin = carafe_words(a, item->group * a->C + item->channel - plan->turn);
    for (int64_t y = window.begin; y < window.end; y++) {
      rows->row[y - window.begin] =
          (float *)input + ((item->n * a->H + y) * a->W + rows->first) * rows->pixel + begin;
    }
    return;
  }
  const int64_t slots = carafe_ring_rows(a), pixel = carafe_ring_pixel(plan);
  rows->group = carafe_padded(plan->part);
  rows->pixel = slots * pixel;
  if (source->strip != item->strip) source->packed = window.begin;
  source->strip = item->strip;
  for (; source->packed < window.end; source->packed++) {
    pack_row(a, item, rows, input, source->packed, plan->turn,
             source->ring + source->packed % slots * pixel);
  }
  for (int64_t y = window.begin; y < window.end; y++) {
    rows->row[y - window.begin] = source->ring + y % slots * pixel;
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_SOURCE_H_ */

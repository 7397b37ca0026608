/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_CARAFE_WALK_H_
#define MLUOP_KERNELS_CARAFE_WALK_H_

/* The walk over the tiles of an item: row by row, in segments, group by group, and in cuts of as
   many channels as a tile has registers for. */

#include "kernels/carafe_line.h"

/* Pixels of a mask of many groups lie so far apart that no hardware asks for their weights in time:
   here that is done, so many groups before they are needed. */
enum { ASK_GROUPS = 4, ASK_WEIGHTS = 768 };

/* What a walk over the rows of an item works with. */
struct walk {
  const struct carafe_shape *shape;
  const struct carafe_item *item;
  const void *mask;
  float *weights; /* room for the weights of a segment as floats */
  line_function *const (*table)[PIXELS][MAX_VECTORS];
  int64_t row;             /* of the window centres */
  struct carafe_span rows; /* of the map under the windows */
  int64_t first_row;       /* that map->row[0] is */
  int64_t most_rows;       /* that are walked at once */
  int64_t turn;            /* of the map's channels and, if it is not 0, room for their ends */
  float *ends;
};

static void convert_halves(float *to, const void *halves, int64_t from, int64_t count) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store(to + i, vf_load_as(halves, from + i, 1));
  if (i < count) {
    vf_store_part(to + i, vf_load_part_as(halves, from + i, count - i, 1), count - i);
  }
}

/* Weights of the line from element `from` of the mask on; halves are converted, tile by tile. */
static void see_weights(struct line *t, const struct walk *w, int64_t from, int pixels) {
  if (!w->shape->is_half) {
    t->weights = (const float *)w->mask + from;
    return;
  }
  const int64_t taps = w->shape->K * w->shape->K;
  float *to = w->weights;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    for (int e = 0; e < pixels; e++) {
      const int64_t at = from + t->weights_pixel[e];
      if (t->ask > 0) ask_for((const uint16_t *)w->mask + at + t->ask, taps * 2);
      convert_halves(to, w->mask, at, taps);
      to += taps;
    }
    from += t->weights_step;
  }
  t->ask = 0;
  t->weights = w->weights;
  t->weights_step = pixels * taps;
  for (int e = 0; e < pixels; e++) t->weights_pixel[e] = e * taps;
}

/* All rows under the windows; many of them in blocks, whose sums are added up. */
static void walk_rows(struct line *t, const struct walk *w, line_function *pass) {
  const float *weights = t->weights;
  float total[SEGMENT * PIXELS * VECTORS * VL];
  t->total = w->rows.end - w->rows.begin > w->most_rows ? total : NULL;
  for (int64_t y = w->rows.begin; y < w->rows.end; y += w->most_rows) {
    t->rows = t->map->row + (y - w->first_row);
    t->row_count = carafe_min(w->most_rows, w->rows.end - y);
    t->weights = weights + (y - w->row + (t->K - 1) / 2) * t->K;
    t->first = y == w->rows.begin;
    t->final = y + t->row_count == w->rows.end;
    pass(t);
  }
  t->weights = weights;
}

/* From the weights of group g to those that are needed ASK_GROUPS groups later, perhaps in the next
   segment; 0 where nothing is to be asked for. */
static int64_t ask_distance(const struct line *t, const struct walk *w, int64_t g) {
  const int64_t taps = t->K * t->K, groups = w->item->groups;
  if (groups < 2 * ASK_GROUPS || w->shape->G * taps < ASK_WEIGHTS) return 0;
  if (g + ASK_GROUPS < groups) return ASK_GROUPS * taps;
  return SEGMENT / t->step * t->weights_step + (ASK_GROUPS - groups) * taps;
}

/* Tiles whose first pixel is `pixel`, and then every `step` pixels. The others of a tile are
   offset[e] after the first. */
static void walk_pixels(struct line *t, const struct walk *w, int64_t pixel, int64_t step,
                        const int64_t *offset, int pixels, int64_t slot, const int64_t *slots) {
  const struct carafe_shape *a = w->shape;
  const int64_t taps = a->K * a->K;
  t->values_step = step * a->G * a->C;
  for (int e = 0; e < pixels; e++) {
    t->values_pixel[e] = offset[e] * a->G * a->C;
    t->ends_pixel[e] = slots[e] * w->item->groups * CARAFE_PAD;
  }
  for (int64_t g = 0; g < w->item->groups; g++) {
    const int64_t block = pixel * a->G + w->item->group + g;
    t->weights_step = step * a->G * taps;
    for (int e = 0; e < pixels; e++) t->weights_pixel[e] = offset[e] * a->G * taps;
    t->ask = ask_distance(t, w, g);
    see_weights(t, w, block * taps, pixels);
    const int64_t all = carafe_div_up(w->item->length, VL), cuts = carafe_div_up(all, VECTORS);
    for (int64_t cut = 0, begin = 0; cut < cuts; cut++) {
      const int64_t vectors = carafe_div_up(all - begin, cuts - cut);
      t->channel = g * t->map->group + begin * VL;
      t->length = carafe_min(w->item->length - begin * VL, vectors * VL);
      t->at = block * a->C + w->item->channel + begin * VL - w->turn;
      t->ends = NULL;
      if (w->turn > 0 && w->item->channel + begin * VL < CARAFE_PAD) {
        t->ends = w->ends + ((slot + 1) * w->item->groups + g) * CARAFE_PAD + begin * VL;
        t->ends_step = step * w->item->groups * CARAFE_PAD;
      }
      walk_rows(t, w, w->table[a->S > 1][pixels - 1][vectors - 1]);
      begin += vectors;
    }
  }
}

/* Window centres [begin, end) of row w->row; at most SEGMENT of them. */
static void walk_segment(struct line *t, const struct walk *w, int64_t begin, int64_t end) {
  const struct carafe_shape *a = w->shape;
  const int64_t S = a->S, pixel = (w->item->n * a->H + w->row) * S * S * a->W + begin * S;
  int64_t offset[PIXELS], slots[PIXELS];
  t->j = begin;
  if (S == 1) {
    t->step = a->K == 1 ? 2 : PIXELS; /* windows that overlap by all but 3 columns, or do not */
    for (int e = 0; e < PIXELS; e++) offset[e] = slots[e] = e;
    const int64_t whole = (end - begin) / t->step * t->step;
    t->end = begin + whole;
    if (whole > 0) walk_pixels(t, w, pixel, t->step, offset, (int)t->step, 0, slots);
    t->j = t->end;
    t->end = end;
    if (t->j < end)
      walk_pixels(t, w, pixel + whole, t->step, offset, (int)(end - t->j), whole, slots);
    return;
  }
  t->end = end;
  t->step = 1;
  /* The S x S pixels of a window, in chunks of 3 or 4. */
  const int64_t chunks = carafe_div_up(S * S, PIXELS);
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    const int64_t u = S * S * chunk / chunks, pixels = S * S * (chunk + 1) / chunks - u;
    for (int64_t e = 0; e < pixels; e++) {
      offset[e] = (u + e) / S * S * a->W + (u + e) % S;
      slots[e] = (u + e) / S * carafe_ends_row(a) + (u + e) % S;
    }
    walk_pixels(t, w, pixel, S, offset, (int)pixels, 0, slots);
  }
}

static inline void walk_columns(struct line *t, const struct walk *w, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; j += SEGMENT) {
    walk_segment(t, w, j, carafe_min(j + SEGMENT, end));
  }
}

#endif /* MLUOP_KERNELS_CARAFE_WALK_H_ */

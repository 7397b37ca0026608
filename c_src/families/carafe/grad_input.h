/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_
#define MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_

/* grad_input is owned in strips. Row by row of grad_output, a thread adds to a ring of those rows
   of its strip that are in reach of the windows; a row that nothing more is added to is written
   out. For each element the order of additions is that of the rows and columns of grad_output,
   wherever rows of strips begin. */

#include "families/carafe/line_table.h"
#include "families/carafe/walk.h"

MLUOP_INLINE void load_values(vf value[PIXELS][VECTORS], const struct line *t, int64_t from,
                              int pixels, int vectors) {
  const int64_t last = t->length - (vectors - 1) * VL;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const int64_t at = from + t->values_pixel[e];
    MLUOP_UNROLL for (int v = 0; v < vectors - 1; v++) {
      value[e][v] = vf_load_as(t->values, at + v * VL, t->is_half);
    }
    value[e][vectors - 1] =
        last == VL ? vf_load_as(t->values, at + (vectors - 1) * VL, t->is_half)
                   : vf_load_part_as(t->values, at + (vectors - 1) * VL, last, t->is_half);
  }
}

MLUOP_INLINE void spread_line(const struct line *t, int pixels, int kind, int vectors) {
  const float *weights = t->weights;
  int64_t from = t->at;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    vf value[PIXELS][VECTORS];
    load_values(value, t, from, pixels, vectors);
    pass_rows(value, t, weights, j, 0, pixels, kind, vectors, 1);
    weights += t->weights_step;
    from += t->values_step;
  }
}

LINE_KINDS(spread_line, 0, 1)
static line_table spread_lines = {LINE_ENTRIES(spread_line, 0, 1)};

struct spread {
  const struct carafe_backward_args *args;
  const struct carafe_item *item; /* the strip's columns and groups, all channels of those */
  int64_t begin, end;             /* the strip's rows */
  int64_t column;                 /* columns before this one of the row in turn are written */
  float *weights;                 /* half: room for those of a segment */
  float *ring, *totals;           /* totals: NULL if sums are made directly */
};

/* Rows of the rings of one part of the channels, and floats from part to part. */
static int64_t spread_row_size(const struct spread *s) {
  const struct carafe_backward_args *args = s->args;
  return s->item->columns * s->item->groups * carafe_padded(args->part);
}

static int64_t spread_ring_size(const struct spread *s) {
  return carafe_ring_rows(&s->args->shape) * spread_row_size(s);
}

/* The strip's rows under the windows of row item->row. */
static struct carafe_span rows_in_reach(const struct spread *s) {
  const struct carafe_span window = carafe_window(s->item->row, s->args->shape.K, s->args->shape.H);
  return (struct carafe_span){carafe_max(window.begin, s->begin), carafe_min(window.end, s->end)};
}

static float *ring_row(const struct spread *s, float *ring, int64_t part, int64_t y) {
  const int64_t slots = carafe_ring_rows(&s->args->shape);
  return ring + part * spread_ring_size(s) + y % slots * spread_row_size(s);
}

static void clear_floats(float *to, int64_t count) { memset(to, 0, (size_t)count * sizeof(*to)); }

static void begin_spread(struct spread *s) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t floats = carafe_div_up(a->C, s->args->part) * spread_ring_size(s);
  s->totals = carafe_sums_are_long(a) ? s->ring + floats : NULL;
  clear_floats(s->ring, s->totals != NULL ? 2 * floats : floats);
  s->column = s->item->column;
}

static struct carafe_rows ring_map(const struct spread *s) {
  return (struct carafe_rows){.first = s->item->column,
                              .group = carafe_padded(s->args->part),
                              .pixel = s->item->groups * carafe_padded(s->args->part)};
}

static int64_t write_pixel(const struct spread *s, int64_t to, float *from, int64_t length) {
  void *grad_input = s->args->grad_input;
  const int is_half = s->args->shape.is_half;
  int64_t c = 0;
  for (; c + VL <= length; c += VL) {
    vf_store_as(grad_input, to + c, vf_load(from + c), is_half);
    vf_store(from + c, vf_set(0.0f));
  }
  if (c < length) {
    vf_store_part_as(grad_input, to + c, vf_load(from + c), length - c, is_half);
    vf_store(from + c, vf_set(0.0f));
  }
  return length;
}

/* Columns [begin, end) of row y are complete: they are written, and cleared in the ring. */
static void write_pixels(const struct spread *s, int64_t y, int64_t begin, int64_t end) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_item *item = s->item;
  const struct carafe_rows map = ring_map(s);
  float *ring = s->totals != NULL ? s->totals : s->ring;
  for (int64_t x = begin; x < end; x++) {
    for (int64_t g = 0; g < item->groups; g++) {
      int64_t to = (((item->n * a->H + y) * a->W + x) * a->G + item->group + g) * a->C;
      for (int64_t c = 0; c < a->C; c += s->args->part) {
        float *from =
            ring_row(s, ring, c / s->args->part, y) + (x - map.first) * map.pixel + g * map.group;
        to += write_pixel(s, to, from, carafe_min(s->args->part, a->C - c));
      }
    }
  }
}

/* total += part; part = 0 */
static void move_sums(float *total, float *part, int64_t count) {
  for (int64_t i = 0; i < count; i += VL) {
    vf_store(total + i, vf_load(total + i) + vf_load(part + i));
    vf_store(part + i, vf_set(0.0f));
  }
}

/* Some chunks of the pixels of windows, and one part of the channels, of the segment [begin, end)
   of window row item->row. */
static void spread_chunks(const struct spread *s, int64_t part, struct carafe_span chunks,
                          int64_t begin, int64_t end) {
  const struct carafe_shape *a = &s->args->shape;
  struct carafe_item item = *s->item;
  item.channel = part * s->args->part;
  item.length = carafe_min(s->args->part, a->C - item.channel);
  struct carafe_rows map = ring_map(s);
  struct line t = {.K = a->K,
                   .columns = {item.column, item.column + item.columns},
                   .map = &map,
                   .values = (void *)s->args->grad_output,
                   .is_half = a->is_half};
  struct walk w = {.shape = a,
                   .item = &item,
                   .mask = s->args->mask,
                   .weights = s->weights,
                   .table = spread_lines,
                   .row = item.row,
                   .rows = rows_in_reach(s),
                   .most_rows = a->K,
                   .columns = SEGMENT,
                   .chunks = chunks};
  w.first_row = w.rows.begin;
  for (int64_t y = w.rows.begin; y < w.rows.end; y++) {
    map.row[y - w.rows.begin] = ring_row(s, s->ring, part, y);
  }
  walk_columns(&t, &w, begin, end);
}

/* What the segment gave to one part of the channels. */
static void total_segment(const struct spread *s, int64_t part, int64_t begin, int64_t end) {
  const struct carafe_item *item = s->item;
  const int64_t r = (s->args->shape.K - 1) / 2, pixel = ring_map(s).pixel;
  const int64_t left = carafe_max(begin - r - item->column, 0);
  const int64_t right = carafe_min(end + r - item->column, item->columns);
  const struct carafe_span rows = rows_in_reach(s);
  for (int64_t y = rows.begin; y < rows.end && left < right; y++) {
    move_sums(ring_row(s, s->totals, part, y) + left * pixel,
              ring_row(s, s->ring, part, y) + left * pixel, (right - left) * pixel);
  }
}

static void spread_segment(const struct spread *s, int64_t begin, int64_t end) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t all = carafe_chunks(a), most = CARAFE_PART_TERMS / (CARAFE_TILE * a->K);
  const int64_t step = s->totals != NULL ? carafe_max(1, most) : all;
  for (int64_t part = 0; part < carafe_div_up(a->C, s->args->part); part++) {
    for (int64_t chunk = 0; chunk < all; chunk += step) {
      const int64_t stop = carafe_min(all, chunk + step);
      spread_chunks(s, part, (struct carafe_span){chunk, stop}, begin, end);
      if (stop < all) total_segment(s, part, begin, end);
    }
  }
}

/* The row that leaves the reach of the windows, before column `end`. */
static void write_columns(struct spread *s, int64_t end) {
  const int64_t y = s->item->row - (s->args->shape.K - 1) / 2;
  if (s->totals != NULL || y < s->begin || y >= s->end || s->column >= end) return;
  write_pixels(s, y, s->column, end);
  s->column = end;
}

/* After all segments of a window row: after the last row of all, everything is written. */
static void end_row(struct spread *s, int is_last) {
  const int64_t parts = carafe_div_up(s->args->shape.C, s->args->part);
  const struct carafe_span rows = rows_in_reach(s);
  const int64_t leaving = s->item->row - (s->args->shape.K - 1) / 2;
  for (int64_t y = rows.begin; y < rows.end && s->totals != NULL; y++) {
    for (int64_t part = 0; part < parts; part++) {
      move_sums(ring_row(s, s->totals, part, y), ring_row(s, s->ring, part, y), spread_row_size(s));
    }
  }
  const int64_t first = carafe_max(leaving, s->begin);
  for (int64_t y = first; y < (is_last ? s->end : carafe_min(leaving + 1, s->end)); y++) {
    write_pixels(s, y, s->column, s->item->column + s->item->columns);
    s->column = s->item->column;
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_GRAD_INPUT_H_ */

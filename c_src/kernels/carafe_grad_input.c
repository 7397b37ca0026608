/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/carafe_line.h"

/* grad_input is owned in strips of rows. Row by row of grad_output, a thread adds to a ring of
   those rows of its strip that are in reach of the windows; a row that nothing more is added to is
   written out. For each element the order of additions is that of the rows and columns of
   grad_output, wherever strips begin. */

/* Rounding errors grow with the length of a sum: above this K, each row of grad_output is summed on
   its own first. */
enum { MAX_DIRECT_K = 11 };

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

/* grad_output is read once, from far away: asks for a tile that comes later. */
MLUOP_INLINE void ask_for_values(const struct line *t, int64_t from, int pixels, int vectors) {
  const int64_t size = t->is_half ? 2 : 4;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const char *at = (const char *)t->values + (from + t->values_pixel[e]) * size;
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) mluop_prefetch(at + v * VL * size);
  }
}

MLUOP_INLINE void spread_line(const struct line *t, int pixels, int shared, int vectors) {
  const float *weights = t->weights;
  int64_t from = t->at;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    vf value[PIXELS][VECTORS];
    load_values(value, t, from, pixels, vectors);
    ask_for_values(t, from + 2 * t->values_step, pixels, vectors);
    pass_rows(value, t, weights, j, pixels, shared, vectors, 1);
    weights += t->weights_step;
    from += t->values_step;
  }
}

LINE_TABLE(spread_line)

/* The rows of a strip that one call owns: [begin, end), of the item's columns and channels. */
struct strip {
  struct carafe_item item;
  int64_t begin, end;
};

static void write_row(const struct carafe_backward_args *args, const struct strip *strip,
                      const struct carafe_rows *map, int64_t y, const float *row) {
  const struct carafe_shape *a = &args->shape;
  const struct carafe_item *item = &strip->item;
  for (int64_t x = item->column; x < item->column + item->columns; x++) {
    for (int64_t g = 0; g < item->groups; g++) {
      const float *from = row + (x - item->column) * map->pixel + g * map->group;
      const int64_t to =
          (((item->n * a->H + y) * a->W + x) * a->G + item->group + g) * a->C + item->channel;
      int64_t c = 0;
      for (; c + VL <= item->length; c += VL) {
        vf_store_as(args->grad_input, to + c, vf_load(from + c), a->is_half);
      }
      if (c < item->length) {
        vf_store_part_as(args->grad_input, to + c, vf_load(from + c), item->length - c, a->is_half);
      }
    }
  }
}

static void clear_floats(float *to, int64_t count) { memset(to, 0, (size_t)count * sizeof(*to)); }

/* total += part; part = 0 */
static void move_sums(float *total, float *part, int64_t count) {
  for (int64_t i = 0; i < count; i += VL) {
    vf_store(total + i, vf_load(total + i) + vf_load(part + i));
    vf_store(part + i, vf_set(0.0f));
  }
}

static void do_strip(const struct carafe_backward_args *args, const struct strip *strip,
                     float *scratch) {
  const struct carafe_shape *a = &args->shape;
  const struct carafe_item *item = &strip->item;
  const int64_t r = (a->K - 1) / 2, slots = carafe_ring_rows(a);
  struct carafe_rows map = {.first = item->column,
                            .group = carafe_padded(args->plan.part),
                            .pixel = carafe_ring_pixel(&args->plan)};
  const int64_t size = item->columns * map.pixel;
  float *ring = scratch + carafe_weights_size(a);
  float *totals = a->K > MAX_DIRECT_K ? ring + slots * size : NULL;
  clear_floats(ring, (totals != NULL ? 2 : 1) * slots * size);
  struct line t = {.K = a->K,
                   .columns = {item->column, item->column + item->columns},
                   .map = &map,
                   .values = (void *)args->grad_output,
                   .is_half = a->is_half};
  struct walk w = {.shape = a,
                   .item = item,
                   .mask = args->mask,
                   .weights = scratch,
                   .table = spread_lines,
                   .most_rows = a->K};
  const int64_t last = carafe_min(a->H, strip->end + r);
  const int64_t left = carafe_window(item->column, a->K, a->W).begin;
  const int64_t right = carafe_window(item->column + item->columns - 1, a->K, a->W).end;
  int64_t done = strip->begin; /* rows before this one are written */
  for (w.row = carafe_max(0, strip->begin - r); w.row < last; w.row++) {
    w.rows = carafe_window(w.row, a->K, a->H);
    w.rows = (struct carafe_span){carafe_max(w.rows.begin, strip->begin),
                                  carafe_min(w.rows.end, strip->end)};
    w.first_row = w.rows.begin;
    for (int64_t y = w.rows.begin; y < w.rows.end; y++) {
      map.row[y - w.rows.begin] = ring + y % slots * size;
    }
    walk_columns(&t, &w, left, right);
    for (int64_t y = w.rows.begin; y < w.rows.end && totals != NULL; y++) {
      move_sums(totals + y % slots * size, ring + y % slots * size, size);
    }
    const int64_t ready = w.row + 1 == last ? strip->end : carafe_min(strip->end, w.row - r + 1);
    for (; done < ready; done++) {
      float *row = (totals != NULL ? totals : ring) + done % slots * size;
      write_row(args, strip, &map, done, row);
      clear_floats(row, size);
    }
  }
}

void MLUOP_VARIANT(carafe_grad_input)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct carafe_backward_args *args = vargs;
  const int64_t rows = args->plan.rows;
  while (begin < end) {
    struct strip strip = {.item = carafe_item_at(&args->shape, &args->plan, begin)};
    const int64_t stop = carafe_min(end, (begin / rows + 1) * rows);
    strip.begin = strip.item.row;
    strip.end = carafe_min(args->shape.H, strip.begin + stop - begin);
    if (strip.begin < strip.end) do_strip(args, &strip, scratch);
    begin = stop;
  }
}

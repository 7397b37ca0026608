/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/kernels.h"
#include "families/carafe/line_table.h"
#include "families/carafe/store.h"
#include "families/carafe/walk.h"

/* Many weights of halves are not converted before, but each when it meets the channels, if these
   are so many that it is hidden behind their products. */
enum { MIN_CHANNELS_BY_HALVES = 49 };

/* Rounding errors grow with the length of a sum: longer ones are sums of sums of about this
   length. */
enum { SUM_LENGTH = 128 };

MLUOP_INLINE void clear(vf sum[PIXELS][VECTORS], int pixels, int vectors) {
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) sum[e][v] = vf_set(0.0f);
  }
}

/* Adds the sums of earlier rows and keeps the result for later ones. */
MLUOP_INLINE float *add_total(vf sum[PIXELS][VECTORS], const struct line *t, float *total,
                              int pixels, int vectors) {
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
      float *at = total + (e * vectors + v) * VL;
      if (!t->first) sum[e][v] = sum[e][v] + vf_load(at);
      if (!t->final) vf_store(at, sum[e][v]);
    }
  }
  return total + pixels * vectors * VL;
}

/* All groups of a column, in the order of their weights in the mask. */
MLUOP_INLINE void sum_column(const struct line *t, struct line *group, const float *weights,
                             int64_t j, int64_t out, float *ends, int pixels, int vectors) {
  for (int64_t g = 0; g < t->groups; g++) {
    if (t->ask > 0) {
      for (int e = 0; e < pixels; e++) {
        ask_for(weights + t->weights_pixel[e] + t->ask, t->ask_bytes);
      }
    }
    for (int64_t begin = 0; begin < t->cuts * vectors * VL; begin += vectors * VL) {
      vf sum[PIXELS][VECTORS];
      clear(sum, pixels, vectors);
      group->channel = t->channel + g * t->map->group + begin;
      group->length = t->length - begin;
      if (t->next != NULL) group->next = t->next + g * t->next_group + begin / VL * t->next_vector;
      group->turned = t->turned + begin / VL;
      pass_rows(sum, group, weights, j, 0, pixels, SHARED, vectors, 0);
      float *first = ends != NULL && begin < CARAFE_PAD ? ends + begin : NULL;
      store_sums(sum, group, j, out + begin, first, 0, pixels, SHARED, vectors);
    }
    weights += t->K * t->K;
    out += t->group;
    if (ends != NULL) ends += CARAFE_PAD;
    for (int e = 0; e < pixels; e++) group->at_once[e] = ALWAYS;
  }
}

MLUOP_INLINE void sum_groups(const struct line *t, int pixels, int vectors) {
  struct line group = *t;
  const float *weights = t->weights;
  float *ends = t->ends;
  int64_t out = t->at;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    for (int e = 0; e < pixels; e++) group.at_once[e] = t->at_once[e];
    sum_column(t, &group, weights, j, out, ends, pixels, vectors);
    weights += t->weights_step;
    out += t->values_step;
    if (ends != NULL) ends += t->ends_step;
  }
}

MLUOP_INLINE void sum_line(const struct line *t, int pixels, int kind, int vectors) {
  if (kind == GROUPED) {
    sum_groups(t, pixels, vectors);
    return;
  }
  const void *weights = t->weights;
  float *ends = t->ends, *total = t->total;
  const int64_t turn = kind % OF_HALVES == JOINED ? mluop_pin(t->turn) : 0;
  int64_t out = t->at;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    vf sum[PIXELS][VECTORS];
    clear(sum, pixels, vectors);
    if (t->ask > 0) {
      for (int e = 0; e < pixels; e++) {
        ask_for(mluop_at(weights, t->weights_pixel[e] + t->ask, by_halves(kind)), t->ask_bytes);
      }
    }
    pass_rows(sum, t, weights, j, turn, pixels, kind, vectors, 0);
    if (t->total != NULL) total = add_total(sum, t, total, pixels, vectors);
    if (t->final) store_sums(sum, t, j, out, ends, turn, pixels, kind, vectors);
    weights = mluop_at(weights, t->weights_step, by_halves(kind));
    out += t->values_step;
    if (ends != NULL) ends += t->ends_step;
  }
}

LINE_KINDS(sum_line, 0, 1)
LINE_SHARED_FUNCTIONS(sum_line, 8)
#if defined(__AVX512F__) /* a vector is a line */
LINE_FUNCTIONS(sum_line, 4, 2)
LINE_KINDS(sum_line, 3, 4)
LINE_FUNCTIONS(sum_line, 4, 5)
LINE_KINDS(sum_line, 6, 7)
static line_table sum_lines = {LINE_ENTRIES(sum_line, 0, 1), LINE_JOINED_ENTRY(sum_line, 2),
                               LINE_ENTRIES(sum_line, 3, 4), LINE_JOINED_ENTRY(sum_line, 5),
                               LINE_ENTRIES(sum_line, 6, 7), LINE_SHARED_ENTRY(sum_line, 8)};
#elif defined(__AVX2__)
LINE_KINDS(sum_line, 3, 4)
static line_table sum_lines = {LINE_ENTRIES(sum_line, 0, 1), LINE_ENTRIES(sum_line, 3, 4),
                               LINE_SHARED_ENTRY(sum_line, 8)};
#else
static line_table sum_lines = {LINE_ENTRIES(sum_line, 0, 1), LINE_SHARED_ENTRY(sum_line, 8)};
#endif

/* Words [begin, end) of a line of the output, which others may write the rest of. */
static void write_part(const struct line *t, int64_t at, const float *from, int64_t begin,
                       int64_t end) {
  memcpy((float *)t->values + at + begin, from + begin, (size_t)(end - begin) * sizeof(*from));
}

/* A line of the output that has the last `turn` channels of a group and the first of the next. */
static void write_line(const struct line *t, int64_t at, const float *next, const vm *turned) {
  for (int v = 0; v < END_VECTORS; v++) {
    const float *from = next + v * VL;
    vf_stream((float *)t->values + at + v * VL,
              vf_select(turned[v], vf_load(from - CARAFE_PAD), vf_load(from)));
  }
}

/* Pixels of a row of the output in a segment. */
struct stretch {
  int64_t at, count;     /* the first pixel's block in the output, in words */
  int is_first, is_last; /* in the row of an item */
};

/* Lines that no tile has written, of which *ends is the first. The ends of the last pixel are kept
   for the next stretch of the row. */
static void write_row_ends(const struct line *t, const struct walk *w, const struct stretch *row,
                           float *ends) {
  const struct carafe_shape *a = w->shape;
  const int64_t groups = w->item->groups, step = groups * CARAFE_PAD;
  const int64_t C = carafe_words(a, a->C), pixel = a->G * C, turn = carafe_words(a, w->turn);
  const int alone = groups < a->G; /* other items have what is before and after each pixel */
  const int64_t at = row->at - turn, last = row->count - 1;
  if (alone || row->is_first) write_part(t, at, ends, turn, CARAFE_PAD);
  if (alone) {
    for (int64_t i = 1; i <= last; i++) {
      write_part(t, at + (i - 1) * pixel + groups * C, ends + i * step - CARAFE_PAD, 0, turn);
      write_part(t, at + i * pixel, ends + i * step, turn, CARAFE_PAD);
    }
  } else if (ends_at_once(a, 0, 0) == LATER) {
    const int64_t pixels = a->G > 1 ? 1 : a->S;
    for (int64_t i = row->is_first ? pixels : 0; i <= last; i += pixels) {
      write_line(t, at + i * pixel, ends + i * step, w->turned);
    }
  }
  const float *end = ends + row->count * step - CARAFE_PAD;
  if (alone || row->is_last) write_part(t, at + last * pixel + groups * C, end, 0, turn);
  memcpy(ends - CARAFE_PAD, end, CARAFE_PAD * sizeof(*ends));
}

static void write_segment_ends(const struct line *t, const struct walk *w, int64_t begin,
                               int64_t end) {
  const struct carafe_shape *a = w->shape;
  const struct carafe_item *item = w->item;
  struct stretch row = {.count = (end - begin) * a->S,
                        .is_first = begin == item->column,
                        .is_last = end == item->column + item->columns};
  for (int64_t u = 0; u < a->S; u++) {
    const int64_t pixel = (((item->n * a->H + w->row) * a->S + u) * a->W + begin) * a->S;
    row.at = (pixel * a->G + item->group) * carafe_words(a, a->C);
    write_row_ends(t, w, &row, w->ends + (u * carafe_ends_row(a) + 1) * item->groups * CARAFE_PAD);
  }
}

/* Lanes of the first vectors of a group that hold the end of the one before. */
static void see_turned(vm turned[END_VECTORS], int64_t turn) {
  static const float places[CARAFE_PAD] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (int v = 0; v < END_VECTORS; v++) {
    turned[v] = vf_greater(vf_set((float)turn), vf_load(places + v * VL));
  }
}

/* NULL, or where column 0 of row y of the item is in the input, if it will be packed. */
static const char *next_to_pack(const struct carafe_forward_args *args,
                                const struct carafe_item *item, int64_t y) {
  const struct carafe_shape *a = &args->shape;
  if (!args->plan.packed || y == a->H) return NULL;
  const int64_t block = (item->n * a->H + y) * a->W * a->G + item->group;
  return (const char *)args->input + (block * a->C + item->channel) * (a->is_half ? 2 : 4);
}

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  float *ends = (float *)scratch + carafe_weights_size(a);
  float *ring = args->plan.packed ? ends + carafe_ends_size(a, &args->plan) : NULL;
  struct carafe_source source = {.ring = ring, .strip = -1};
  const int64_t size = a->is_half ? 2 : 4;
  struct line t = {.K = a->K,
                   .columns = {0, a->W},
                   .map = &source.rows,
                   .values = args->output,
                   .is_half = a->is_half,
                   .stream = args->stream,
                   .turn = args->plan.packed ? 0 : args->plan.turn,
                   .group = carafe_words(a, a->C),
                   .next_column = a->G * a->C * size,
                   .next_group = a->C * size,
                   .next_vector = VL * size};
  struct walk w = {
      .shape = a,
      .mask = args->mask,
      .weights = scratch,
      .table = sum_lines,
      .most_rows = carafe_max(1, SUM_LENGTH / a->K),
      .columns = SEGMENT,
      .turn = args->plan.turn,
      .ends = ends,
      .halves = a->is_half && !args->plan.packed,
      .by_halves = END_VECTORS == 1 && args->plan.packed && a->C >= MIN_CHANNELS_BY_HALVES,
      .grouped = args->grouped};
  see_turned(w.turned, carafe_words(a, w.turn));
  if (a->S > 1 && carafe_ring_rows(a) > w.most_rows) w.columns = TOTAL_PIXELS / PIXELS;
  for (int64_t index = begin; index < end; index++) {
    const struct carafe_item item = carafe_item_at(a, &args->plan, index);
    if (item.row >= a->H) continue;
    carafe_see(&source, a, &args->plan, &item, args->input);
    w.item = &item;
    w.row = item.row;
    w.rows = carafe_window(item.row, a->K, a->H);
    w.first_row = w.rows.begin;
    w.next = next_to_pack(args, &item, w.rows.end);
    for (int64_t j = item.column, next; j < item.column + item.columns; j = next) {
      next = carafe_min(j + w.columns, item.column + item.columns);
      walk_segment(&t, &w, j, next);
      if (args->stream && w.turn > 0 && item.channel == 0) write_segment_ends(&t, &w, j, next);
    }
  }
  if (args->stream) vf_stream_end();
}

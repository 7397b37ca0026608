/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/forward.h"

#include "families/carafe/kernels.h"
#include "families/carafe/pack.h"
#include "families/carafe/small_channels.h"
#include "families/carafe/tile.h"

/* What a walk over an item works with. */
struct walk {
  const struct carafe_forward_args *args;
  struct output output;
  struct ring ring; /* of the item */
  struct carafe_forward_memory memory;
  struct prefetch prefetch;
  struct small_channels small;
};

/* The channels of group g, in cuts of about the same size. */
static void sum_group(struct walk *w, struct tiles *t, int64_t g, int pixels, int neighbours) {
  const struct carafe_item *item = &w->ring.item;
  const int64_t per = w->output.in_lines ? vectors_of_words(w->output.is_half) : 1;
  const int64_t most = VECTORS / per * per, all = carafe_div_up(item->length, VL);
  const int64_t cuts = carafe_div_up(all, most);
  for (int64_t cut = 0, begin = 0; cut < cuts; cut++) {
    const int64_t vectors = carafe_div_up(all - begin, (cuts - cut) * per) * per;
    t->base = g * w->ring.group + begin * VL - w->ring.columns.begin * t->column;
    t->channel = item->channel + begin * VL;
    t->length = carafe_min(item->length - begin * VL, vectors * VL);
    tiles_functions[neighbours][pixels - 1][vectors - 1](t);
    t->ahead = NULL;
    begin += vectors;
  }
}

/* Where `pixels` of each window are, or neighbours, from number `first` on. */
static void place_pixels(const struct walk *w, struct tiles *t, const struct weights *weights,
                         int64_t first, int pixels, int neighbours) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_item *item = &w->ring.item;
  const int64_t S = a->S, row = S * a->W, across = neighbours ? PIXELS : S;
  const int64_t pixel = (item->n * a->H + item->row) * S * row + t->begin * S;
  for (int e = 0; e < pixels; e++) {
    const int64_t u = (first + e) / across, v = (first + e) % across;
    t->weights_of[e] = u * weights->row + v * weights->pixel;
    t->at_of[e] = (u * row + v) * a->G * a->C;
  }
  t->step = neighbours ? PIXELS : 1;
  t->weights_step = t->step * S * weights->pixel;
  t->at_step = t->step * S * a->G * a->C;
  t->weights = weights->first;
  t->at = (pixel * a->G + item->group) * a->C;
}

static void sum_pixels(struct walk *w, struct tiles *t, const struct weights *weights,
                       int64_t first, int pixels, int neighbours) {
  place_pixels(w, t, weights, first, pixels, neighbours);
  for (int64_t g = 0; g < w->ring.item.groups; g++) {
    sum_group(w, t, g, pixels, neighbours);
    t->weights += weights->group;
    t->at += w->args->shape.C;
  }
}

/* Neighbours in tiles of 4, and what is left one by one; or the pixels of each window. */
static void sum_windows(struct walk *w, struct tiles *t, struct weights *weights) {
  const struct carafe_shape *a = &w->args->shape;
  if (a->S == 1 && a->K > 1) {
    const int64_t stop = t->end, whole = (stop - t->begin) / PIXELS * PIXELS;
    t->end = t->begin + whole;
    sum_pixels(w, t, weights, 0, PIXELS, 1);
    weights->first += whole * weights->pixel;
    t->begin = t->end;
    t->end = stop;
  }
  const int64_t all = a->S * a->S, chunks = carafe_chunks(a);
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    const int64_t first = all * chunk / chunks, stop = all * (chunk + 1) / chunks;
    sum_pixels(w, t, weights, first, (int)(stop - first), 0);
  }
}

/* The same for all groups of each pixel, which share vectors. */
static void sum_small_groups(struct walk *w, struct tiles *t, struct weights *weights) {
  const struct carafe_shape *a = &w->args->shape;
  const int64_t all = a->S * a->S, chunks = carafe_chunks(a);
  w->small.weights = weights->group;
  t->base = -w->ring.columns.begin * t->column;
  t->length = w->ring.item.groups * a->C;
  for (; t->begin < t->end; t->begin++) {
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
      const int64_t first = all * chunk / chunks, stop = all * (chunk + 1) / chunks;
      place_pixels(w, t, weights, first, (int)(stop - first), 0);
      small_functions[stop - first - 1][w->small.log](t, &w->small);
    }
    weights->first += a->S * weights->pixel;
    pack_ahead(&w->ring, 1);
  }
}

/* The masks of as many windows as `columns` has, which follow those in the row or begin the next
   one: of each group, the rows of taps that lie on the map. */
static void prefetch_masks(struct walk *w, struct carafe_span columns) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_item *item = &w->ring.item;
  const int is_end = columns.end == item->column + item->columns;
  const int64_t y = item->row + is_end, x = is_end ? item->column : columns.end, S = a->S;
  const struct carafe_span under = carafe_window(y, a->K, a->H);
  const int64_t row = a->K * (a->is_half ? 2 : 4), group = a->K * row, pixel = a->G * group;
  const char *mask = w->args->mask;
  mask += ((item->n * a->H + y) * S * a->W + x) * S * pixel + item->group * group +
          (under.begin - y + a->K / 2) * row;
  for (int64_t u = S - 1; u >= 0; u--) {
    prefetch_add(&w->prefetch, (struct prefetch_area){.first = mask + u * S * a->W * pixel,
                                                      .bytes = (under.end - under.begin) * row,
                                                      .count = item->groups,
                                                      .step = group,
                                                      .rows = (columns.end - columns.begin) * S,
                                                      .row_step = pixel});
  }
}

/* What will be needed next is prefetched between the tiles of a segment: the masks of the segment
   that follows, and the pixels of the row that is packed after the next one. */
static void prefetch_next(struct walk *w, struct tiles *t, struct carafe_span columns) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_item *item = &w->ring.item;
  const struct carafe_span under = carafe_window(item->row, a->K, a->H);
  const int64_t size = a->is_half ? 2 : 4, S = a->S;
  const int64_t count = columns.end - columns.begin, y = item->row + a->K / 2 + 2;
  const char *input = w->args->input;
  t->prefetch = &w->prefetch;
  t->prefetched = 0;
  w->prefetch = (struct prefetch){.areas = 0};
  if (!w->args->large) return;
  prefetch_masks(w, columns);
  if (y < a->H) {
    const int64_t from = ((item->n * a->H + y) * a->W + columns.begin) * a->G + item->group;
    prefetch_add(&w->prefetch,
                 (struct prefetch_area){.first = input + (from * a->C + item->channel) * size,
                                        .bytes = ((item->groups - 1) * a->C + item->length) * size,
                                        .count = count,
                                        .step = a->G * a->C * size,
                                        .rows = 1});
  }
  const int64_t lanes = w->args->plan.lanes, chunks = carafe_chunks(a);
  const int64_t vectors = lanes > 0 ? carafe_div_up(item->groups * lanes, VL)
                                    : item->groups * carafe_div_up(item->length, VECTORS * VL);
  const int64_t windows = S == 1 && lanes == 0 ? carafe_div_up(count, PIXELS) : count * chunks;
  const int64_t taps = (under.end - under.begin) * carafe_min(a->K, a->W);
  const int64_t times = lanes > 0 ? carafe_max(1, taps / prefetch_taps(lanes)) : 1;
  t->prefetched = carafe_div_up(w->prefetch.lines, vectors * windows * times);
}

/* Windows of the item's row. */
static void sum_segment(struct walk *w, struct tiles *t, struct carafe_span columns) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_span under = carafe_window(w->ring.item.row, a->K, a->H);
  prefetch_next(w, t, columns);
  t->begin = columns.begin;
  t->end = columns.end;
  t->row_count = under.end - under.begin;
  t->ahead = &w->ring;
  for (int64_t i = 0; i < t->row_count; i++) {
    t->rows[i] = w->ring.floats + (under.begin + i) % w->ring.slots * w->ring.pixel;
  }
  struct weights weights = pack_weights(&w->ring, w->memory.weights, columns);
  weights.first += (under.begin - w->ring.item.row + a->K / 2) * a->K;
  if (w->args->plan.lanes > 0) {
    sum_small_groups(w, t, &weights);
  } else {
    sum_windows(w, t, &weights);
  }
}

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  struct mluop_arena arena = {scratch, 0};
  struct walk w = {.args = args, .output = output_of(args), .memory = carafe_lay_out(args, &arena)};
  w.ring = (struct ring){.args = args,
                         .rotation = w.output.rotation * (a->is_half ? 2 : 1),
                         .floats = w.memory.ring,
                         .slots = carafe_ring_slots(a),
                         .pixel = carafe_ring_pixel(&args->plan),
                         .group = carafe_padded(args->plan.part),
                         .strip = -1};
  if (args->plan.lanes > 0) list_lanes(&w.small, a->C, args->plan.lanes);
  struct tiles t = {.K = a->K,
                    .W = a->W,
                    .rows_at_once = carafe_max(1, CARAFE_SUM_LENGTH / a->K),
                    .column = w.ring.slots * w.ring.pixel,
                    .output = &w.output};
  for (int64_t index = begin; index < end; index++) {
    const struct carafe_item item = carafe_item_at(a, &args->plan, index);
    if (item.row >= a->H) continue;
    w.ring.item = item;
    pack_rows(&w.ring);
    const int64_t stop = item.column + item.columns, columns = carafe_segment(args);
    for (int64_t j = item.column; j < stop; j += columns) {
      sum_segment(&w, &t, (struct carafe_span){j, carafe_min(j + columns, stop)});
    }
  }
  if (w.output.past_caches) vf_stream_end();
}

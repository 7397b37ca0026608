/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/group_tile.h"
#include "families/carafe/kernels.h"

/* Weights are asked for so long before they are needed. */
enum { ASK_BYTES = 4000 };

enum { MAX_CHUNKS = 7 }; /* of the pixels of a window, in the forward operator */

/* What a thread works with. */
struct walk {
  const struct carafe_forward_args *args;
  const struct carafe_item *item;
  tile_function *const (*functions)[PIXELS];
  float *ring, *guarded; /* guarded: room for the weights of a vector */
  int64_t strip, packed; /* rows of `strip` before `packed` are in the ring */
  struct carafe_rows rows;
  int32_t spread[MAX_LANES], squeeze[MAX_LANES];
  int chunks, pixels[MAX_CHUNKS]; /* of a window, and where they are in the output */
  int64_t offset[MAX_CHUNKS * PIXELS];
  int64_t row_block;   /* the first of the item's row of windows */
  int64_t group_bytes; /* of weights */
  int64_t last_group;  /* the first one of the last vector */
  int64_t last_safe;   /* block after whose groups there is enough of the mask for whole vectors */
  struct carafe_span on_map; /* columns of the window that `taps` is for, from its centre */
  struct taps taps;
};

/* Channels of a vector, and where they are without padding. */
static void set_lanes(struct walk *w) {
  const int64_t C = w->args->shape.C, lanes = w->args->plan.lanes, groups = MAX_LANES / lanes;
  for (int64_t i = 0; i < MAX_LANES; i++) {
    w->spread[i] = (int32_t)(i / lanes * C + carafe_min(i % lanes, C - 1));
    w->squeeze[i] = i < groups * C ? (int32_t)(i / C * lanes + i % C) : 0;
  }
}

/* A pixel of the input, its groups padded; what pads is one of their channels. */
static void spread_pixel(const struct walk *w, float *to, int64_t from) {
  const struct carafe_shape *a = &w->args->shape;
  const int64_t step = MAX_LANES / w->args->plan.lanes * a->C;
  for (int64_t left = w->item->groups * a->C; left > 0; left -= step, from += step) {
    float channels[MAX_LANES];
    for (int64_t c = 0; c < MAX_LANES; c += VL) {
      const int64_t count = carafe_max(0, carafe_min(VL, carafe_min(left, step) - c));
      vf_store(channels + c, vf_load_part_as(w->args->input, from + c, count, a->is_half));
    }
    for (int64_t c = 0; c < MAX_LANES; c += VL, to += VL) {
      vf_store(to, vf_lookup16(channels, vi_load(w->spread + c)));
    }
  }
}

static void copy_pixel(const struct walk *w, float *to, int64_t from) {
  const struct carafe_shape *a = &w->args->shape;
  const int64_t length = w->item->groups * a->C;
  int64_t c = 0;
  for (; c + VL <= length; c += VL) {
    vf_store(to + c, vf_load_as(w->args->input, from + c, a->is_half));
  }
  if (c < length) {
    vf_store(to + c, vf_load_part_as(w->args->input, from + c, length - c, a->is_half));
  }
}

static void pack_groups_row(const struct walk *w, int64_t y, float *to) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_item *item = w->item;
  const int64_t end = carafe_window(item->column + item->columns - 1, a->K, a->W).end;
  for (int64_t x = w->rows.first; x < end; x++, to += w->rows.pixel) {
    const int64_t from = (((item->n * a->H + y) * a->W + x) * a->G + item->group) * a->C;
    if (w->args->plan.lanes == a->C) {
      copy_pixel(w, to, from);
    } else {
      spread_pixel(w, to, from);
    }
  }
}

/* Packs the rows under the item's windows that are new. */
static void see(struct walk *w) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_item *item = w->item;
  const struct carafe_span window = carafe_window(item->row, a->K, a->H);
  const int64_t slots = carafe_ring_rows(a), pixel = carafe_ring_pixel(&w->args->plan);
  w->rows.first = carafe_window(item->column, a->K, a->W).begin;
  w->rows.pixel = slots * pixel;
  if (w->strip != item->strip) w->packed = window.begin;
  w->strip = item->strip;
  for (; w->packed < window.end; w->packed++) {
    pack_groups_row(w, w->packed, w->ring + w->packed % slots * pixel);
  }
  for (int64_t y = window.begin; y < window.end; y++) {
    w->rows.row[y - window.begin] = w->ring + y % slots * pixel;
  }
  w->on_map = (struct carafe_span){0, 0};
}

/* Runs of taps, and parts of sums, of about SUM_LENGTH at most. */
static void add_span(struct taps *taps, int64_t tap, int64_t count, int64_t *part) {
  while (count > 0) {
    struct run *last = taps->runs > 0 ? &taps->run[taps->runs - 1] : NULL;
    if (*part >= SUM_LENGTH) {
      last->ends_part = 1;
      *part = 0;
    }
    const int64_t more = carafe_min(count, SUM_LENGTH - *part);
    if (*part > 0 && last->tap + last->count == tap) {
      last->count += more;
    } else {
      taps->run[taps->runs++] = (struct run){tap, more, 0};
    }
    *part += more;
    tap += more;
    count -= more;
  }
}

/* Taps of windows around columns whose neighbours `on_map` are on the map. */
static void list_taps(struct walk *w, struct carafe_span on_map) {
  if (on_map.begin == w->on_map.begin && on_map.end == w->on_map.end) return;
  const struct carafe_shape *a = &w->args->shape;
  const int64_t r = (a->K - 1) / 2;
  const struct carafe_span window = carafe_window(w->item->row, a->K, a->H);
  int64_t *at = w->taps.at, part = 0;
  w->on_map = on_map;
  w->taps.runs = 0;
  for (int64_t y = window.begin; y < window.end; y++) {
    const int64_t row = w->rows.row[y - window.begin] - w->ring;
    const int64_t tap = (y - w->item->row + r) * a->K + on_map.begin + r;
    add_span(&w->taps, tap, on_map.end - on_map.begin, &part);
    for (int64_t x = on_map.begin; x < on_map.end; x++) *at++ = row + x * w->rows.pixel;
  }
  w->taps.run[w->taps.runs - 1].ends_part = 1;
}

/* The last vector has room for more groups, and fours of weights go on after the last tap: where
   that is beyond the mask, the weights are copied. So are those of all vectors, if a group has but
   one: three groups later may be beyond the mask as well. */
static void copy_weights(const struct walk *w, struct tile *t, int e) {
  const struct carafe_shape *a = &w->args->shape;
  const int64_t first = a->K > 1 ? w->last_group : 0;
  const char *weights = t->weights[e];
  const int64_t room = carafe_guarded_floats(a, &w->args->plan);
  char *copy = (char *)(w->guarded + e * room);
  memset(copy, 0, (size_t)room * sizeof(float));
  memcpy(copy, weights + first * w->group_bytes, (size_t)((t->groups - first) * w->group_bytes));
  if (first == 0) t->weights[e] = copy;
  t->last[e] = copy + (w->last_group - first) * w->group_bytes;
}

/* Pixel e of a tile, whose groups begin with number `block` of the output. */
MLUOP_INLINE void see_pixel(const struct walk *w, struct tile *t, int e, int64_t block) {
  const char *weights = (const char *)w->args->mask + block * w->group_bytes;
  t->at[e] = block * t->C;
  t->weights[e] = weights;
  t->last[e] = weights + w->last_group * w->group_bytes;
  if (block > w->last_safe) copy_weights(w, t, e);
}

/* The S x S pixels of a window, in chunks of 3 or 4. */
static void do_window(struct walk *w, struct tile *t, int64_t j) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_span window = carafe_window(j, a->K, a->W);
  const int64_t block = w->row_block + j * a->S * a->G, *offset = w->offset;
  list_taps(w, (struct carafe_span){window.begin - j, window.end - j});
  t->x[0] = w->ring + (j - w->rows.first) * w->rows.pixel;
  for (int chunk = 0; chunk < w->chunks; chunk++) {
    const int pixels = w->pixels[chunk];
    for (int e = 0; e < pixels; e++) see_pixel(w, t, e, block + *offset++);
    w->functions[a->S > 1][pixels - 1](t);
  }
}

/* With S == 1, 4 neighbours whose windows are within the map, or one pixel. */
static int64_t do_neighbours(struct walk *w, struct tile *t, int64_t j, int64_t end) {
  const struct carafe_shape *a = &w->args->shape;
  const int64_t r = (a->K - 1) / 2;
  if (j < r || j + PIXELS > carafe_min(end, a->W - r)) {
    do_window(w, t, j);
    return 1;
  }
  list_taps(w, (struct carafe_span){-r, r + 1});
  for (int e = 0; e < PIXELS; e++) {
    t->x[e] = w->ring + (j + e - w->rows.first) * w->rows.pixel;
    see_pixel(w, t, e, w->row_block + (j + e) * a->G);
  }
  w->functions[0][PIXELS - 1](t);
  return PIXELS;
}

static void set_ask(const struct walk *w, struct tile *t) {
  const struct carafe_shape *a = &w->args->shape;
  const int64_t vector = VL / w->args->plan.lanes * w->group_bytes;
  const int64_t next = (a->S == 1 ? PIXELS : a->S) * a->G * w->group_bytes; /* tile */
  const int64_t ahead = ASK_BYTES / vector, tiles = ahead / t->vectors, left = ahead % t->vectors;
  t->ask[0] = tiles * next + left * vector;
  t->ask[1] = t->ask[0] + next - t->vectors * vector;
  t->ask_turn = t->vectors - left;
}

static void set_chunks(struct walk *w) {
  const struct carafe_shape *a = &w->args->shape;
  int64_t *offset = w->offset;
  w->chunks = (int)carafe_chunks(a);
  for (int i = 0; i < w->chunks; i++) {
    w->pixels[i] = carafe_chunk(a, i, offset);
    for (int e = 0; e < w->pixels[i]; e++) *offset++ *= a->G;
  }
}

static void set_item(struct walk *w, struct tile *t) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_item *item = w->item;
  const int64_t lanes = w->args->plan.lanes, taps = a->K * a->K;
  const int64_t blocks = a->N * a->S * a->H * a->S * a->W * a->G;
  t->groups = item->groups;
  t->vectors = carafe_div_up(item->groups * lanes, VL);
  w->row_block = (item->n * a->H + item->row) * a->S * a->S * a->W * a->G + item->group;
  w->last_group = (t->vectors - 1) * VL / lanes;
  w->last_safe = blocks - w->last_group - VL / lanes - carafe_div_up(3, taps);
  set_ask(w, t);
}

static void do_item(struct walk *w, struct tile *t) {
  const struct carafe_shape *a = &w->args->shape;
  const struct carafe_item *item = w->item;
  const int64_t end = item->column + item->columns;
  see(w);
  set_item(w, t);
  for (int64_t j = item->column; j < end;) {
    if (a->S == 1) {
      j += do_neighbours(w, t, j, end);
    } else {
      do_window(w, t, j++);
    }
  }
}

void MLUOP_VARIANT(carafe_forward_groups)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  const struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  const int64_t lanes = args->plan.lanes;
  int log = 0;
  while (1 << log < lanes) log++;
  struct walk w = {.args = args,
                   .functions = tile_functions[a->is_half][log],
                   .guarded = scratch,
                   .ring = (float *)scratch + PIXELS * carafe_guarded_floats(a, &args->plan),
                   .group_bytes = a->K * a->K * (a->is_half ? 2 : 4),
                   .strip = -1};
  set_lanes(&w);
  set_chunks(&w);
  struct tile t = {.taps = &w.taps,
                   .K = a->K,
                   .C = a->C,
                   .output = args->output,
                   .squeeze = lanes != a->C ? w.squeeze : NULL};
  for (int64_t index = begin; index < end; index++) {
    const struct carafe_item item = carafe_item_at(a, &args->plan, index);
    if (item.row >= a->H) continue;
    w.item = &item;
    do_item(&w, &t);
  }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/forward.h"

#include "families/carafe/kernels.h"
#include "families/carafe/pack.h"
#include "families/carafe/tile.h"

/* What a thread works with. */
struct forward {
  const struct carafe_args *args;
  const struct carafe_shape *shape;
  struct carafe_block block;
  int64_t row; /* of windows */
  struct output output;
  struct ring ring;
  float *weights; /* packed */
  struct prefetch prefetch;
  struct tiles tiles; /* in turn */
};

static struct ring ring_of(const struct carafe_args *args, const struct output *output,
                           float *floats) {
  return (struct ring){.args = args,
                       .rotation = output->rotation,
                       .floats = floats,
                       .slots = carafe_ring_slots(&args->shape),
                       .pixel = carafe_ring_pixel(args),
                       .group = carafe_padded(args->cut.channels)};
}

/* Where the pixels of a slice of each window are, or neighbours in a row. */
static void place_pixels(struct forward *f, const struct weights *weights, struct carafe_span slice,
                         int neighbours) {
  struct tiles *const t = &f->tiles;
  const struct carafe_shape *a = f->shape;
  const struct carafe_block *block = &f->block;
  const int64_t S = a->S, row = S * a->W, across = neighbours ? PIXELS : S;
  const int64_t pixel = (block->n * a->H + f->row) * S * row + t->begin * S;
  for (int64_t i = slice.begin; i < slice.end; i++) {
    const int64_t u = i / across, v = i % across;
    t->weights_of[i - slice.begin] = u * weights->row + v * weights->pixel;
    t->at_of[i - slice.begin] = (u * row + v) * a->G * a->C;
  }
  t->weights_step = (neighbours ? PIXELS : S) * weights->pixel;
  t->at_step = (neighbours ? PIXELS : S) * a->G * a->C;
  t->weights = weights->first;
  t->at = (pixel * a->G + block->group) * a->C;
}

/* The pixels of a slice, group by group. Channels are cut into about equal numbers of vectors. */
static void sum_slice(struct forward *f, const struct weights *weights, struct carafe_span slice,
                      int neighbours) {
  struct tiles *const t = &f->tiles;
  const struct carafe_block *block = &f->block;
  const int64_t per = vectors_at_once(&f->output);
  const int64_t most = VECTORS / per * per, all = carafe_div_up(block->channels, VL);
  const int64_t cuts = carafe_div_up(all, most);
  place_pixels(f, weights, slice, neighbours);
  for (int64_t g = 0; g < block->groups; g++) {
    for (int64_t cut = 0, begin = 0, vectors; cut < cuts; cut++, begin += vectors) {
      vectors = carafe_div_up(all - begin, (cuts - cut) * per) * per;
      t->base = group_of_ring(&f->ring, g) + begin * VL;
      t->channel = block->channel + begin * VL;
      t->length = carafe_min(block->channels - begin * VL, vectors * VL);
      if (neighbours) sum_neighbours(t, (int)vectors);
      if (!neighbours && slice.end - slice.begin == 1) sum_one(t, (int)vectors);
      if (!neighbours && slice.end - slice.begin == 3) sum_three(t, (int)vectors);
      if (!neighbours && slice.end - slice.begin == 4) sum_four(t, (int)vectors);
      t->ahead = NULL;
    }
    t->weights += weights->group;
    t->at += f->shape->C;
  }
}

/* What will be needed next is prefetched between tiles: the masks of the windows that
   follow, and the pixels of the row that is packed after the next one. */
static void prefetch_next(struct forward *f, int64_t row, struct carafe_span columns) {
  const struct carafe_shape *a = f->shape;
  const struct carafe_block *s = &f->block;
  f->prefetch = (struct prefetch){.shape = a, .group = s->group, .groups = s->groups};
  if (!f->args->large) return;
  const int is_end = columns.end == s->columns.end;
  const int64_t y = row + is_end, x = is_end ? s->columns.begin : columns.end;
  const int64_t count = columns.end - columns.begin, taps = a->K * a->K;
  const int64_t pixel = ((s->n * a->H + y) * a->S * a->W + x) * a->S;
  if (y < a->H) prefetch_pixels(&f->prefetch, f->args->mask, taps, taps, pixel, count * a->S, a->S);
  const int64_t below = row + a->K / 2 + 2;
  if (below < a->H) {
    const void *input = mluop_at(f->args->input, s->channel, a->is_half);
    prefetch_pixels(&f->prefetch, input, a->C, s->channels,
                    (s->n * a->H + below) * a->W + columns.begin, count, 1);
  }
  const int64_t vectors = s->groups * carafe_div_up(s->channels, VECTORS * VL);
  prefetch_in(&f->prefetch,
              vectors * (a->S == 1 ? carafe_div_up(count, PIXELS) : count * carafe_slices(a)));
}

/* Some windows of a row. Neighbours are in tiles of 4, and what is left one by one; or the pixels
   of each window. */
static void sum_windows(struct forward *f, struct carafe_span columns) {
  struct tiles *const t = &f->tiles;
  const struct carafe_shape *a = f->shape;
  const struct carafe_span span = carafe_window(f->row, a->K, a->H);
  struct weights weights = pack_weights(&f->ring, f->weights, f->row, columns);
  weights.first += (span.begin - f->row + a->K / 2) * a->K;
  prefetch_next(f, f->row, columns);
  t->ahead = &f->ring;
  t->row_count = span.end - span.begin;
  for (int64_t i = 0; i < t->row_count; i++) {
    t->rows[i] = row_of_ring(&f->ring, span.begin + i);
  }
  t->begin = columns.begin;
  if (a->S == 1 && a->K > 1) {
    const int64_t whole = (columns.end - columns.begin) / PIXELS * PIXELS;
    t->end = columns.begin + whole;
    sum_slice(f, &weights, (struct carafe_span){0, PIXELS}, 1);
    weights.first += whole * weights.pixel;
    t->begin = t->end;
  }
  t->end = columns.end;
  for (int64_t slice = 0; slice < carafe_slices(a); slice++) {
    sum_slice(f, &weights, carafe_slice(a, slice), 0);
  }
}

static void sum_block(struct forward *f) {
  const struct carafe_block *block = &f->block;
  const int64_t windows = f->args->plan.windows, stop = block->columns.end;
  begin_block(&f->ring, block);
  for (f->row = block->rows.begin; f->row < block->rows.end; f->row++) {
    pack_rows(&f->ring, f->row);
    for (int64_t j = block->columns.begin; j < stop; j += windows) {
      sum_windows(f, (struct carafe_span){j, carafe_min(j + windows, stop)});
    }
  }
}

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {scratch, 0};
  struct forward f = {.args = args, .shape = &args->shape, .output = output_of(args)};
  float *ring;
  carafe_lay_out(args, &arena, &ring, &f.weights);
  f.ring = ring_of(args, &f.output, ring);
  f.tiles = (struct tiles){.K = f.shape->K,
                           .W = f.shape->W,
                           .rows_at_once = carafe_max(1, CARAFE_SUM_LENGTH / f.shape->K),
                           .column = carafe_ring_slots(f.shape) * carafe_ring_pixel(args),
                           .prefetch = &f.prefetch,
                           .output = &f.output};
  while (begin < end) {
    f.block = carafe_next_block(f.shape, &args->cut, &begin, end);
    sum_block(&f);
  }
  vf_stream_end();
}

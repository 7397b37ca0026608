/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/forward.h"

#include "families/carafe/kernels.h"
#include "families/carafe/pack.h"
#include "families/carafe/tile.h"

/* What a thread works with. */
struct forward {
  const struct carafe_args *args;
  struct output output;
  struct ring ring;
  float *weights; /* packed */
  struct prefetch prefetch;
};

/* Where the pixels of a slice of each window are, or neighbours in a row. */
static void place_pixels(const struct forward *f, struct tiles *t, const struct weights *weights,
                         struct carafe_span slice, int neighbours) {
  const struct carafe_shape *a = &f->args->shape;
  const struct carafe_block *block = &f->ring.block;
  const int64_t S = a->S, row = S * a->W, across = neighbours ? PIXELS : S;
  const int64_t pixel = (block->n * a->H + t->row) * S * row + t->begin * S;
  for (int64_t i = slice.begin; i < slice.end; i++) {
    const int64_t u = i / across, v = i % across;
    t->weights_of[i - slice.begin] = u * weights->row + v * weights->pixel;
    t->at_of[i - slice.begin] = (u * row + v) * a->G * a->C;
  }
  t->step = neighbours ? PIXELS : 1;
  t->weights_step = t->step * S * weights->pixel;
  t->at_step = t->step * S * a->G * a->C;
  t->weights = weights->first;
  t->at = (pixel * a->G + block->group) * a->C;
}

/* The pixels of a slice, group by group. Channels are cut into about equal numbers of vectors. */
static void sum_slice(struct forward *f, struct tiles *t, const struct weights *weights,
                      struct carafe_span slice, int neighbours) {
  const struct carafe_block *block = &f->ring.block;
  const int64_t per = f->output.in_lines && f->output.is_half ? 2 : 1; /* of a line */
  const int64_t most = VECTORS / per * per, all = carafe_div_up(block->channels, VL);
  const int64_t cuts = carafe_div_up(all, most);
  place_pixels(f, t, weights, slice, neighbours);
  for (int64_t g = 0; g < block->groups; g++) {
    for (int64_t cut = 0, begin = 0, vectors; cut < cuts; cut++, begin += vectors) {
      vectors = carafe_div_up(all - begin, (cuts - cut) * per) * per;
      t->base = g * f->ring.group + begin * VL - f->ring.columns.begin * t->column;
      t->channel = block->channel + begin * VL;
      t->length = carafe_min(block->channels - begin * VL, vectors * VL);
      if (neighbours) sum_neighbours(t, (int)vectors);
      if (!neighbours && slice.end - slice.begin == 1) sum_one(t, (int)vectors);
      if (!neighbours && slice.end - slice.begin == 3) sum_three(t, (int)vectors);
      if (!neighbours && slice.end - slice.begin == 4) sum_four(t, (int)vectors);
      t->ahead = NULL;
    }
    t->weights += weights->group;
    t->at += f->args->shape.C;
  }
}

/* What will be needed next is prefetched between tiles: the masks of the windows that
   follow, and the pixels of the row that is packed after the next one. */
static void prefetch_next(struct forward *f, int64_t row, struct carafe_span columns) {
  const struct carafe_shape *a = &f->args->shape;
  const struct carafe_block *s = &f->ring.block;
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
static void sum_windows(struct forward *f, struct tiles *t, struct carafe_span columns) {
  const struct carafe_shape *a = &f->args->shape;
  const struct carafe_span span = carafe_window(t->row, a->K, a->H);
  struct weights weights = pack_weights(&f->ring, f->weights, t->row, columns);
  weights.first += (span.begin - t->row + a->K / 2) * a->K;
  prefetch_next(f, t->row, columns);
  t->ahead = &f->ring;
  t->row_count = span.end - span.begin;
  for (int64_t i = 0; i < t->row_count; i++) {
    t->rows[i] = f->ring.floats + (span.begin + i) % f->ring.slots * f->ring.pixel;
  }
  t->begin = columns.begin;
  if (a->S == 1 && a->K > 1) {
    const int64_t whole = (columns.end - columns.begin) / PIXELS * PIXELS;
    t->end = columns.begin + whole;
    sum_slice(f, t, &weights, (struct carafe_span){0, PIXELS}, 1);
    weights.first += whole * weights.pixel;
    t->begin = t->end;
  }
  t->end = columns.end;
  for (int64_t slice = 0; slice < carafe_slices(a); slice++) {
    sum_slice(f, t, &weights, carafe_slice(a, slice), 0);
  }
}

void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  struct mluop_arena arena = {scratch, 0};
  struct forward f = {.args = args, .output = output_of(args)};
  f.ring = (struct ring){.args = args,
                         .rotation = f.output.rotation * (a->is_half ? 2 : 1),
                         .slots = carafe_ring_slots(a),
                         .pixel = carafe_ring_pixel(args),
                         .group = carafe_padded(args->cut.channels)};
  carafe_lay_out(args, &arena, &f.ring.floats, &f.weights);
  struct tiles t = {.K = a->K,
                    .W = a->W,
                    .rows_at_once = carafe_max(1, CARAFE_SUM_LENGTH / a->K),
                    .column = f.ring.slots * f.ring.pixel,
                    .prefetch = &f.prefetch,
                    .output = &f.output};
  while (begin < end) {
    const struct carafe_block block = carafe_next_block(a, &args->cut, &begin, end);
    if (block.rows.begin < block.rows.end) begin_block(&f.ring, &block);
    for (t.row = block.rows.begin; t.row < block.rows.end; t.row++) {
      pack_rows(&f.ring, t.row);
      for (int64_t j = block.columns.begin; j < block.columns.end; j += args->plan.windows) {
        const int64_t stop = carafe_min(j + args->plan.windows, block.columns.end);
        sum_windows(&f, &t, (struct carafe_span){j, stop});
      }
    }
  }
  if (f.output.past_caches) vf_stream_end();
}

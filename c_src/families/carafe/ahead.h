/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_AHEAD_H_
#define MLUOP_FAMILIES_CARAFE_AHEAD_H_

/* Memory that will be needed is asked for a few lines at a time, between products: all at once
   would hold up the loads in between, and what the CPU foresees by itself comes too late. */

#include "families/carafe/source.h"

enum { CACHE_LINE = 64, AHEAD_AREAS = 5 };

/* Rows of runs of bytes. */
struct ahead_area {
  const char *first;
  int64_t bytes, count, step, rows, row_step;
};

struct ahead {
  struct ahead_area area[AHEAD_AREAS];
  int areas;
  int64_t lines; /* of all areas, about */
  int64_t row, run;
  const char *at, *end; /* of the current run */
};

static void ahead_add(struct ahead *a, struct ahead_area area) {
  if (area.step == area.bytes) {
    area.bytes *= area.count;
    area.count = 1;
  }
  a->lines += area.rows * area.count * (area.bytes / CACHE_LINE + 1);
  a->area[a->areas++] = area;
}

/* The areas are asked for from the last one added to the first. */
static __attribute__((noinline)) int ahead_next_run(struct ahead *a) {
  if (a->areas == 0) return 0;
  const struct ahead_area *area = &a->area[a->areas - 1];
  a->at = area->first + a->row * area->row_step + a->run * area->step;
  a->end = a->at + area->bytes;
  if (++a->run < area->count) return 1;
  a->run = 0;
  if (++a->row < area->rows) return 1;
  a->row = 0;
  a->areas--;
  return 1;
}

MLUOP_INLINE void ahead_ask(struct ahead *a, int64_t lines) {
  while (lines > 0) {
    if (a->at >= a->end && !ahead_next_run(a)) return;
    const char *at = a->at;
    const int64_t run = carafe_min(lines, (a->end - at + CACHE_LINE - 1) / CACHE_LINE);
    for (int64_t i = 0; i < run; i++) mluop_prefetch(at + i * CACHE_LINE);
    a->at += run * CACHE_LINE;
    lines -= run;
  }
}

/* What is asked for ahead of a strip of the backward operator. */
struct look {
  const struct carafe_backward_args *args;
  const struct carafe_item *item; /* all channels of its groups */
  struct carafe_span strip;       /* rows of it */
  int masks;                      /* those as well */
};

/* `count` pixels of `rows` rows of a tensor, from `pixel` on; a group of a pixel has `elements`. */
static inline void ask_pixels(struct ahead *ahead, const struct look *l, const void *tensor,
                              int64_t elements, int64_t pixel, int64_t count, int64_t rows,
                              int64_t row_pixels) {
  const struct carafe_shape *a = &l->args->shape;
  const int64_t group_bytes = elements * (a->is_half ? 2 : 4);
  ahead_add(ahead, (struct ahead_area){.first = (const char *)tensor +
                                                (pixel * a->G + l->item->group) * group_bytes,
                                       .bytes = l->item->groups * group_bytes,
                                       .count = count,
                                       .step = a->G * group_bytes,
                                       .rows = rows,
                                       .row_step = row_pixels * a->G * group_bytes});
}

/* What the segment [begin, end) of window row `row` will need: grad_output, the masks, the columns
   of the input that it will see first, and those of grad_input that nothing later adds to. */
static inline void look_ahead(struct ahead *ahead, const struct look *l, int64_t row, int64_t begin,
                              int64_t end) {
  const struct carafe_backward_args *args = l->args;
  const struct carafe_shape *a = &args->shape;
  const int64_t S = a->S, r = (a->K - 1) / 2, taps = a->K * a->K, count = end - begin;
  const int64_t above = row - r, below = row + r, corner = l->item->n * a->H * a->W + begin;
  const int64_t upscaled = ((l->item->n * a->H + row) * S * a->W + begin) * S;
  *ahead = (struct ahead){.areas = 0};
  if (row >= l->strip.end) return;
  if (above >= l->strip.begin) {
    ask_pixels(ahead, l, args->grad_input, a->C, corner + above * a->W, count, 1, 0);
  }
  if (l->masks) {
    ask_pixels(ahead, l, args->mask, taps, upscaled, count * S, S, S * a->W);
    ask_pixels(ahead, l, args->grad_mask, taps, upscaled, count * S, S, S * a->W);
  }
  ask_pixels(ahead, l, args->grad_output, a->C, upscaled, count * S, S, S * a->W);
  if (below < a->H) {
    ask_pixels(ahead, l, args->input, a->C, corner + below * a->W,
               carafe_min(count + r, a->W - begin), 1, 0);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_AHEAD_H_ */

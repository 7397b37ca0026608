/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PREFETCH_H_
#define MLUOP_FAMILIES_CARAFE_PREFETCH_H_

/* Memory that the backward will need is prefetched a few lines at a time, between products: all at
   once would hold up the loads in between, and what the CPU foresees by itself comes too late. */

#include <stddef.h>

#include "families/carafe/walk.h"
#include "vector/simd.h"

enum { PREFETCH_LINE = 64, PREFETCH_AREAS = 24 };

/* `count` runs of `bytes`. */
struct prefetch_area {
  const char *first;
  int64_t bytes, count, step;
};

struct prefetch {
  struct prefetch_area area[PREFETCH_AREAS]; /* done from the last one to the first */
  int areas;
  int64_t lines;   /* of all areas, about */
  int64_t at_once; /* lines of each time */
  const char *at, *end;
};

static __attribute__((noinline)) int prefetch_next_run(struct prefetch *p) {
  while (p->areas > 0 && p->area[p->areas - 1].count == 0) p->areas--;
  if (p->areas == 0) return 0;
  struct prefetch_area *area = &p->area[p->areas - 1];
  area->count--;
  p->at = area->first;
  p->end = p->at + area->bytes;
  area->first += area->step;
  return 1;
}

static inline void prefetch_lines(struct prefetch *p) {
  for (int64_t i = 0; i < p->at_once; i++, p->at += PREFETCH_LINE) {
    if (p->at >= p->end && !prefetch_next_run(p)) return;
    mluop_prefetch(p->at);
  }
}

/* `rows` times `count` pixels from number `pixel` on, of a tensor that has `elements` for each
   group. Large scale factors have more areas than there is room for. */
static inline void prefetch_pixels(struct prefetch *p, const struct walk *s, const void *tensor,
                                   int64_t elements, int64_t pixel, int64_t count, int64_t rows) {
  const struct carafe_args *a = s->args;
  const int64_t group = elements * (a->is_half ? 2 : 4), step = a->G * group;
  const int64_t bytes = (s->groups.end - s->groups.begin) * group;
  const int64_t runs = bytes == step ? 1 : count; /* neighbours are one run */
  const char *first = (const char *)tensor + pixel * step + s->groups.begin * group;
  for (int64_t u = 0; u < rows && p->areas < PREFETCH_AREAS; u++) {
    p->area[p->areas++] = (struct prefetch_area){first, bytes * (count / runs), runs, step};
    p->lines += count * (bytes / PREFETCH_LINE + 1);
    first += a->S * a->W * step;
  }
}

/* While the windows in turn are done, `times` times: what the next ones need; and, of the same
   columns, the row of grad_input that is stored next. */
static inline struct prefetch prefetch_next(const struct walk *s, int64_t times) {
  const struct carafe_args *a = s->args;
  const struct carafe_backward_args *args = carafe_backward_of(a);
  const int64_t taps = a->K * a->K, above = s->row - (a->K - 1) / 2;
  const struct carafe_span own = carafe_both(s->windows, s->columns);
  struct walk next = *s;
  struct prefetch p = {.areas = 0};
  if (a->plan.tensors == CARAFE_IN_CACHES) return p;
  if (own.begin < own.end && above >= s->rows.begin && above < s->rows.end) {
    prefetch_pixels(&p, s, args->grad_input, a->C, (s->n * a->H + above) * a->W + own.begin,
                    own.end - own.begin, 1);
  }
  if (next_windows(&next)) {
    const int64_t count = (next.windows.end - next.windows.begin) * a->S;
    const int64_t pixel = first_pixel(s, next.row, next.windows.begin);
    prefetch_pixels(&p, s, a->mask, taps, pixel, count, a->S);
    prefetch_pixels(&p, s, args->grad_output, a->C, pixel, count, a->S);
    if (is_own_row(&next)) prefetch_pixels(&p, s, args->grad_mask, taps, pixel, count, a->S);
  }
  p.at_once = mluop_div_up(p.lines, mluop_max(1, times));
  return p;
}

#endif /* MLUOP_FAMILIES_CARAFE_PREFETCH_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PREFETCH_H_
#define MLUOP_FAMILIES_CARAFE_PREFETCH_H_

/* Memory that will be needed is prefetched a few lines at a time, between products: all at once
   would hold up the loads in between, and what the CPU foresees by itself comes too late. */

#include "families/carafe/job.h"
#include "vector/simd.h"

enum { PREFETCH_LINE = 64, PREFETCH_AREAS = 6 };

/* `rows` rows of `count` runs of `bytes`. */
struct prefetch_area {
  const char *first;
  int64_t bytes, count, step, rows, row_step;
};

struct prefetch {
  const struct carafe_shape *shape;
  int64_t group, groups; /* first group of a pixel, and how many */
  struct prefetch_area area[PREFETCH_AREAS];
  int areas;
  int64_t lines;    /* of all areas, about */
  int64_t at_once;  /* lines of each time */
  int64_t row, run; /* of the last area, the next ones */
  const char *at, *end;
};

/* `count` pixels from number `pixel` on, in some rows of output pixels, of a tensor that has
   `elements` for each group; of the last group `used` are needed. */
static inline void prefetch_pixels(struct prefetch *p, const void *tensor, int64_t elements,
                                   int64_t used, int64_t pixel, int64_t count, int64_t rows) {
  const struct carafe_shape *a = p->shape;
  const int64_t size = a->is_half ? 2 : 4, step = a->G * elements * size;
  struct prefetch_area area = {
      .first = (const char *)tensor + pixel * step + p->group * elements * size,
      .bytes = ((p->groups - 1) * elements + used) * size,
      .count = count,
      .step = step,
      .rows = rows,
      .row_step = a->S * a->W * step};
  if (area.step == area.bytes) {
    area.bytes *= area.count;
    area.count = 1;
  }
  p->lines += area.rows * area.count * (area.bytes / PREFETCH_LINE + 1);
  p->area[p->areas++] = area;
}

/* From the last area to the first. */
static __attribute__((noinline)) int prefetch_next_run(struct prefetch *p) {
  if (p->areas == 0) return 0;
  const struct prefetch_area *area = &p->area[p->areas - 1];
  p->at = area->first + p->row * area->row_step + p->run * area->step;
  p->end = p->at + area->bytes;
  if (++p->run < area->count) return 1;
  p->run = 0;
  if (++p->row < area->rows) return 1;
  p->row = 0;
  p->areas--;
  return 1;
}

/* All of it shall be prefetched in so many times. */
static inline void prefetch_in(struct prefetch *p, int64_t times) {
  p->at_once = carafe_div_up(p->lines, carafe_max(1, times));
}

static inline void prefetch_lines(struct prefetch *p, int64_t lines) {
  while (lines > 0) {
    if (p->at >= p->end && !prefetch_next_run(p)) return;
    const int64_t run = carafe_min(lines, carafe_div_up(p->end - p->at, PREFETCH_LINE));
    for (int64_t i = 0; i < run; i++) mluop_prefetch(p->at + i * PREFETCH_LINE);
    p->at += run * PREFETCH_LINE;
    lines -= run;
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_PREFETCH_H_ */

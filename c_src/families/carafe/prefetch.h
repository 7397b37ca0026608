/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PREFETCH_H_
#define MLUOP_FAMILIES_CARAFE_PREFETCH_H_

/* Memory that will be needed is prefetched a few lines at a time, between products: all at once
   would hold up the loads in between, and what the CPU foresees by itself comes too late. */

#include <stddef.h>

#include "families/carafe/job.h"
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

static inline void prefetch_nothing(struct prefetch *p) {
  p->areas = 0;
  p->lines = p->at_once = 0;
  p->at = p->end = NULL;
}

/* Large scale factors have more areas than there is room for. */
static inline void prefetch_runs(struct prefetch *p, const void *first, int64_t bytes,
                                 int64_t count, int64_t step) {
  if (p->areas == PREFETCH_AREAS) return;
  p->area[p->areas++] = bytes == step ? (struct prefetch_area){first, bytes * count, 1, step}
                                      : (struct prefetch_area){first, bytes, count, step};
  p->lines += count * (bytes / PREFETCH_LINE + 1);
}

static __attribute__((noinline)) int prefetch_next_run(struct prefetch *p) {
  while (p->areas > 0) {
    struct prefetch_area *area = &p->area[p->areas - 1];
    if (area->count-- == 0) {
      p->areas--;
      continue;
    }
    p->at = area->first;
    p->end = p->at + area->bytes;
    area->first += area->step;
    return 1;
  }
  return 0;
}

static inline void prefetch_lines(struct prefetch *p) {
  for (int64_t lines = p->at_once; lines > 0;) {
    if (p->at >= p->end && !prefetch_next_run(p)) return;
    const int64_t run = carafe_min(lines, carafe_div_up(p->end - p->at, PREFETCH_LINE));
    for (int64_t i = 0; i < run; i++) mluop_prefetch(p->at + i * PREFETCH_LINE);
    p->at += run * PREFETCH_LINE;
    lines -= run;
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_PREFETCH_H_ */

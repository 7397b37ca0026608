/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_CARAFE_AHEAD_H_
#define MLUOP_KERNELS_CARAFE_AHEAD_H_

/* Memory that will be needed is asked for a few lines at a time, between products: all at once
   would hold up the loads in between, and what the CPU foresees by itself comes too late. */

#include "kernels/carafe_item.h"

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

#endif /* MLUOP_KERNELS_CARAFE_AHEAD_H_ */

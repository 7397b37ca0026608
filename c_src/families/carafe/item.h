/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_ITEM_H_
#define MLUOP_FAMILIES_CARAFE_ITEM_H_

/* What the CARAFE kernels share: where an item is, and which pixels its windows see. */

#include "families/carafe/job.h"
#include "vector/simd.h"

struct carafe_span {
  int64_t begin, end;
};

/* The neighbours of `at` up to r = (K - 1) / 2 away that lie on the map. */
MLUOP_INLINE struct carafe_span carafe_window(int64_t at, int64_t K, int64_t extent) {
  const int64_t r = (K - 1) / 2;
  return (struct carafe_span){carafe_max(0, at - r), carafe_min(extent, at + r + 1)};
}

struct carafe_item {
  int64_t strip;           /* items of one strip differ in `row` alone */
  int64_t n, row;          /* image, row of the map: H or more for an item without work */
  int64_t group, groups;   /* the block's first group, and how many */
  int64_t channel, length; /* the part of each of them */
  int64_t column, columns; /* the tile */
};

static inline struct carafe_item carafe_item_at(const struct carafe_shape *a,
                                                const struct carafe_plan *plan, int64_t index) {
  const int64_t parts = carafe_div_up(a->C, plan->part), blocks = carafe_blocks(a, plan);
  const int64_t tiles = carafe_tiles(a, plan), bands = carafe_div_up(a->H, plan->rows);
  struct carafe_item item = {.strip = index / plan->rows};
  const int64_t block = item.strip % blocks, tile = item.strip / blocks % tiles;
  const int64_t band = item.strip / blocks / tiles;
  item.n = band / bands;
  item.row = band % bands * plan->rows + index % plan->rows;
  item.group = block / parts * plan->groups;
  item.groups = carafe_min(plan->groups, a->G - item.group);
  item.channel = block % parts * plan->part;
  item.length = carafe_min(plan->part, a->C - item.channel);
  item.column = tile * plan->columns;
  item.columns = carafe_min(plan->columns, a->W - item.column);
  return item;
}

/* The S x S pixels of a window are cut into chunks of 3 or 4 (of 1, if S is 1). */
static inline int64_t carafe_chunks(const struct carafe_shape *a) {
  return carafe_div_up(a->S * a->S, CARAFE_TILE);
}

/* offset[e] becomes how many pixels of the output pixel e of a chunk is after the window's first.
   Returns how many pixels there are. */
MLUOP_INLINE int carafe_chunk(const struct carafe_shape *a, int64_t chunk, int64_t *offset) {
  const int64_t S = a->S, chunks = carafe_chunks(a);
  const int64_t u = S * S * chunk / chunks, pixels = S * S * (chunk + 1) / chunks - u;
  for (int64_t e = 0; e < pixels; e++) offset[e] = (u + e) / S * S * a->W + (u + e) % S;
  return (int)pixels;
}

#endif /* MLUOP_FAMILIES_CARAFE_ITEM_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_BLOCK_H_
#define MLUOP_LAYOUT_BLOCK_H_

#include "layout/kernels.h"
#include "vector/variant.h"

/* The elements begin to end - 1 of one side of a matrix. The first `head` of them are before the
   first whole line of memory; 0: it does not matter where lines begin. */
struct span {
  int64_t begin, end, head;
};

/* A block of an image: `from` and `to` are where its matrix begins. */
struct image_block {
  const char *from;
  char *to;
  struct span rows, columns;
};

MLUOP_INLINE struct span span_of(int64_t block, struct layout_extent extent) {
  const int64_t begin = block * extent.step;
  return (struct span){begin, block + 1 < extent.blocks ? begin + extent.step : extent.count, 0};
}

/* Where the tile after that at `at` begins. The last one overlaps it, so that all are whole: what
   is written twice is the same. */
MLUOP_INLINE int64_t next_tile(struct span span, int64_t at, int64_t step, int64_t tile) {
  if (at + tile == span.end) return span.end;
  return at + step + tile <= span.end ? at + step : span.end - tile;
}

#endif /* MLUOP_LAYOUT_BLOCK_H_ */

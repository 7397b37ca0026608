/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_WINDOW_H_
#define MLUOP_FAMILIES_PSAMASK_WINDOW_H_

#include "vector/variant.h"

MLUOP_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
MLUOP_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Along one axis: the targets on the map, begin to end - 1, that a pixel's mask has positions for,
   and the position of target 0, which is outside the mask if the mask does not reach that target.
   A mask always reaches its own pixel: no window is empty. */
struct window {
  int64_t begin, end, origin;
};

MLUOP_INLINE struct window window_of(int64_t pixel, int64_t extent, int64_t mask) {
  const int64_t first = pixel - (mask - 1) / 2;
  struct window window = {first < 0 ? 0 : first, first + mask, -first};
  if (window.end > extent) window.end = extent;
  return window;
}

#endif /* MLUOP_FAMILIES_PSAMASK_WINDOW_H_ */

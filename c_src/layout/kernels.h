/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_KERNELS_H_
#define MLUOP_LAYOUT_KERNELS_H_

#include "core/kernel.h"

/* An image is a matrix that is transposed: channels by pixels, or pixels by channels. It is cut
   into tiles, which are the items: along each side as many of LAYOUT_TILE as fit, the last one with
   what is left over. */
enum { LAYOUT_TILE = 128 };

struct layout_args {
  const char *from;
  char *to;
  int64_t rows, columns; /* of `from` */
  int64_t row_tiles, column_tiles;
  int size; /* of an element, in bytes */
  int prefetch;
  int stream; /* the rows of `to` are whole lines, and are written past the caches */
};

MLUOP_KERNEL(layout_convert);

#endif /* MLUOP_LAYOUT_KERNELS_H_ */

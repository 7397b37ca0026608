/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_KERNELS_H_
#define MLUOP_LAYOUT_KERNELS_H_

#include "core/kernel.h"

/* An image is a matrix that is transposed: channels by pixels, or pixels by channels. It is cut
   into tiles, which are the items: along each side as many of LAYOUT_TILE as fit, the last one with
   what is left over. */
enum { LAYOUT_TILE = 128 };

/* Pitches and distances in bytes. Where rows of pixels do not follow each other, each is a matrix.
 */
struct layout_args {
  const char *from;
  char *to;
  int64_t rows, columns;        /* of a matrix in `from` */
  int64_t from_pitch, to_pitch; /* between rows of it, and of its transpose */
  int64_t lines;                /* matrices of an image */
  int64_t from_line, to_line;   /* between them */
  int64_t from_image, to_image; /* between images */
  int64_t row_tiles, column_tiles;
  int size;   /* of an element, in bytes */
  int packed; /* rows follow each other, in `from` and in `to` */
  int prefetch;
  int claim;  /* what is written soon is asked for: it is far, and goes through the caches */
  int stream; /* lines of `to` begin at the same places in its rows, and go past the caches */
};

MLUOP_KERNEL(layout_convert);

#endif /* MLUOP_LAYOUT_KERNELS_H_ */

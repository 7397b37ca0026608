/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_KERNELS_H_
#define MLUOP_LAYOUT_KERNELS_H_

#include "core/kernel.h"

/* An image is a matrix that is transposed: channels by pixels, or pixels by channels. It is cut
   into tiles, which are the items, of about equal extents. Between memory and memory they have this
   many elements along each side. */
enum { LAYOUT_FAR = 128 };

/* In the caches, a tile is longer along the side whose lines are further apart: of the source, or
   of the target. */
enum {
  LAYOUT_ROW_BYTES = 256,
  LAYOUT_COLUMN_BYTES = 256,
  LAYOUT_LONG_COLUMN = 256, /* elements */
  LAYOUT_SHORT_ROW_BYTES = 128,
  LAYOUT_BUFFER = (LAYOUT_LONG_COLUMN + 32) * (LAYOUT_SHORT_ROW_BYTES + 64) /* for either */
};

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
  int64_t row_tiles, column_tiles, row_step, column_step;
  int size;   /* of an element, in bytes */
  int packed; /* rows follow each other, in `from` and in `to` */
  int far;    /* not in the caches; what is written soon is asked for, or goes past them: */
  int stream; /* lines of `to` begin at the same places in its rows */
};

MLUOP_KERNEL(layout_convert);

#endif /* MLUOP_LAYOUT_KERNELS_H_ */

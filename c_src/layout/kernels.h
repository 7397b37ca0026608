/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_KERNELS_H_
#define MLUOP_LAYOUT_KERNELS_H_

#include "core/kernel.h"

/* An image is a matrix that is transposed: channels by pixels, or pixels by channels. It is cut
   into blocks, which are the items, of about equal extents. Between memory and memory they have
   this many elements along each side. */
enum { LAYOUT_FAR = 128 };

/* In the caches, a block is longer along the side whose lines are further apart: of the source, or
   of the target. */
enum {
  LAYOUT_ROW_BYTES = 256,
  LAYOUT_COLUMN_BYTES = 256,
  LAYOUT_LONG_COLUMN = 256, /* elements */
  LAYOUT_SHORT_ROW_BYTES = 128,
  LAYOUT_BUFFER = (LAYOUT_LONG_COLUMN + 32) * (LAYOUT_SHORT_ROW_BYTES + 64) /* for either */
};

/* Distances in the source or in the target, in bytes: between the rows of a matrix there, between
   matrices, and between images. */
struct layout_side {
  int64_t pitch, line, image;
};

/* The rows or the columns of a matrix of the source, and how they are cut: all blocks have `step`
   of them, but the last has what is left. */
struct layout_extent {
  int64_t count, blocks, step;
};

/* Where rows of pixels do not follow each other, each is a matrix. */
struct layout_args {
  const char *input;
  char *output;
  struct layout_side from, to;
  struct layout_extent rows, columns;
  int64_t lines; /* matrices of an image */
  int size;      /* of an element, in bytes */
  int packed;    /* rows follow each other, in the source and in the target */
  int far;       /* not in the caches; what is written soon is asked for, or goes past them: */
  int stream;    /* lines of the target begin at the same places in its rows */
};

MLUOP_KERNEL(layout_convert);

#endif /* MLUOP_LAYOUT_KERNELS_H_ */

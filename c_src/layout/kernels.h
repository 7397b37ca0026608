/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_KERNELS_H_
#define MLUOP_LAYOUT_KERNELS_H_

#include "core/kernel.h"

/* An image is a matrix that is transposed: channels by pixels, or pixels by channels. It is cut
   into blocks, which are the items, of about equal extents, and these are the ways to go through
   one: in tiles of a line of each row and of each column; in such tiles, along whole rows; in such
   tiles, from memory to memory; in such tiles, along diagonals; or in strips of a few columns, in
   sections side by side. */
enum layout_way { LAYOUT_TILES, LAYOUT_WHOLE_ROWS, LAYOUT_FAR, LAYOUT_DIAGONALS, LAYOUT_STRIPS };

enum {
  LAYOUT_DIAGONAL = 8, /* tiles at a time */
  LAYOUT_SECTION = 256 /* bytes of each row in a section of strips */
};

/* Lines so far apart have the same place in the first cache, which holds a few of each. */
enum { LAYOUT_SAME_PLACE = 4096, LAYOUT_LINES_OF_A_PLACE = 8 };

/* Whether so many lines, `pitch` apart, push each other out of the first cache. */
static inline bool layout_crowded(int64_t pitch, int64_t lines) {
  const int64_t power = pitch & -pitch; /* of two, of which the pitch is a multiple */
  const int64_t apart = power < LAYOUT_SAME_PLACE ? power : LAYOUT_SAME_PLACE;
  return lines * apart > LAYOUT_LINES_OF_A_PLACE * LAYOUT_SAME_PLACE;
}

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
  enum layout_way way;
  int stream; /* past the caches: lines of the target begin at the same places in its rows */
};

MLUOP_KERNEL(layout_convert);          /* item: a block */
MLUOP_KERNEL(layout_convert_in_place); /* item: an image */

#endif /* MLUOP_LAYOUT_KERNELS_H_ */

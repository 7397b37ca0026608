/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_PIECES_H_
#define MLUOP_LAYOUT_PIECES_H_

/* A few rows of all columns, or a few columns of all rows, one or two runs at a time. */

#include "layout/block.h"
#include "shared/transpose.h"

/* How many of `left` rows or columns are done next: two runs, or one. The last ones overlap those
   before them. Two runs of halves are 16 vectors: shorter ones are too few for that. */
MLUOP_INLINE int64_t piece_of(int64_t left, int by_pairs, int size) {
  return left > RUN_BYTES / size && by_pairs ? PAIR_BYTES / size : RUN_BYTES / size;
}

/* Fewer rows than a vector has elements: vectors are loaded, and runs of each column stored. Or
   element by element: a few of them, or few channels of larger images. */
MLUOP_INLINE void transpose_few_rows(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                     int64_t rows, int64_t columns, int size) {
  const int64_t width = VECTOR_BYTES / size, run = RUN_BYTES / size;
  const int by_runs = rows >= run && columns >= width;
  const int by_pairs = FULL_LINES && rows >= PAIR_BYTES / size;
  const struct span across = {0, columns, 0};
  for (int64_t c = 0; by_runs && c < columns; c = next_tile(across, c, width, width)) {
    for (int64_t row = 0, height; row < rows; row += height) {
      height = piece_of(rows - row, by_pairs, size);
      if (row + height > rows) row = rows - height;
      const char *source = from + row * pitch + c * size;
      char *target = to + c * to_pitch + row * size;
      if (height == run) {
        transpose_vectors(source, pitch, target, to_pitch, size);
      } else {
        transpose_vector_pairs(source, pitch, target, to_pitch, size);
      }
    }
  }
  for (int64_t c = 0; !by_runs && c < columns; c++) {
    for (int64_t r = 0; r < rows; r++) {
      memcpy(to + c * to_pitch + r * size, from + r * pitch + c * size, (size_t)size);
    }
  }
}

/* A tile of a vector of each of `width` columns: two runs of each row, or one. */
MLUOP_INLINE void transpose_strip(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                  int64_t width, int size) {
  if (width > RUN_BYTES / size) {
    transpose_pairs(from, pitch, to, to_pitch, (int)width, size);
  } else {
    transpose_runs(from, pitch, to, to_pitch, RUN_BYTES / size, size, 0);
  }
}

/* Eight columns at a time, or fewer, each written from begin to end. Lines of many columns would
   have the same place in the first cache where columns are a power of two apart, and push each
   other out. */
MLUOP_INLINE void transpose_strips(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                   int64_t rows, int64_t columns, int size) {
  const int64_t height = VECTOR_BYTES / size, pair = PAIR_BYTES / size;
  const int by_pairs =
      (FULL_LINES || size == 4) && columns >= pair && !layout_crowded(to_pitch, pair);
  for (int64_t column = 0, width; column < columns; column += width) {
    width = piece_of(columns - column, by_pairs, size);
    if (column + width > columns) column = columns - width;
    const char *source = from + column * size;
    char *target = to + column * to_pitch;
    for (int64_t row = 0; row + height <= rows; row += height) {
      transpose_strip(source + row * pitch, pitch, target + row * size, to_pitch, width, size);
    }
    if (rows % height != 0) {
      transpose_strip(source + (rows - height) * pitch, pitch, target + (rows - height) * size,
                      to_pitch, width, size);
    }
  }
}

/* On their own, or the compiler has too few registers left for their loops. */
#define PIECES(name, transpose, size)                                                           \
  __attribute__((noinline)) static void name(const char *from, int64_t pitch, char *to,         \
                                             int64_t to_pitch, int64_t rows, int64_t columns) { \
    transpose(from, pitch, to, to_pitch, rows, columns, size);                                  \
  }
PIECES(few_rows_of_halves, transpose_few_rows, 2)
PIECES(few_rows_of_floats, transpose_few_rows, 4)
PIECES(strips_of_halves, transpose_strips, 2)
PIECES(strips_of_floats, transpose_strips, 4)

#endif /* MLUOP_LAYOUT_PIECES_H_ */

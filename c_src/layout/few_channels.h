/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_FEW_CHANNELS_H_
#define MLUOP_LAYOUT_FEW_CHANNELS_H_

/* Few channels, or few pixels, that follow each other without gaps. */

#include "layout/block.h"
#include "shared/transpose.h"

/* One channel, or one pixel: both layouts are the same. */
MLUOP_INLINE void convert_one(const struct layout_args *a, const struct image_block *b) {
  const int64_t begin = (b->rows.begin + b->columns.begin) * a->size;
  const int64_t count = (b->rows.end - b->rows.begin) * (b->columns.end - b->columns.begin);
  memcpy(b->to + begin, b->from + begin, (size_t)(count * a->size));
}

/* Two to four channels, element by element: as the compiler knows how many, it makes vectors of
   this. */
MLUOP_INLINE void convert_channels(const struct layout_args *a, const struct image_block *b,
                                   int64_t channels, int size) {
  const char *restrict from = b->from;
  char *restrict to = b->to;
  const int64_t pitch = a->from.pitch, to_pitch = a->to.pitch;
  const struct span rows = b->rows, columns = b->columns;
  if (a->rows.count == channels) {
    for (int64_t c = columns.begin; c < columns.end; c++) {
      for (int64_t r = 0; r < channels; r++) {
        memcpy(to + (c * channels + r) * size, from + r * pitch + c * size, (size_t)size);
      }
    }
  } else {
    for (int64_t r = rows.begin; r < rows.end; r++) {
      for (int64_t c = 0; c < channels; c++) {
        memcpy(to + c * to_pitch + r * size, from + (r * channels + c) * size, (size_t)size);
      }
    }
  }
}

/* Columns shorter than one or two runs, one after the other: each is stored as so many, whose rest
   the next one replaces. */
MLUOP_INLINE void convert_short_columns(const struct layout_args *a, const struct image_block *b,
                                        int runs, int size) {
  const int64_t width = VECTOR_BYTES / size, pitch = a->to.pitch, bytes = width * pitch;
  char spare[VECTOR_BYTES * RUN_BYTES];
  for (int64_t column = b->columns.begin; column < b->columns.end;
       column = next_tile(b->columns, column, width, width)) {
    char *to = b->to + column * pitch;
    const int whole = (b->columns.end - column) * pitch < bytes + runs * RUN_BYTES;
    transpose_short_columns(b->from + column * size, a->from.pitch, whole ? spare : to, pitch,
                            (int)a->rows.count, runs, size);
    if (whole) memcpy(to, spare, (size_t)bytes);
  }
}

/* Rows shorter than one or two runs, one after the other: each is loaded as so many. */
MLUOP_INLINE void convert_short_rows(const struct layout_args *a, const struct image_block *b,
                                     int runs, int size) {
  const int64_t height = VECTOR_BYTES / size, pitch = a->from.pitch, bytes = height * pitch;
  char spare[VECTOR_BYTES * RUN_BYTES];
  const int columns = (int)a->columns.count;
  for (int64_t row = b->rows.begin; row < b->rows.end;
       row = next_tile(b->rows, row, height, height)) {
    const char *from = b->from + row * pitch;
    if ((b->rows.end - row) * pitch < bytes + runs * RUN_BYTES) {
      from = memcpy(spare, from, (size_t)bytes);
    }
    if (runs == 2) {
      transpose_pairs(from, pitch, b->to + row * size, a->to.pitch, columns, size);
    } else {
      transpose_runs(from, pitch, b->to + row * size, a->to.pitch, columns, size, 0);
    }
  }
}

/* Whether there are so few that one of these ways serves. */
MLUOP_INLINE int convert_few(const struct layout_args *a, const struct image_block *b, int size) {
  const int64_t rows = a->rows.count, columns = a->columns.count;
  const int64_t run = RUN_BYTES / size, vector = VECTOR_BYTES / size;
  switch (rows < columns ? rows : columns) {
    case 1:
      convert_one(a, b);
      return 1;
    case 2:
      convert_channels(a, b, 2, size);
      return 1;
    case 3:
      if (VECTOR_BYTES == RUN_BYTES) break; /* the compiler's vectors would take twice as long */
      convert_channels(a, b, 3, size);
      return 1;
    case 4:
      convert_channels(a, b, 4, size);
      return 1;
  }
  if (rows < run && columns >= vector) {
    convert_short_columns(a, b, 1, size);
  } else if (columns < run && rows >= vector) {
    convert_short_rows(a, b, 1, size);
  } else if (FULL_LINES && rows > run && rows < 2 * run && columns >= vector) {
    convert_short_columns(a, b, 2, size);
  } else if (VECTOR_BYTES > RUN_BYTES && columns > run && columns < 2 * run && rows >= vector) {
    convert_short_rows(a, b, 2, size);
  } else {
    return 0;
  }
  return 1;
}

#endif /* MLUOP_LAYOUT_FEW_CHANNELS_H_ */

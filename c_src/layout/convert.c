/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/kernels.h"
#include "shared/transpose.h"

/* The elements begin to end - 1 of one side of a matrix. */
struct span {
  int64_t begin, end;
};

/* A tile of an image: `from` and `to` are where its matrix begins. */
struct image_tile {
  const char *from;
  char *to;
  struct span rows, columns;
};

static struct span span_of(int64_t tile, int64_t tiles, int64_t extent) {
  const int64_t begin = tile * LAYOUT_TILE;
  return (struct span){begin, tile + 1 < tiles ? begin + LAYOUT_TILE : extent};
}

/* Where the block after that at `at` begins. The last one overlaps it, so that all are whole: what
   is written twice is the same. */
static int64_t next_block(struct span span, int64_t at, int64_t step, int64_t block) {
  if (at + block == span.end) return span.end;
  return at + step + block <= span.end ? at + step : span.end - block;
}

enum {
  MOST_BLOCK = LINE_BYTES / 2,
  MOST_ROWS = 2 * LAYOUT_TILE, /* of a tile */
  SAME_PLACE = 4096,           /* lines so far apart have the same place in the first cache */
  ROOM = (MOST_BLOCK + 1) * LINE_BYTES
};

/* A whole line of the source in each row, and of the target in each column. Columns are written
   from begin to end: side by side, lines that have the same place in the caches would push each
   other out. Where even the lines of a block do, columns are put together in a buffer first. */
MLUOP_INLINE void convert_wide(const struct layout_args *a, const struct image_tile *t, int size) {
  const int64_t block = LINE_BYTES / size, pitch = a->from_pitch, to_pitch = a->to_pitch;
  const int64_t begin = t->rows.begin, end = t->rows.end;
  const int64_t buffer_pitch = MOST_ROWS * size + LINE_BYTES;
  const int buffered = !a->stream && to_pitch % SAME_PLACE == 0;
  const uintptr_t first = (uintptr_t)(t->to + begin * size) / (uintptr_t)size;
  const int64_t to_line = a->stream ? (int64_t)(-first % (uintptr_t)block) : 0;
  char buffer[MOST_BLOCK * (MOST_ROWS * 2 + LINE_BYTES)];
  for (int64_t column = t->columns.begin; column < t->columns.end;
       column = next_block(t->columns, column, block, block)) {
    char *target = t->to + column * to_pitch + begin * size;
    for (int64_t row = begin, next; row < end; row = next) {
      next = next_block(t->rows, row, row == begin && to_line > 0 ? to_line : block, block);
      const char *from = t->from + row * pitch + column * size;
      for (int64_t k = 0; a->prefetch && k < block; k++) {
        mluop_prefetch((const void *)((uintptr_t)from + (uintptr_t)(k * pitch) + LINE_BYTES));
      }
      const uintptr_t soon =
          (uintptr_t)target + (uintptr_t)(block * to_pitch + (row - begin) * size);
      for (int64_t k = 0; a->claim && k < block; k++) {
        __builtin_prefetch((const void *)(soon + (uintptr_t)(k * to_pitch)), 1, 3);
      }
      char *to = (buffered ? buffer : target) + (row - begin) * size;
      if (a->stream && (uintptr_t)to % LINE_BYTES == 0) {
        transpose_block(from, pitch, to, to_pitch, block, block, size, 1);
      } else {
        transpose_block(from, pitch, to, buffered ? buffer_pitch : to_pitch, block, block, size, 0);
      }
    }
    for (int64_t k = 0; buffered && k < block; k++) {
      memcpy(target + k * to_pitch, buffer + k * buffer_pitch, (size_t)((end - begin) * size));
    }
  }
}

/* Fewer columns than a line has, packed: rows stand one behind the other, and a line of each is
   read; of the last ones from a copy, after which there is room. */
MLUOP_INLINE void convert_few_columns(const struct layout_args *a, const struct image_tile *t,
                                      int size) {
  const int64_t block = LINE_BYTES / size, pitch = a->from_pitch, to_pitch = a->to_pitch;
  char in[ROOM], out[ROOM];
  for (int64_t row = t->rows.begin; row < t->rows.end;
       row = next_block(t->rows, row, block, block)) {
    const char *from = t->from + row * pitch;
    if ((a->rows - row - block) * pitch < LINE_BYTES) {
      memcpy(in, from, (size_t)(block * pitch));
      from = in;
    }
    transpose_block(from, pitch, out, LINE_BYTES, block, a->columns, size, 0);
    for (int64_t c = 0; c < a->columns; c++) {
      memcpy(t->to + c * to_pitch + row * size, out + c * LINE_BYTES, LINE_BYTES);
    }
  }
}

/* Fewer rows, packed: columns of the target stand one behind the other, and a line of each is
   written; of the last ones to a copy. */
MLUOP_INLINE void convert_few_rows(const struct layout_args *a, const struct image_tile *t,
                                   int size) {
  const int64_t block = LINE_BYTES / size, pitch = a->from_pitch, to_pitch = a->to_pitch;
  char in[ROOM], out[ROOM];
  for (int64_t column = t->columns.begin; column < t->columns.end;
       column = next_block(t->columns, column, block, block)) {
    for (int64_t r = 0; r < a->rows; r++) {
      memcpy(in + r * LINE_BYTES, t->from + r * pitch + column * size, LINE_BYTES);
    }
    char *to = t->to + column * to_pitch;
    const int is_last = (t->columns.end - column - block) * to_pitch < LINE_BYTES;
    transpose_block(in, LINE_BYTES, is_last ? out : to, to_pitch, a->rows, block, size, 0);
    if (is_last) memcpy(to, out, (size_t)(block * to_pitch));
  }
}

/* Element by element. Where the compiler knows how few rows or columns there are, it makes vectors
   of this that are four times faster than transposes which are mostly empty. */
MLUOP_INLINE void convert_each(const struct image_tile *t, int64_t rows, int64_t columns,
                               int64_t pitch, int64_t to_pitch, int size) {
  const char *restrict from = t->from;
  char *restrict to = t->to;
  if (rows < columns) {
    for (int64_t c = t->columns.begin; c < t->columns.end; c++) {
      for (int64_t r = 0; r < rows; r++) {
        memcpy(to + c * to_pitch + r * size, from + r * pitch + c * size, (size_t)size);
      }
    }
  } else {
    for (int64_t r = t->rows.begin; r < t->rows.end; r++) {
      for (int64_t c = 0; c < columns; c++) {
        memcpy(to + c * to_pitch + r * size, from + r * pitch + c * size, (size_t)size);
      }
    }
  }
}

/* One channel, or one pixel: both layouts are the same. */
static void copy(const struct layout_args *a, const struct image_tile *t) {
  const int64_t begin = (t->rows.begin + t->columns.begin) * a->size;
  const int64_t count = (t->rows.end - t->rows.begin) * (t->columns.end - t->columns.begin);
  memcpy(t->to + begin, t->from + begin, (size_t)(count * a->size));
}

/* A number of rows, or of columns, that the compiler knows. */
MLUOP_INLINE void convert_packed(const struct layout_args *a, const struct image_tile *t,
                                 int size) {
  const int64_t rows = a->rows, columns = a->columns, block = LINE_BYTES / size;
  if (rows == 1 || columns == 1) {
    copy(a, t);
  } else if (rows >= block) {
    switch (columns) {
      case 2:
        convert_each(t, rows, 2, 2 * size, rows * size, size);
        break;
      case 3:
        convert_each(t, rows, 3, 3 * size, rows * size, size);
        break;
      case 4:
        convert_each(t, rows, 4, 4 * size, rows * size, size);
        break;
      default:
        convert_few_columns(a, t, size);
    }
  } else if (columns >= block) {
    switch (rows) {
      case 2:
        convert_each(t, 2, columns, columns * size, 2 * size, size);
        break;
      case 3:
        convert_each(t, 3, columns, columns * size, 3 * size, size);
        break;
      case 4:
        convert_each(t, 4, columns, columns * size, 4 * size, size);
        break;
      default:
        convert_few_rows(a, t, size);
    }
  } else {
    convert_each(t, rows, columns, columns * size, rows * size, size);
  }
}

MLUOP_INLINE void convert(const struct layout_args *a, const struct image_tile *t, int size) {
  const int64_t block = LINE_BYTES / size;
  if (a->rows >= block && a->columns >= block) {
    convert_wide(a, t, size);
  } else if (a->packed) {
    convert_packed(a, t, size);
  } else {
    convert_each(t, a->rows, a->columns, a->from_pitch, a->to_pitch, size);
  }
}

void MLUOP_VARIANT(layout_convert)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct layout_args *a = vargs;
  const int64_t tiles = a->row_tiles * a->column_tiles;
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const int64_t matrix = item / tiles, tile = item % tiles;
    const int64_t image = matrix / a->lines, line = matrix % a->lines;
    const struct image_tile t = {
        .from = a->from + image * a->from_image + line * a->from_line,
        .to = a->to + image * a->to_image + line * a->to_line,
        .rows = span_of(tile % a->row_tiles, a->row_tiles, a->rows),
        .columns = span_of(tile / a->row_tiles, a->column_tiles, a->columns),
    };
    if (a->size == 2) {
      convert(a, &t, 2);
    } else {
      convert(a, &t, 4);
    }
  }
  if (a->stream) vf_stream_end();
}

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

static struct span span_of(int64_t tile, int64_t tiles, int64_t step, int64_t extent) {
  return (struct span){tile * step, tile + 1 < tiles ? (tile + 1) * step : extent};
}

/* Where the block after that at `at` begins. The last one overlaps it, so that all are whole: what
   is written twice is the same. */
static int64_t next_block(struct span span, int64_t at, int64_t step, int64_t block) {
  if (at + block == span.end) return span.end;
  return at + step + block <= span.end ? at + step : span.end - block;
}

/* A line of each row and of each column. */
MLUOP_INLINE void convert_lines(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                int size, int stream) {
  const int64_t line = LINE_BYTES / size;
  for (int64_t column = 0; column < line; column += RUN_BYTES / size) {
    for (int64_t row = 0; row < line; row += VECTOR_BYTES / size) {
      transpose_runs(from + row * pitch + column * size, pitch, to + column * to_pitch + row * size,
                     to_pitch, size, stream);
    }
  }
}

/* Between memory and memory: what is read soon is fetched, and lines are written whole. */
MLUOP_INLINE void convert_far(const struct layout_args *a, const struct image_tile *t, int size) {
  const int64_t line = LINE_BYTES / size, pitch = a->from_pitch, to_pitch = a->to_pitch;
  const int64_t begin = t->rows.begin, end = t->rows.end;
  const uintptr_t first = (uintptr_t)(t->to + begin * size) / (uintptr_t)size;
  const int64_t to_line = a->stream ? (int64_t)(-first % (uintptr_t)line) : 0;
  for (int64_t column = t->columns.begin; column < t->columns.end;
       column = next_block(t->columns, column, line, line)) {
    char *target = t->to + column * to_pitch + begin * size;
    for (int64_t row = begin, next; row < end; row = next) {
      next = next_block(t->rows, row, row == begin && to_line > 0 ? to_line : line, line);
      const char *from = t->from + row * pitch + column * size;
      for (int64_t k = 0; k < line; k++) {
        mluop_prefetch((const void *)((uintptr_t)from + (uintptr_t)(k * pitch) + LINE_BYTES));
      }
      const uintptr_t soon =
          (uintptr_t)target + (uintptr_t)(line * to_pitch + (row - begin) * size);
      for (int64_t k = 0; !a->stream && k < line; k++) {
        __builtin_prefetch((const void *)(soon + (uintptr_t)(k * to_pitch)), 1, 3);
      }
      char *to = target + (row - begin) * size;
      if (a->stream && (uintptr_t)to % LINE_BYTES == 0) {
        convert_lines(from, pitch, to, to_pitch, size, 1);
      } else {
        convert_lines(from, pitch, to, to_pitch, size, 0);
      }
    }
  }
}

/* Rows a multiple of so many bytes apart share few places of a cache. */
enum { CROWDED = 256, VERY_CROWDED = 2048 };

/* In the caches: strips of few columns, each written from begin to end. Lines of many columns would
   have the same place in the first cache where columns are a power of two apart, and push each
   other out. Rows that would are copied first. */
MLUOP_INLINE void convert_strips(const struct layout_args *a, const struct image_tile *t,
                                 int size) {
  const int64_t height = VECTOR_BYTES / size, width = RUN_BYTES / size;
  const int64_t rows = t->rows.end - t->rows.begin, columns = t->columns.end - t->columns.begin;
  const char *from = t->from + t->rows.begin * a->from_pitch + t->columns.begin * size;
  char *to = t->to + t->columns.begin * a->to_pitch + t->rows.begin * size;
  int64_t pitch = a->from_pitch;
  char buffer[LAYOUT_BUFFER] __attribute__((aligned(LINE_BYTES)));
  if (pitch % CROWDED == 0) {
    pitch = ((columns * size / LINE_BYTES + 1) | 1) * LINE_BYTES;
    for (int64_t row = 0; row < rows; row++) {
      move_bytes(buffer + row * pitch, from + row * a->from_pitch, columns * size);
    }
    from = buffer;
  }
  const struct span across = {0, columns};
  for (int64_t column = 0; column < columns; column = next_block(across, column, width, width)) {
    const char *strip = from + column * size;
    char *target = to + column * a->to_pitch;
    for (int64_t row = 0; row + height <= rows; row += height) {
      transpose_runs(strip + row * pitch, pitch, target + row * size, a->to_pitch, size, 0);
    }
    if (rows % height != 0) {
      transpose_runs(strip + (rows - height) * pitch, pitch, target + (rows - height) * size,
                     a->to_pitch, size, 0);
    }
  }
}

/* On their own, or the compiler has too few registers left for their loops. */
__attribute__((noinline)) static void convert_halves(const struct layout_args *a,
                                                     const struct image_tile *t) {
  convert_strips(a, t, 2);
}

__attribute__((noinline)) static void convert_floats(const struct layout_args *a,
                                                     const struct image_tile *t) {
  convert_strips(a, t, 4);
}

/* Crowded rows where a vector is a line: each is read once, so that it does not matter if it is
   pushed out. Of two lines of a row, so that those of the columns are not. */
MLUOP_INLINE void convert_squares(const struct layout_args *a, const struct image_tile *t) {
  const struct span rows = t->rows, columns = t->columns;
  for (int64_t first = columns.begin, end; first < columns.end; first = end) {
    end = first + 4 * VL <= columns.end ? first + 2 * VL : columns.end;
    const struct span part = {first, end};
    for (int64_t row = rows.begin; row < rows.end; row = next_block(rows, row, VL, VL)) {
      for (int64_t column = first; column < end; column = next_block(part, column, VL, VL)) {
        transpose_square(t->from + row * a->from_pitch + column * 4, a->from_pitch,
                         t->to + column * a->to_pitch + row * 4, a->to_pitch);
      }
    }
  }
}

/* Fewer rows than a vector has elements: vectors are loaded, and runs of each column stored. */
MLUOP_INLINE void convert_few_rows(const struct layout_args *a, const struct image_tile *t,
                                   int size) {
  const int64_t height = RUN_BYTES / size, width = VECTOR_BYTES / size;
  for (int64_t column = t->columns.begin; column < t->columns.end;
       column = next_block(t->columns, column, width, width)) {
    for (int64_t row = 0; row < a->rows; row = next_block(t->rows, row, height, height)) {
      transpose_vectors(t->from + row * a->from_pitch + column * size, a->from_pitch,
                        t->to + column * a->to_pitch + row * size, a->to_pitch, size);
    }
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
MLUOP_INLINE void convert_few(const struct layout_args *a, const struct image_tile *t, int size) {
  const int64_t rows = a->rows, columns = a->columns;
  if (rows == 1 || columns == 1) {
    copy(a, t);
    return;
  }
  switch (columns < rows ? columns : -rows) {
    case 2:
      convert_each(t, rows, 2, 2 * size, rows * size, size);
      break;
    case 3:
      convert_each(t, rows, 3, 3 * size, rows * size, size);
      break;
    case 4:
      convert_each(t, rows, 4, 4 * size, rows * size, size);
      break;
    case 5:
      convert_each(t, rows, 5, 5 * size, rows * size, size);
      break;
    case 6:
      convert_each(t, rows, 6, 6 * size, rows * size, size);
      break;
    case 7:
      convert_each(t, rows, 7, 7 * size, rows * size, size);
      break;
    case -2:
      convert_each(t, 2, columns, columns * size, 2 * size, size);
      break;
    case -3:
      convert_each(t, 3, columns, columns * size, 3 * size, size);
      break;
    case -4:
      convert_each(t, 4, columns, columns * size, 4 * size, size);
      break;
    case -5:
      convert_each(t, 5, columns, columns * size, 5 * size, size);
      break;
    case -6:
      convert_each(t, 6, columns, columns * size, 6 * size, size);
      break;
    case -7:
      convert_each(t, 7, columns, columns * size, 7 * size, size);
      break;
    default: /* some of an element or a few */
      convert_each(t, rows, columns, columns * size, rows * size, size);
  }
}

MLUOP_INLINE void convert(const struct layout_args *a, const struct image_tile *t, int size) {
  const int64_t run = RUN_BYTES / size, vector = VECTOR_BYTES / size, line = LINE_BYTES / size;
  const int64_t few = size == 2 ? run - 1 : run;
  const int wide = a->rows >= line && a->columns >= line;
  const int squares = vector == line && size == 4 && a->from_pitch % CROWDED == 0 &&
                      a->to_pitch % VERY_CROWDED != 0;
  if (a->packed && (a->rows <= few || a->columns <= few)) {
    convert_few(a, t, size);
  } else if (wide && a->far) {
    convert_far(a, t, size);
  } else if (wide && squares) {
    convert_squares(a, t);
  } else if (a->rows >= vector && a->columns >= run) {
    (size == 2 ? convert_halves : convert_floats)(a, t);
  } else if (a->rows >= run && a->columns >= vector) {
    convert_few_rows(a, t, size);
  } else {
    convert_each(t, a->rows, a->columns, a->from_pitch, a->to_pitch, size);
  }
}

void MLUOP_VARIANT(layout_convert)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct layout_args *a = vargs;
  int64_t row = begin % a->row_tiles, columns = begin / a->row_tiles;
  int64_t column = columns % a->column_tiles, matrix = columns / a->column_tiles;
  int64_t line = matrix % a->lines, image = matrix / a->lines;
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const struct image_tile t = {
        .from = a->from + image * a->from_image + line * a->from_line,
        .to = a->to + image * a->to_image + line * a->to_line,
        .rows = span_of(row, a->row_tiles, a->row_step, a->rows),
        .columns = span_of(column, a->column_tiles, a->column_step, a->columns),
    };
    if (a->size == 2) {
      convert(a, &t, 2);
    } else {
      convert(a, &t, 4);
    }
    if (++row < a->row_tiles) continue;
    row = 0;
    if (++column < a->column_tiles) continue;
    column = 0;
    if (++line < a->lines) continue;
    line = 0;
    image++;
  }
  if (a->stream) vf_stream_end();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/few_channels.h"

/* A line of each row and of each column. */
MLUOP_INLINE void convert_lines(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                int size, int stream) {
  const int64_t line = LINE_BYTES / size;
  for (int64_t column = 0; column < line; column += RUN_BYTES / size) {
    for (int64_t row = 0; row < line; row += VECTOR_BYTES / size) {
      transpose_runs(from + row * pitch + column * size, pitch, to + column * to_pitch + row * size,
                     to_pitch, RUN_BYTES / size, size, stream);
    }
  }
}

/* Between memory and memory: what is read soon is fetched, and lines are written whole. */
MLUOP_INLINE void convert_far(const struct layout_args *a, const struct image_block *b, int size) {
  const int64_t line = LINE_BYTES / size, pitch = a->from.pitch, to_pitch = a->to.pitch;
  const int64_t begin = b->rows.begin, end = b->rows.end;
  const uintptr_t first = (uintptr_t)(b->to + begin * size) / (uintptr_t)size;
  const int64_t to_line = a->stream ? (int64_t)(-first % (uintptr_t)line) : 0;
  for (int64_t column = b->columns.begin; column < b->columns.end;
       column = next_tile(b->columns, column, line, line)) {
    char *target = b->to + column * to_pitch + begin * size;
    for (int64_t row = begin, next; row < end; row = next) {
      next = next_tile(b->rows, row, row == begin && to_line > 0 ? to_line : line, line);
      const char *from = b->from + row * pitch + column * size;
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

/* Lines so far apart have the same place in the first cache, which holds a few of each. */
enum { SAME_PLACE = 4096, LINES_OF_A_PLACE = 8 };

/* Whether lines of so many rows push each other out of the first cache. */
static int crowded(int64_t pitch, int64_t rows) {
  const int64_t power = pitch & -pitch; /* of two, of which the pitch is a multiple */
  return rows * (power < SAME_PLACE ? power : SAME_PLACE) > LINES_OF_A_PLACE * SAME_PLACE;
}

/* In the caches: a run of columns at a time, each written from begin to end. Lines of many columns
   would have the same place in the first cache where columns are a power of two apart, and push
   each other out. Rows that would are copied first. */
MLUOP_INLINE void convert_near(const struct layout_args *a, const struct image_block *b, int size) {
  const int64_t height = VECTOR_BYTES / size, width = RUN_BYTES / size;
  const int64_t rows = b->rows.end - b->rows.begin, columns = b->columns.end - b->columns.begin;
  const char *from = b->from + b->rows.begin * a->from.pitch + b->columns.begin * size;
  char *to = b->to + b->columns.begin * a->to.pitch + b->rows.begin * size;
  const int64_t apart = ((columns * size / LINE_BYTES + 1) | 1) * LINE_BYTES;
  int64_t pitch = a->from.pitch;
  char buffer[LAYOUT_BUFFER] __attribute__((aligned(LINE_BYTES)));
  if (crowded(pitch, rows) && rows * apart <= LAYOUT_BUFFER) {
    pitch = apart;
    for (int64_t row = 0; row < rows; row++) {
      move_bytes(buffer + row * pitch, from + row * a->from.pitch, columns * size);
    }
    from = buffer;
  }
  const struct span across = {0, columns};
  for (int64_t column = 0; column < columns; column = next_tile(across, column, width, width)) {
    const char *source = from + column * size;
    char *target = to + column * a->to.pitch;
    for (int64_t row = 0; row + height <= rows; row += height) {
      transpose_runs(source + row * pitch, pitch, target + row * size, a->to.pitch,
                     RUN_BYTES / size, size, 0);
    }
    if (rows % height != 0) {
      transpose_runs(source + (rows - height) * pitch, pitch, target + (rows - height) * size,
                     a->to.pitch, RUN_BYTES / size, size, 0);
    }
  }
}

/* On their own, or the compiler has too few registers left for their loops. */
__attribute__((noinline)) static void convert_halves(const struct layout_args *a,
                                                     const struct image_block *b) {
  convert_near(a, b, 2);
}

__attribute__((noinline)) static void convert_floats(const struct layout_args *a,
                                                     const struct image_block *b) {
  convert_near(a, b, 4);
}

/* Crowded rows where a vector is a line: each is read once, so that it does not matter if it is
   pushed out. Of two lines of a row, so that those of the columns are not. */
MLUOP_INLINE void convert_squares(const struct layout_args *a, const struct image_block *b) {
  const struct span rows = b->rows, columns = b->columns;
  for (int64_t first = columns.begin, end; first < columns.end; first = end) {
    end = first + 4 * VL <= columns.end ? first + 2 * VL : columns.end;
    const struct span part = {first, end};
    for (int64_t row = rows.begin; row < rows.end; row = next_tile(rows, row, VL, VL)) {
      for (int64_t column = first; column < end; column = next_tile(part, column, VL, VL)) {
        transpose_square(b->from + row * a->from.pitch + column * 4, a->from.pitch,
                         b->to + column * a->to.pitch + row * 4, a->to.pitch);
      }
    }
  }
}

/* Fewer rows than a vector has elements: vectors are loaded, and runs of each column stored. */
MLUOP_INLINE void convert_few_rows(const struct layout_args *a, const struct image_block *b,
                                   int size) {
  const int64_t height = RUN_BYTES / size, width = VECTOR_BYTES / size;
  for (int64_t column = b->columns.begin; column < b->columns.end;
       column = next_tile(b->columns, column, width, width)) {
    for (int64_t row = 0; row < a->rows.count; row = next_tile(b->rows, row, height, height)) {
      transpose_vectors(b->from + row * a->from.pitch + column * size, a->from.pitch,
                        b->to + column * a->to.pitch + row * size, a->to.pitch, size);
    }
  }
}

/* Element by element: a few of them, or few channels of larger images. */
MLUOP_INLINE void convert_each(const struct layout_args *a, const struct image_block *b, int size) {
  for (int64_t c = b->columns.begin; c < b->columns.end; c++) {
    for (int64_t r = b->rows.begin; r < b->rows.end; r++) {
      memcpy(b->to + c * a->to.pitch + r * size, b->from + r * a->from.pitch + c * size,
             (size_t)size);
    }
  }
}

MLUOP_INLINE void convert(const struct layout_args *a, const struct image_block *b, int size) {
  const int64_t rows = a->rows.count, columns = a->columns.count;
  const int64_t run = RUN_BYTES / size, vector = VECTOR_BYTES / size, line = LINE_BYTES / size;
  const int wide = rows >= line && columns >= line;
  const int squares = vector == line && size == 4 && a->from.pitch % (SAME_PLACE / 16) == 0 &&
                      a->to.pitch % (SAME_PLACE / 2) != 0;
  if (a->packed && convert_few(a, b, size)) return;
  if (wide && a->far) {
    convert_far(a, b, size);
  } else if (wide && squares) {
    convert_squares(a, b);
  } else if (rows >= vector && columns >= run) {
    (size == 2 ? convert_halves : convert_floats)(a, b);
  } else if (rows >= run && columns >= vector) {
    convert_few_rows(a, b, size);
  } else {
    convert_each(a, b, size);
  }
}

void MLUOP_VARIANT(layout_convert)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct layout_args *a = vargs;
  int64_t row = begin % a->rows.blocks, columns = begin / a->rows.blocks;
  int64_t column = columns % a->columns.blocks, matrix = columns / a->columns.blocks;
  int64_t line = matrix % a->lines, image = matrix / a->lines;
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const struct image_block b = {
        .from = a->input + image * a->from.image + line * a->from.line,
        .to = a->output + image * a->to.image + line * a->to.line,
        .rows = span_of(row, a->rows),
        .columns = span_of(column, a->columns),
    };
    if (a->size == 2) {
      convert(a, &b, 2);
    } else {
      convert(a, &b, 4);
    }
    if (++row < a->rows.blocks) continue;
    row = 0;
    if (++column < a->columns.blocks) continue;
    column = 0;
    if (++line < a->lines) continue;
    line = 0;
    image++;
  }
  if (a->stream) vf_stream_end();
}

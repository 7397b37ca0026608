/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/few_channels.h"

/* A line of each row and of each column. Past the caches, few lines are begun at a time. */
MLUOP_INLINE void transpose_tile(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                 int size, int stream) {
  const int64_t line = LINE_BYTES / size, height = VECTOR_BYTES / size;
  const int by_runs = stream && height < line;
  const int64_t width = by_runs ? RUN_BYTES / size : height;
  for (int64_t column = 0; column < line; column += width) {
    for (int64_t row = 0; row < line; row += height) {
      const char *source = from + row * pitch + column * size;
      char *target = to + column * to_pitch + row * size;
      if (by_runs) {
        transpose_runs(source, pitch, target, to_pitch, RUN_BYTES / size, size, stream);
      } else {
        transpose_square(source, pitch, target, to_pitch, size, stream);
      }
    }
  }
}

/* On their own, or the compiler has too few registers left for what is around them. */
#define TILE(name, size, stream)                                                        \
  __attribute__((noinline)) static void name(const char *from, int64_t pitch, char *to, \
                                             int64_t to_pitch) {                        \
    transpose_tile(from, pitch, to, to_pitch, size, stream);                            \
  }
TILE(move_halves, 2, 0)
TILE(move_floats, 4, 0)
TILE(stream_halves, 2, 1)
TILE(stream_floats, 4, 1)

/* From memory to memory, what is read soon is fetched, and what is written soon. */
MLUOP_INLINE void convert_tile(const struct layout_args *a, const struct image_block *b,
                               int64_t row, int64_t column, int size) {
  const int64_t line = LINE_BYTES / size, pitch = a->from.pitch;
  const char *from = b->from + row * pitch + column * size;
  char *to = b->to + column * a->to.pitch + row * size;
  for (int64_t k = 0; a->way == LAYOUT_FAR && k < line; k++) {
    mluop_prefetch((const void *)((uintptr_t)from + (uintptr_t)(k * pitch) + LINE_BYTES));
  }
  for (int64_t k = 0; a->way == LAYOUT_FAR && !a->stream && k < line; k++) {
    mluop_prefetch_write((const void *)((uintptr_t)to + (uintptr_t)((line + k) * a->to.pitch)));
  }
  if (a->stream && (uintptr_t)to % LINE_BYTES == 0) {
    (size == 2 ? stream_halves : stream_floats)(from, pitch, to, a->to.pitch);
  } else {
    (size == 2 ? move_halves : move_floats)(from, pitch, to, a->to.pitch);
  }
}

/* Whole lines are read and written, those of the target from begin to end: a line of columns, then
   the next one. */
MLUOP_INLINE void convert_tiles(const struct layout_args *a, const struct image_block *b,
                                int size) {
  const int64_t line = LINE_BYTES / size;
  const struct span rows = b->rows, columns = b->columns;
  const uintptr_t first = (uintptr_t)(b->to + rows.begin * size) / (uintptr_t)size;
  const int64_t to_line = a->stream ? (int64_t)(-first % (uintptr_t)line) : 0;
  for (int64_t column = columns.begin; column < columns.end;
       column = next_tile(columns, column, line, line)) {
    for (int64_t row = rows.begin, next; row < rows.end; row = next) {
      next = next_tile(rows, row, row == rows.begin && to_line > 0 ? to_line : line, line);
      convert_tile(a, b, row, column, size);
    }
  }
}

/* A tile of a vector of each of `width` columns: two runs of each row of floats, or one. */
MLUOP_INLINE void transpose_strip(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                  int64_t width, int size) {
  if (size == 4 && width == PAIR_BYTES / 4) {
    transpose_pairs(from, pitch, to, to_pitch, size);
  } else {
    transpose_runs(from, pitch, to, to_pitch, RUN_BYTES / size, size, 0);
  }
}

/* Eight columns at a time, or fewer, each written from begin to end. Lines of many columns would
   have the same place in the first cache where columns are a power of two apart, and push each
   other out. */
MLUOP_INLINE void transpose_strips(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                   int64_t rows, int64_t columns, int size) {
  const int64_t height = VECTOR_BYTES / size;
  const int64_t width = size == 4 && columns >= PAIR_BYTES / 4 ? PAIR_BYTES / 4 : RUN_BYTES / size;
  const struct span across = {0, columns};
  for (int64_t column = 0; column < columns; column = next_tile(across, column, width, width)) {
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
#define STRIPS(name, size)                                                                      \
  __attribute__((noinline)) static void name(const char *from, int64_t pitch, char *to,         \
                                             int64_t to_pitch, int64_t rows, int64_t columns) { \
    transpose_strips(from, pitch, to, to_pitch, rows, columns, size);                           \
  }
STRIPS(strips_of_halves, 2)
STRIPS(strips_of_floats, 4)

/* Rows that would push each other out are copied first. On its own, as others need less stack. */
__attribute__((noinline)) static void convert_copied(const char *from, int64_t from_pitch,
                                                     int64_t pitch, char *to, int64_t to_pitch,
                                                     int64_t rows, int64_t columns, int size) {
  char buffer[LAYOUT_BUFFER] __attribute__((aligned(LINE_BYTES)));
  for (int64_t row = 0; row < rows; row++) {
    move_bytes(buffer + row * pitch, from + row * from_pitch, columns * size);
  }
  (size == 2 ? strips_of_halves : strips_of_floats)(buffer, pitch, to, to_pitch, rows, columns);
}

MLUOP_INLINE void convert_piece(const struct layout_args *a, const struct image_block *b,
                                int size) {
  const int64_t rows = b->rows.end - b->rows.begin, columns = b->columns.end - b->columns.begin;
  const char *from = b->from + b->rows.begin * a->from.pitch + b->columns.begin * size;
  char *to = b->to + b->columns.begin * a->to.pitch + b->rows.begin * size;
  const int64_t pitch = a->from.pitch, to_pitch = a->to.pitch;
  const int64_t apart = ((columns * size / LINE_BYTES + 1) | 1) * LINE_BYTES;
  if (layout_crowded(pitch, rows) && rows * apart <= LAYOUT_BUFFER) {
    convert_copied(from, pitch, apart, to, to_pitch, rows, columns, size);
  } else {
    (size == 2 ? strips_of_halves : strips_of_floats)(from, pitch, to, to_pitch, rows, columns);
  }
}

/* Pieces side by side follow each other: what was fetched beside one is used by the next. */
__attribute__((noinline)) static void convert_strips(const struct layout_args *a,
                                                     const struct image_block *b, int size) {
  struct image_block piece = *b;
  for (int64_t end = b->columns.end; piece.columns.begin < end;
       piece.columns.begin = piece.columns.end) {
    const int64_t next = piece.columns.begin + a->piece;
    piece.columns.end = next + RUN_BYTES / size <= end ? next : end;
    convert_piece(a, &piece, size);
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

/* Fewer elements than 16 at a time, and parts of lines that crowd, take longer in tiles. */
MLUOP_INLINE int suits_tiles(const struct layout_args *a, int size) {
  const int64_t line = LINE_BYTES / size, vector = VECTOR_BYTES / size;
  if (a->way != LAYOUT_TILES) return a->way != LAYOUT_STRIPS;
  return vector == line || (vector >= 16 && !layout_crowded(a->from.pitch, line));
}

MLUOP_INLINE void convert(const struct layout_args *a, const struct image_block *b, int size) {
  const int64_t rows = a->rows.count, columns = a->columns.count;
  const int64_t run = RUN_BYTES / size, vector = VECTOR_BYTES / size, line = LINE_BYTES / size;
  if (a->packed && convert_few(a, b, size)) return;
  if (rows >= line && columns >= line && suits_tiles(a, size)) {
    convert_tiles(a, b, size);
  } else if (rows >= vector && columns >= run) {
    convert_strips(a, b, size);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/few_channels.h"
#include "layout/pieces.h"

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
MLUOP_INLINE void convert_tile(const struct layout_args *a, const char *from, char *to, int size,
                               int stream) {
  const int64_t line = LINE_BYTES / size, pitch = a->from.pitch, to_pitch = a->to.pitch;
  for (int64_t k = 0; a->way == LAYOUT_FAR && k < line; k++) {
    mluop_prefetch((const void *)((uintptr_t)from + (uintptr_t)(k * pitch) + LINE_BYTES));
  }
  for (int64_t k = 0; a->way == LAYOUT_FAR && !stream && k < line; k++) {
    mluop_prefetch_write((const void *)((uintptr_t)to + (uintptr_t)((line + k) * to_pitch)));
  }
  if (stream) {
    (size == 2 ? stream_halves : stream_floats)(from, pitch, to, to_pitch);
  } else {
    (size == 2 ? move_halves : move_floats)(from, pitch, to, to_pitch);
  }
}

/* The tiles of a line of columns. The first one has the head, the last one overlaps that before. */
MLUOP_INLINE void convert_tile_column(const struct layout_args *a, const char *from, char *to,
                                      int64_t rows, int64_t head, int size) {
  const int64_t line = LINE_BYTES / size, pitch = a->from.pitch;
  if (head > 0) convert_tile(a, from, to, size, 0);
  int64_t row = head;
  for (; row + line <= rows; row += line) {
    convert_tile(a, from + row * pitch, to + row * size, size, 0);
  }
  if (row == rows) return;
  row = rows - line;
  convert_tile(a, from + row * pitch, to + row * size, size, 0);
}

/* Elements from the begin of rows at `base` to their first whole line: 0 where they do not have
   their lines at the same places, or where rows or their elements are few. */
MLUOP_INLINE int64_t head_of(const void *base, int64_t pitch, int64_t elements, int64_t rows,
                             int size) {
  const int64_t line = LINE_BYTES / size;
  if (pitch % LINE_BYTES != 0 || elements < 8 * line || rows < line) return 0;
  return (int64_t)(-(uintptr_t)base % LINE_BYTES) / size;
}

/* After a head, blocks begin with lines; the first block has the head, too. To load or to store
   across two lines takes twice as long. */
MLUOP_INLINE struct span span_after(int64_t head, int64_t block, struct layout_extent extent,
                                    int size) {
  struct span span = span_of(block, extent);
  const int64_t early = head > 0 ? LINE_BYTES / size - head : 0;
  if (span.begin > 0) span.begin -= early;
  if (span.end < extent.count) span.end -= early;
  span.head = span.begin == 0 ? head : 0;
  return span;
}

/* Where the tile after that at `at` begins, a line on, or after the head. */
MLUOP_INLINE int64_t next_line(struct span span, int64_t at, int64_t line) {
  return next_tile(span, at, at == span.begin && span.head > 0 ? span.head : line, line);
}

/* Whole lines are read and written, those of the target from begin to end: a line of columns, then
   the next one. */
MLUOP_INLINE void transpose_tiles(const struct layout_args *a, const char *from, char *to,
                                  int64_t rows, int64_t row_head, int64_t columns,
                                  int64_t column_head, int size) {
  const struct span across = {0, columns, column_head};
  for (int64_t column = 0; column < columns;
       column = next_line(across, column, LINE_BYTES / size)) {
    convert_tile_column(a, from + column * size, to + column * a->to.pitch, rows, row_head, size);
  }
}

/* On their own, as above. They are given numbers and not a block: what has just been stored number
   by number and is loaded as vectors waits until all that was stored before is in the cache. */
#define TILES(name, size)                                                                   \
  __attribute__((noinline)) static void name(const struct layout_args *a, const char *from, \
                                             char *to, int64_t rows, int64_t row_head,      \
                                             int64_t columns, int64_t column_head) {        \
    transpose_tiles(a, from, to, rows, row_head, columns, column_head, size);               \
  }
TILES(tiles_of_halves, 2)
TILES(tiles_of_floats, 4)

MLUOP_INLINE void convert_few_rows(const struct layout_args *a, const struct image_block *b,
                                   int64_t begin, int64_t end, int size) {
  const char *from = b->from + begin * a->from.pitch + b->columns.begin * size;
  char *to = b->to + b->columns.begin * a->to.pitch + begin * size;
  (size == 2 ? few_rows_of_halves : few_rows_of_floats)(
      from, a->from.pitch, to, a->to.pitch, end - begin, b->columns.end - b->columns.begin);
}

/* What is left of a side behind whole tiles, if pieces take less time than a tile that overlaps the
   one before. There is one before: a block with a head ends with a tile, or has many lines. */
MLUOP_INLINE int64_t rest_of(struct span span, int size) {
  const int64_t left = (span.end - span.begin - span.head) % (LINE_BYTES / size);
  return left <= PAIR_BYTES / size ? left : 0;
}

/* Tiles, and pieces of one or two runs for what is left. */
MLUOP_INLINE void convert_tiles(const struct layout_args *a, const struct image_block *b,
                                int size) {
  const int64_t run = RUN_BYTES / size, pitch = a->from.pitch, to_pitch = a->to.pitch;
  const int64_t rows = b->rows.end - b->rows.begin, columns = b->columns.end - b->columns.begin;
  const int64_t more_rows = rest_of(b->rows, size), more_columns = rest_of(b->columns, size);
  const char *from = b->from + b->rows.begin * pitch + b->columns.begin * size;
  char *to = b->to + b->columns.begin * to_pitch + b->rows.begin * size;
  (size == 2 ? tiles_of_halves : tiles_of_floats)(a, from, to, rows - more_rows, b->rows.head,
                                                  columns - more_columns, b->columns.head);
  if (more_rows > 0) {
    const int64_t height = mluop_div_up(more_rows, run) * run, row = rows - height;
    (size == 2 ? few_rows_of_halves : few_rows_of_floats)(
        from + row * pitch, pitch, to + row * size, to_pitch, height, columns);
  }
  if (more_columns > 0) {
    const int64_t width = mluop_div_up(more_columns, run) * run, column = columns - width;
    (size == 2 ? strips_of_halves : strips_of_floats)(
        from + column * size, pitch, to + column * to_pitch, to_pitch, rows, width);
  }
}

/* Tiles past the caches. No line is written in both ways, which takes ten times as long: what is
   before the first whole line of a row and behind the last one is done on its own. */
MLUOP_INLINE void stream_tiles(const struct layout_args *a, const struct image_block *b, int size) {
  const int64_t line = LINE_BYTES / size;
  const struct span columns = b->columns;
  struct span lines = b->rows;
  lines.begin += lines.head;
  lines.end -= (lines.end - lines.begin) % line;
  for (int64_t column = columns.begin; column < columns.end;
       column = next_line(columns, column, line)) {
    for (int64_t row = lines.begin; row < lines.end; row += line) {
      convert_tile(a, b->from + row * a->from.pitch + column * size,
                   b->to + column * a->to.pitch + row * size, size, 1);
    }
  }
  if (lines.begin > b->rows.begin) convert_few_rows(a, b, b->rows.begin, lines.begin, size);
  if (lines.end < b->rows.end) convert_few_rows(a, b, lines.end, b->rows.end, size);
}

/* Tiles that are converted together, by way of a buffer. */
struct diagonal {
  int64_t count;
  const char *from[LAYOUT_DIAGONAL];
  char *to[LAYOUT_DIAGONAL];
};

/* A line of each tile is read in turn, and a few columns of each are written in turn. */
MLUOP_INLINE void transpose_diagonal(const struct diagonal *tiles, int64_t pitch, int64_t to_pitch,
                                     int size) {
  const int64_t line = LINE_BYTES / size, height = VECTOR_BYTES / size;
  const int64_t width = (size == 4 ? PAIR_BYTES : RUN_BYTES) / size;
  char buffer[LAYOUT_DIAGONAL][LINE_BYTES / 2][LINE_BYTES] __attribute__((aligned(LINE_BYTES)));
  for (int64_t row = 0; row < line; row++) {
    for (int64_t t = 0; t < tiles->count; t++) {
      const char *from = tiles->from[t] + row * pitch;
      for (int64_t i = 0; i < LINE_BYTES; i += VECTOR_BYTES) {
        vf_store((void *)(buffer[t][row] + i), vf_load((const void *)(from + i)));
      }
    }
  }
  for (int64_t column = 0; column < line; column += width) {
    for (int64_t t = 0; t < tiles->count; t++) {
      char *to = tiles->to[t] + column * to_pitch;
      for (int64_t row = 0; row < line; row += height) {
        transpose_strip(buffer[t][row] + column * size, LINE_BYTES, to + row * size, to_pitch,
                        width, size);
      }
    }
  }
}

/* On their own, as others need less stack. */
#define DIAGONAL(name, size)                                                              \
  __attribute__((noinline)) static void name(const struct diagonal *tiles, int64_t pitch, \
                                             int64_t to_pitch) {                          \
    transpose_diagonal(tiles, pitch, to_pitch, size);                                     \
  }
DIAGONAL(diagonal_of_halves, 2)
DIAGONAL(diagonal_of_floats, 4)

/* How much earlier all tiles but the first begin than if they followed it. */
MLUOP_INLINE int64_t early_tiles(struct span span, int64_t line) {
  return span.head > 0 ? line - span.head : 0;
}

MLUOP_INLINE int64_t tiles_of(struct span span, int64_t line) {
  return mluop_div_up(span.end - span.begin + early_tiles(span, line), line);
}

/* Where tile `k` begins. The last one overlaps that before it. */
MLUOP_INLINE int64_t tile_at(struct span span, int64_t k, int64_t line) {
  const int64_t at = span.begin + k * line - (k > 0 ? early_tiles(span, line) : 0);
  return at + line <= span.end ? at : span.end - line;
}

/* Parts of eight by eight tiles, or fewer, along their diagonals: tiles that are converted together
   are in different columns and in different rows, and their lines at different places in a cache.
 */
MLUOP_INLINE void convert_diagonals(const struct layout_args *a, const struct image_block *b,
                                    int size) {
  const int64_t line = LINE_BYTES / size, pitch = a->from.pitch, to_pitch = a->to.pitch;
  const int64_t high = tiles_of(b->rows, line), wide = tiles_of(b->columns, line);
  for (int64_t left = 0; left < wide; left += LAYOUT_DIAGONAL) {
    for (int64_t top = 0; top < high; top += LAYOUT_DIAGONAL) {
      const int64_t w = mluop_min(wide - left, LAYOUT_DIAGONAL);
      const int64_t h = mluop_min(high - top, LAYOUT_DIAGONAL);
      const int64_t many = mluop_max(h, w), few = mluop_min(h, w);
      struct diagonal tiles = {.count = many};
      for (int64_t first = 0; first < few; first++) {
        int64_t other = first;
        for (int64_t t = 0; t < many; t++) {
          const int64_t row = tile_at(b->rows, top + (h > w ? t : other), line);
          const int64_t column = tile_at(b->columns, left + (h > w ? other : t), line);
          tiles.from[t] = b->from + row * pitch + column * size;
          tiles.to[t] = b->to + column * to_pitch + row * size;
          if (++other == few) other = 0;
        }
        (size == 2 ? diagonal_of_halves : diagonal_of_floats)(&tiles, pitch, to_pitch);
      }
    }
  }
}

/* Sections side by side follow each other: what was fetched beside one is used by the next. */
MLUOP_INLINE void convert_strips(const struct layout_args *a, const struct image_block *b,
                                 int size) {
  const int64_t rows = b->rows.end - b->rows.begin;
  const char *from = b->from + b->rows.begin * a->from.pitch;
  char *to = b->to + b->rows.begin * size;
  for (int64_t column = b->columns.begin, next; column < b->columns.end; column = next) {
    next = column + LAYOUT_SECTION / size;
    if (next + RUN_BYTES / size > b->columns.end) next = b->columns.end;
    (size == 2 ? strips_of_halves : strips_of_floats)(from + column * size, a->from.pitch,
                                                      to + column * a->to.pitch, a->to.pitch, rows,
                                                      next - column);
  }
}

/* With vectors of less than a line, tiles of fewer than 16 elements at a time take longer than
   strips, and where lines crowd, longer than those that go through a buffer. */
MLUOP_INLINE enum layout_way way_through(const struct layout_args *a, int size) {
  const int64_t line = LINE_BYTES / size, vector = VECTOR_BYTES / size, pitch = a->from.pitch;
  const int64_t most = LAYOUT_DIAGONAL * line, rows = a->rows.count < most ? a->rows.count : most;
  if (a->way != LAYOUT_TILES || vector == line) return a->way;
  if (vector >= 16 && !layout_crowded(pitch, line)) return LAYOUT_TILES;
  return layout_crowded(pitch, rows) ? LAYOUT_DIAGONALS : LAYOUT_STRIPS;
}

MLUOP_INLINE void convert(const struct layout_args *a, const struct image_block *b, int size) {
  const int64_t rows = b->rows.end - b->rows.begin, columns = a->columns.count;
  const int64_t run = RUN_BYTES / size, vector = VECTOR_BYTES / size, line = LINE_BYTES / size;
  if (a->packed && convert_few(a, b, size)) return;
  const enum layout_way way = way_through(a, size);
  if (rows >= line && columns >= line && way == LAYOUT_DIAGONALS) {
    convert_diagonals(a, b, size);
  } else if (rows >= line && columns >= line && way != LAYOUT_STRIPS) {
    /* Short rows that do not begin with lines have too few whole ones. */
    if (a->stream && (uintptr_t)(b->to + (b->rows.begin + b->rows.head) * size) % LINE_BYTES == 0) {
      stream_tiles(a, b, size);
    } else {
      convert_tiles(a, b, size);
    }
  } else if (rows >= vector && columns >= run) {
    convert_strips(a, b, size);
  } else {
    convert_few_rows(a, b, b->rows.begin, b->rows.end, size);
  }
}

void MLUOP_VARIANT(layout_convert)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct layout_args *a = vargs;
  int64_t row = begin % a->rows.blocks, columns = begin / a->rows.blocks;
  int64_t column = columns % a->columns.blocks, matrix = columns / a->columns.blocks;
  int64_t line = matrix % a->lines, image = matrix / a->lines;
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const char *from = a->input + image * a->from.image + line * a->from.line;
    char *to = a->output + image * a->to.image + line * a->to.line;
    const int64_t r = a->rows.count, c = a->columns.count;
    const struct image_block b = {
        .from = from,
        .to = to,
        .rows = span_after(head_of(to, a->to.pitch, r, c, a->size), row, a->rows, a->size),
        .columns =
            span_after(head_of(from, a->from.pitch, c, r, a->size), column, a->columns, a->size),
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

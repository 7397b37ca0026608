/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes of elements of 2 and 4 bytes: the bits of each, at any address, and not a byte
 * outside.
 */
#include <string.h>

#include "shared/transpose.h"
#include "vector.h"

enum { PITCH = 3 * LINE_BYTES };

/* Whether column c of `from` is at to + c * to_pitch, and makes what is written there as it was. */
static int moved(const unsigned char *from, unsigned char *to, int64_t to_pitch, int64_t rows,
                 int64_t columns, int64_t size) {
  int same = 1;
  for (int64_t c = 0; c < columns; c++) {
    for (int64_t r = 0; r < rows; r++) {
      unsigned char *at = to + c * to_pitch + r * size;
      same &= memcmp(at, from + r * PITCH + c * size, (size_t)size) == 0;
      memset(at, 0xa5, (size_t)size);
    }
  }
  return same;
}

typedef void transpose(const char *from, char *to, int size);

static void runs(const char *from, char *to, int size) {
  transpose_runs(from, PITCH, to, PITCH, RUN_BYTES / size, size, 0);
}
static void runs_past_caches(const char *from, char *to, int size) {
  transpose_runs(from, PITCH, to, PITCH, RUN_BYTES / size, size, 1);
  vf_stream_end();
}
static void vectors(const char *from, char *to, int size) {
  transpose_vectors(from, PITCH, to, PITCH, size);
}
static void vector_pairs(const char *from, char *to, int size) {
  transpose_vector_pairs(from, PITCH, to, PITCH, size);
}
static void pairs(const char *from, char *to, int size) {
  transpose_pairs(from, PITCH, to, PITCH, PAIR_BYTES / size, size);
}
static void square(const char *from, char *to, int size) {
  transpose_square(from, PITCH, to, PITCH, size, 0);
}
static void square_past_caches(const char *from, char *to, int size) {
  transpose_square(from, PITCH, to, PITCH, size, 1);
  vf_stream_end();
}

/* Tiles that end, and whose transposes begin, `step` bytes and multiples of it from the memory
   that nobody may touch. */
static void check(transpose *tile, int64_t rows, int64_t columns, int size, int step) {
  const struct room source = room_random(0);
  for (int shift = 0; shift < LINE_BYTES; shift += step) {
    const struct room target = room_clean(1);
    const unsigned char *from = source.end - shift - ((rows - 1) * PITCH + columns * size);
    unsigned char *to = target.begin + shift;
    tile((const char *)from, (char *)to, size);
    CHECK(moved(from, to, PITCH, rows, columns, size));
    CHECK(room_only(target, to, 0));
  }
}

/* Rows shorter than one or two runs: whole ones are loaded, and nothing is made of what follows
   them. */
static void check_short_rows(int runs, int size) {
  const int64_t bytes = runs * RUN_BYTES, vector = VECTOR_BYTES / size;
  for (int64_t columns = 1; columns < bytes / size; columns++) {
    const struct room source = room_random(0), target = room_clean(1);
    const unsigned char *from = source.end - ((vector - 1) * PITCH + bytes);
    char *to = (char *)target.begin;
    if (runs == 2) {
      transpose_pairs((const char *)from, PITCH, to, PITCH, (int)columns, size);
    } else {
      transpose_runs((const char *)from, PITCH, to, PITCH, (int)columns, size, 0);
    }
    CHECK(moved(from, target.begin, PITCH, vector, columns, size));
    CHECK(room_only(target, target.begin, 0));
  }
}

/* Columns shorter than one or two runs, without gaps: each is stored as so many, the last one as
   well. */
static void check_short_columns(int runs, int size) {
  const int64_t bytes = runs * RUN_BYTES, vector = VECTOR_BYTES / size;
  for (int64_t rows = 1; rows < bytes / size; rows++) {
    const struct room source = room_random(0), target = room_clean(1);
    const unsigned char *from = source.end - ((rows - 1) * PITCH + vector * size);
    const int64_t pitch = rows * size;
    unsigned char *to = target.end - (vector - 1) * pitch - bytes;
    transpose_short_columns((const char *)from, PITCH, (char *)to, pitch, (int)rows, runs, size);
    CHECK(moved(from, to, pitch, rows, vector, size));
    memset(target.end - bytes, 0xa5, (size_t)bytes);
    CHECK(room_only(target, to, 0));
  }
}

static void tiles_are_transposed(void) {
  for (int size = 2; size <= 4; size += 2) {
    const int64_t run = RUN_BYTES / size, vector = VECTOR_BYTES / size;
    check(runs, vector, run, size, size);
    check(runs_past_caches, vector, run, size, LINE_BYTES);
    check(pairs, vector, PAIR_BYTES / size, size, size);
    check(vectors, run, vector, size, size);
    check(vector_pairs, PAIR_BYTES / size, vector, size, size);
    check(square, vector, vector, size, size);
    check(square_past_caches, vector, vector, size, LINE_BYTES);
    for (int runs = 1; runs <= PAIR_BYTES / RUN_BYTES; runs++) {
      check_short_rows(runs, size);
      check_short_columns(runs, size);
    }
  }
}

static const struct test tests[] = {
    TEST(tiles_are_transposed),
};
VECTOR_TESTS(tests);

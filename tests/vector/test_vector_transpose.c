/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes of elements of 2 and 4 bytes: the bits of each, at any address, and not a byte
 * outside.
 */
#include <string.h>

#include "shared/transpose.h"
#include "vector.h"

enum { PITCH = 3 * LINE_BYTES };

static void halves_are_paired(void) {
  const struct room room = room_random(0);
  const uint16_t *begin = (const void *)room.begin, *end = (const void *)room.end;
  for (int64_t gap = 0; gap < 40; gap++) {
    const uint16_t *p = gap % 2 ? begin + gap : begin, *q = end - VL - gap / 2;
    uint16_t pairs[2 * VL];
    vf_store((void *)pairs, vf_load_pairs(p, q));
    for (int i = 0; i < VL; i++) CHECK(pairs[2 * i] == p[i] && pairs[2 * i + 1] == q[i]);
  }
}

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

static void tiles_are_transposed(void) {
  const struct room source = room_random(0);
  for (int size = 2; size <= 4; size += 2) {
    for (int shift = 0; shift < LINE_BYTES; shift += size) {
      const int stream = shift == 0, rows = VL * 4 / size;
      const struct room target = room_clean(1);
      const unsigned char *from = source.end - shift - ((rows - 1) * PITCH + VL * size);
      unsigned char *to = target.begin + shift;
      transpose_tile((const char *)from, PITCH, (char *)to, PITCH, size, stream);
      if (stream) vf_stream_end();
      CHECK(moved(from, to, PITCH, rows, VL, size));
      CHECK(room_only(target, to, 0));
    }
  }
}

/* Whole blocks, and few rows of them whose columns stand one behind the other. */
static void blocks_are_transposed(void) {
  const struct room source = room_random(0);
  for (int size = 2; size <= 4; size += 2) {
    const int64_t line = LINE_BYTES / size;
    const unsigned char *from = source.end - ((line - 1) * PITCH + LINE_BYTES);
    for (int64_t rows = 1; rows <= line; rows++) {
      const int64_t to_pitch = rows == line ? PITCH : rows * size;
      const int stream = rows == line;
      const struct room target = room_clean(1);
      unsigned char *to = target.begin;
      transpose_block((const char *)from, PITCH, (char *)to, to_pitch, rows, line, size, stream);
      if (stream) vf_stream_end();
      CHECK(moved(from, to, to_pitch, rows, line, size));
      CHECK(rows < line || room_only(target, to, 0));
    }
  }
}

static const struct test tests[] = {
    TEST(halves_are_paired),
    TEST(tiles_are_transposed),
    TEST(blocks_are_transposed),
};
VECTOR_TESTS(tests);

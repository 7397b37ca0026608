/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are copied or cleared, through the caches or past them: every length, any alignment,
   and not a byte outside. */
#include <string.h>

#include "shared/move.h"
#include "vector.h"

enum { LONGEST = 70 };

/* `size` bytes in the room: `shift` bytes from its begin, or from its end. */
static unsigned char *place(struct room room, int64_t size, int64_t shift, int64_t at_end) {
  return at_end ? room.end - size - shift : room.begin + shift;
}

static int zero(const unsigned char *p, int64_t bytes) {
  while (bytes > 0 && *p == 0) p++, bytes--;
  return bytes == 0;
}

static void runs_are_copied(void) {
  const struct room source = room_random(0);
  for (int64_t n = 0; n <= LONGEST; n++) {
    for (int64_t shift = 0; shift < 2 * LINE_FLOATS; shift++) {
      const struct room target = room_clean(1);
      unsigned char *to = place(target, n * 4, shift / 2 * 4, shift % 2);
      const unsigned char *from = place(source, n * 4, shift * 5 % LINE_FLOATS * 4, shift % 2);
      move_run((void *)to, (const void *)from, n);
      CHECK(memcmp(to, from, (size_t)n * 4) == 0);
      CHECK(room_only(target, to, n * 4));
    }
  }
}

/* Even numbers of bytes, at addresses of halves. */
static void bytes_are_copied(void) {
  const struct room source = room_random(0);
  for (int64_t bytes = 0; bytes <= 4 * LONGEST; bytes += 2) {
    for (int64_t shift = 0; shift < LINE_FLOATS; shift++) {
      const struct room target = room_clean(1);
      unsigned char *to = place(target, bytes, shift / 2 * 2, shift % 2);
      const unsigned char *from = place(source, bytes, shift * 5 % LINE_FLOATS * 2, shift % 2);
      move_bytes((char *)to, (const char *)from, bytes);
      CHECK(memcmp(to, from, (size_t)bytes) == 0);
      CHECK(room_only(target, to, bytes));
    }
  }
}

static void runs_are_cleared(void) {
  for (int64_t n = 0; n <= LONGEST; n++) {
    for (int64_t shift = 0; shift < 2 * LINE_FLOATS; shift++) {
      const struct room target = room_clean(1);
      unsigned char *to = place(target, n * 4, shift / 2 * 4, shift % 2);
      zero_run((void *)to, n);
      CHECK(zero(to, n * 4) && room_only(target, to, n * 4));
    }
  }
}

/* Even numbers of bytes: an odd number of halves ends in the middle of a float. */
static void bytes_are_cleared(void) {
  for (int64_t bytes = 0; bytes <= 4 * LONGEST; bytes += 2) {
    for (int64_t shift = 0; shift < 8; shift++) {
      const struct room target = room_clean(1);
      unsigned char *to = place(target, (bytes + 3) / 4 * 4, shift / 2 * 4, shift % 2);
      clear_bytes((char *)to, bytes);
      CHECK(zero(to, bytes) && room_only(target, to, bytes));
    }
  }
  const struct room target = room_clean(1); /* the last half is the last of the room */
  clear_bytes((char *)target.end - 6, 6);
  CHECK(zero(target.end - 6, 6) && room_only(target, target.end - 6, 6));
}

static void bytes_are_streamed(void) {
  const struct room source = room_random(0);
  for (int64_t bytes = 0; bytes <= 4 * LINE_BYTES; bytes++) {
    for (int64_t shift = 0; shift < 2 * LINE_BYTES; shift++) {
      if (bytes > LINE_BYTES && (bytes + shift) % 3 != 0) continue; /* a third of the long ones */
      const struct room target = room_clean(1);
      unsigned char *to = place(target, bytes, shift / 2, shift % 2);
      const unsigned char *from = place(source, bytes, shift * 5 % LINE_BYTES, shift % 2);
      stream_bytes(to, from, bytes);
      vf_stream_end();
      CHECK(memcmp(to, from, (size_t)bytes) == 0);
      CHECK(room_only(target, to, bytes));
    }
  }
}

/* Around the length from which runs go past the caches, in whole lines and with ends of any size.
 */
static void long_runs_are_cleared(void) {
  static const int64_t lengths[] = {0, 1, 40, 511, 512, 513, 512 + 15, 512 + 16, 700, 1024};
  for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
    for (int way = 0; way < 4 * LINE_FLOATS; way++) {
      const struct room target = room_clean(1);
      const int64_t bytes = lengths[k] * 4;
      unsigned char *to = place(target, bytes, way / 4 * 4, way % 2);
      zero_long_run((void *)to, lengths[k], way / 2 % 2);
      vf_stream_end();
      CHECK(zero(to, bytes) && room_only(target, to, bytes));
    }
  }
}

static void floats_around_a_line(void) {
  const struct room room = room_clean(0); /* begins at a line */
  const float *line = (const void *)room.begin;
  for (int i = 0; i < 4 * LINE_FLOATS; i++) {
    CHECK_EQ(i % 16, floats_into_line(line + i));
    CHECK_EQ((16 - i % 16) % 16, floats_to_line(line + i));
  }
}

static const struct test tests[] = {
    TEST(runs_are_copied),      TEST(bytes_are_copied),   TEST(runs_are_cleared),
    TEST(bytes_are_cleared),    TEST(bytes_are_streamed), TEST(long_runs_are_cleared),
    TEST(floats_around_a_line),
};
VECTOR_TESTS(tests);

/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are picked by shuffles, or gathered one by one: which of them come, and that
   nothing but these, and their neighbours, is read. */
#include <string.h>

#include "shared/pick.h"
#include "vector.h"

/* A pick of `lanes` elements within `span`; its lanes not in use have index 0. */
static struct pick make_pick(int64_t lanes, int64_t span, int64_t size) {
  struct pick pick = {.first = 0};
  for (int64_t k = 0; k < lanes; k++) pick.index[k] = (uint8_t)random_below(span);
  pick_classify(&pick, span, lanes, size);
  return pick;
}

static int64_t vector_of(int64_t size) { return PICK_BYTES / size; }

static void lanes_of_a_pick(void) {
  CHECK_EQ(32, pick_lanes(2));
  CHECK_EQ(16, pick_lanes(4));
  CHECK_EQ(0xffffffffu, pick_all(2));
  CHECK_EQ(0xffffu, pick_all(4));
}

/* The kind by the span, unless the elements are neighbours; the lanes of the second half. */
static void picks_are_classified(void) {
  for (int64_t size = 2; size <= 4; size += 2) {
    const int64_t lanes = vector_of(size);
    for (int64_t span = 1; span <= 4 * lanes + 1; span++) {
      const struct pick pick = make_pick(lanes, span, size);
      uint32_t high = 0;
      int run = 1;
      for (int64_t k = 0; k < lanes; k++) {
        run &= pick.index[k] == k;
        if (pick.index[k] >= 2 * lanes) high |= 1u << k;
      }
      CHECK_EQ(high, pick.high);
      CHECK_EQ(span > 4 * lanes   ? PICK_FAR
               : run              ? PICK_RUN
               : span > 2 * lanes ? PICK_NEAR
                                  : PICK_CLOSE,
               pick.kind);
    }
  }
}

static void neighbours_are_a_run(void) {
  for (int64_t size = 2; size <= 4; size += 2) {
    const int64_t lanes = vector_of(size);
    struct pick pick = {.first = 9};
    for (int64_t k = 0; k < lanes; k++) pick.index[k] = (uint8_t)k;
    pick_classify(&pick, lanes, lanes, size);
    CHECK_EQ(PICK_RUN, pick.kind);
    CHECK_EQ(0, pick.high);
    pick_classify(&pick, 4 * lanes + 1, lanes, size);
    CHECK_EQ(PICK_FAR, pick.kind);
    pick_classify(&pick, lanes - 1, lanes - 1, size); /* a lane is not in use */
    CHECK_EQ(PICK_CLOSE, pick.kind);
    pick.index[lanes - 1] = (uint8_t)(lanes - 2);
    pick_classify(&pick, lanes - 1, lanes, size);
    CHECK_EQ(PICK_CLOSE, pick.kind);
    pick.index[0] = 1;
    pick_classify(&pick, lanes, lanes, size);
    CHECK_EQ(PICK_CLOSE, pick.kind);
  }
}

static void check_picked(const unsigned char *to, const unsigned char *from,
                         const struct pick *pick, uint32_t keep, int64_t size) {
  static const unsigned char zeros[4] = {0};
  for (int64_t k = 0; k < vector_of(size); k++) {
    const unsigned char *source = keep >> k & 1u ? from + pick->index[k] * size : zeros;
    CHECK(memcmp(to + k * size, source, (size_t)size) == 0);
  }
}

/* All kept, none, or some; read from memory that ends, or begins, with the last vector. */
static void elements_are_picked(void) {
  const struct room source = room_random(0), target = room_clean(1);
  for (int round = 0; round < 600; round++) {
    const int64_t size = round % 2 == 0 ? 2 : 4;
    const int vectors = 1 << round / 2 % 3;
    const int64_t lanes = random_below(3) > 0 ? vector_of(size) : 1 + random_below(vector_of(size));
    const struct pick pick = make_pick(lanes, vectors * vector_of(size), size);
    const uint32_t all = pick_all(size);
    const uint32_t keep = round % 5 == 0 ? all : round % 7 == 0 ? 0 : random_bits() & all;
    const unsigned char *from = round % 4 < 2 ? source.begin : source.end - vectors * PICK_BYTES;
    unsigned char *to = round % 3 == 0 ? target.begin + round % 32 * size : target.end - PICK_BYTES;
    memset(target.begin, 0xa5, (size_t)(target.end - target.begin));
    pick_elements(to, &pick, from, keep, vectors, size);
    check_picked(to, from, &pick, keep, size);
    CHECK(room_only(target, to, PICK_BYTES));
  }
}

/* offsets + shift is where each element is; the sum, not its parts, must fit. Offsets of lanes that
   are not kept may be anything. The tensor has `left` elements, between the guard pages. */
static void check_gather(int64_t left, int64_t size, int32_t shift, uint32_t keep, int at_end) {
  const struct room source = room_random(0), target = room_clean(1);
  const unsigned char *from = at_end ? source.end - left * size : source.begin;
  int32_t offsets[PICK_LANES_MAX];
  for (int k = 0; k < PICK_LANES_MAX; k++) {
    const uint32_t at = (uint32_t)(k < 2 ? (left - 1) * k : random_below(left));
    offsets[k] = (int32_t)(keep >> k & 1u ? at - (uint32_t)shift : random_bits());
  }
  unsigned char *to = target.end - PICK_BYTES;
  gather_elements(to, from, left, offsets, shift, keep, size);
  CHECK(room_only(target, to, PICK_BYTES));
  for (int k = 0; k < vector_of(size); k++) {
    static const unsigned char zeros[4] = {0};
    const uint32_t at = (uint32_t)offsets[k] + (uint32_t)shift;
    const unsigned char *element = keep >> k & 1u ? from + at * size : zeros;
    CHECK(memcmp(to + k * size, element, (size_t)size) == 0);
  }
}

static void elements_are_gathered(void) {
  static const int32_t shifts[] = {0, 7, -7, INT32_MAX, INT32_MIN};
  for (int round = 0; round < 1200; round++) {
    const int64_t size = round % 2 == 0 ? 2 : 4;
    const int64_t left = round % 3 == 0 ? 1 + random_below(3) : 1 + random_below(2000);
    const uint32_t all = pick_all(size);
    const uint32_t keep = round % 5 == 0 ? all : round % 7 == 0 ? 0 : random_bits() & all;
    check_gather(left, size, shifts[round % 5], keep, round / 2 % 2);
  }
}

static const struct test tests[] = {
    TEST(lanes_of_a_pick),     TEST(picks_are_classified),  TEST(neighbours_are_a_run),
    TEST(elements_are_picked), TEST(elements_are_gathered),
};
VECTOR_TESTS(tests);

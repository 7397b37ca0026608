/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_VECTOR_H_
#define MLUOP_TESTS_VECTOR_H_

/* What the tests of the vector layer share. Each of their files is built once for each instruction
   set, and compares every operation with plain C. */

#include <stddef.h>
#include <stdint.h>

#include "check.h"
#include "core/half.h"
#include "core/kernel.h"

enum { ROOMS = 2 };

/* The tests of one file for one instruction set. */
struct vector_tests {
  const struct test *tests;
  size_t count;
};

#define VECTOR_TESTS(list)                                      \
  extern const struct vector_tests MLUOP_VARIANT(vector_tests); \
  const struct vector_tests MLUOP_VARIANT(vector_tests) = {list, sizeof(list) / sizeof((list)[0])}

/* The bytes between two pages that nobody may touch. They begin and end at a cache line. */
struct room {
  unsigned char *begin, *end;
};

struct room room_clean(int which); /* every byte is 0xa5; `which` is below ROOMS */
struct room room_random(int which);

/* Whether nothing but the `bytes` at `p` has been written since room_clean. */
int room_only(struct room room, const void *p, int64_t bytes);

uint32_t random_bits(void);
int64_t random_below(int64_t limit);

/* The definition of binary16, in double. */
float reference_widen(uint16_t half);
uint16_t reference_narrow(float value);

/* Bits, since -0 equals 0 and no NaN equals itself. */
static inline int same_bits(float a, float b) {
  return mluop_bits_of_float(a) == mluop_bits_of_float(b);
}

#endif /* MLUOP_TESTS_VECTOR_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
/* One coordinate of a sample: the limits of the map, its last pixel, NaN, huge extents. */
#include <math.h>

#include "shared/bilinear.h"
#include "vector.h"

/* The contract, in double: both limits belong to the inside, and what is before pixel 0 is at it.
 */
static int reference(float at, int64_t extent, struct mluop_axis *axis) {
  if (isnan(at) || at < -1 || (double)at > (double)(float)extent) return 0;
  const double inside = at > 0 ? (double)at : 0, low = floor(inside);
  const int last = low >= (double)(extent - 1);
  axis->low = last ? extent - 1 : (int64_t)low;
  axis->high = last ? extent - 1 : axis->low + 1;
  axis->frac = last ? 0.0f : (float)(inside - low);
  return 1;
}

static void check_at(float at, int64_t extent) {
  struct mluop_axis expected = {-1, -1, -1}, axis = {-2, -2, -2};
  const int inside = reference(at, extent, &expected);
  if (!CHECK_EQ(inside, mluop_axis_at(at, extent, &axis)) || !inside) return;
  CHECK_EQ(expected.low, axis.low);
  CHECK_EQ(expected.high, axis.high);
  CHECK(same_bits(expected.frac, axis.frac));
}

static const int64_t extents[] = {1, 2, 3, 7, 8, 100, 16777215, 16777217, 2147483647};
enum { EXTENTS = sizeof(extents) / sizeof(extents[0]) };

static void coordinates_at_the_limits(void) {
  for (int k = 0; k < EXTENTS; k++) {
    const float extent = (float)extents[k];
    const float limits[] = {-1, -0.0f, 0, 0.5f, 1, extent - 1, extent - 0.5f, extent, extent + 1};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
      check_at(limits[i], extents[k]);
      check_at(nextafterf(limits[i], INFINITY), extents[k]);
      check_at(nextafterf(limits[i], -INFINITY), extents[k]);
    }
  }
}

static void coordinates_anywhere(void) {
  static const float far[] = {NAN,    INFINITY, -INFINITY, 1e30f,
                              -1e30f, 0x1p63f,  -0x1p63f,  0x1p-149f};
  for (int k = 0; k < EXTENTS; k++) {
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) check_at(far[i], extents[k]);
    for (int i = 0; i < 2000; i++) {
      const float share = (float)(random_bits() >> 8) / 0x1p24f;
      check_at(share * ((float)extents[k] + 4) - 2, extents[k]);
    }
  }
}

/* By hand. */
static void coordinates_in_a_row_of_four(void) {
  struct mluop_axis axis = {-1, -1, -1};
  CHECK(!mluop_axis_at(-1.5f, 4, &axis) && !mluop_axis_at(4.5f, 4, &axis));
  CHECK(!mluop_axis_at(NAN, 4, &axis));
  CHECK(mluop_axis_at(-1, 4, &axis) && axis.low == 0 && axis.high == 1 && axis.frac == 0);
  CHECK(mluop_axis_at(2.25f, 4, &axis) && axis.low == 2 && axis.high == 3 && axis.frac == 0.25f);
  CHECK(mluop_axis_at(3, 4, &axis) && axis.low == 3 && axis.high == 3 && axis.frac == 0);
  CHECK(mluop_axis_at(4, 4, &axis) && axis.low == 3 && axis.high == 3 && axis.frac == 0);
}

static const struct test tests[] = {TEST(coordinates_at_the_limits), TEST(coordinates_anywhere),
                                    TEST(coordinates_in_a_row_of_four)};
VECTOR_TESTS(tests);

/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, comparisons, selection, conversion between numbers: zeros of both signs, subnormals,
   infinities, NaN. */
#include <math.h>
#include <string.h>

#include "vector.h"
#include "vector/simd.h"

static const uint32_t special[] = {0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007fffffu,
                                   0x00800000u, 0x80800000u, 0x3f800000u, 0xbf800000u, 0x3f800001u,
                                   0x40490fdbu, 0x4b000001u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u,
                                   0xff800000u, 0x7fc00000u, 0xffc12345u, 0x7f800001u};
enum { SPECIAL = sizeof(special) / sizeof(special[0]), PAIRS = SPECIAL * SPECIAL };

/* Lane i of round k has pair k + i, so that each pair comes to each lane. */
static void pairs(int k, float *a, float *b) {
  for (int i = 0; i < VL; i++) {
    const int pair = (k + i) % PAIRS;
    a[i] = mluop_float_of_bits(special[pair % SPECIAL]);
    b[i] = mluop_float_of_bits(special[pair / SPECIAL]);
  }
}

static void broadcasts(void) {
  for (int k = 0; k < SPECIAL; k++) {
    const float numbers[] = {0, 0, mluop_float_of_bits(special[k])};
    float lanes[VL];
    int32_t ints[VL];
    vf_store(lanes, vf_set(numbers[2]));
    vi_store(ints, vi_set((int32_t)special[k]));
    for (int i = 0; i < VL; i++) {
      CHECK(same_bits(lanes[i], numbers[2]));
      CHECK_EQ((int32_t)special[k], ints[i]);
    }
  }
}

static void comparisons(void) {
  for (int k = 0; k < PAIRS; k++) {
    float a[VL], b[VL], lanes[5][VL];
    pairs(k, a, b);
    const vf x = vf_load(a), y = vf_load(b), yes = vf_set(1), no = vf_set(2);
    vf_store(lanes[0], vf_select(vf_greater(x, y), yes, no));
    vf_store(lanes[1], vf_select(vf_at_least(x, y), yes, no));
    vf_store(lanes[2], vf_select(vf_nonzero(x), yes, no));
    vf_store(lanes[3], vf_max(x, y));
    vf_store(lanes[4], vf_min(x, y));
    int any = 0;
    for (int i = 0; i < VL; i++) {
      CHECK((lanes[0][i] == 1) == (a[i] > b[i]));
      CHECK((lanes[1][i] == 1) == (a[i] >= b[i]));
      CHECK((lanes[2][i] == 1) == (a[i] != 0));
      CHECK(same_bits(lanes[3][i], a[i] > b[i] ? a[i] : b[i]));
      CHECK(same_bits(lanes[4][i], a[i] < b[i] ? a[i] : b[i]));
      any |= a[i] > b[i];
    }
    CHECK(vm_any(vf_greater(x, y)) == any);
  }
}

/* Both kinds of lanes, by every pattern of conditions in turn. */
static void selections(void) {
  for (int k = 0; k < PAIRS; k++) {
    float a[VL], b[VL], chosen[VL], condition[VL];
    int32_t ints[2][VL], chosen_ints[VL];
    pairs(k, a, b);
    memcpy(ints[0], a, sizeof(a));
    memcpy(ints[1], b, sizeof(b));
    for (int i = 0; i < VL; i++) condition[i] = (float)(random_bits() % 2);
    const vm where = vf_nonzero(vf_load(condition));
    vf_store(chosen, vf_select(where, vf_load(a), vf_load(b)));
    vi_store(chosen_ints, vi_select(where, vi_load(ints[0]), vi_load(ints[1])));
    for (int i = 0; i < VL; i++) {
      CHECK(same_bits(chosen[i], condition[i] != 0 ? a[i] : b[i]));
      CHECK_EQ(ints[condition[i] != 0 ? 0 : 1][i], chosen_ints[i]);
    }
  }
}

#if defined(__FMA__) || defined(__aarch64__)
static float fma_of(float a, float b, float c) { return fmaf(a, b, c); }
#else
static float fma_of(float a, float b, float c) { return a * b + c; }
#endif

/* A NaN may be any NaN. */
static int same_number(float a, float b) { return same_bits(a, b) || (isnan(a) && isnan(b)); }

static void check_fma(const float *a, const float *b, const float *c, const float *condition) {
  float all[VL], some[VL];
  const vf x = vf_load(a), y = vf_load(b), z = vf_load(c);
  vf_store(all, vf_fma(x, y, z));
  vf_store(some, vf_fma_where(vf_nonzero(vf_load(condition)), x, y, z));
  for (int i = 0; i < VL; i++) {
    CHECK(same_number(all[i], fma_of(a[i], b[i], c[i])));
    CHECK(condition[i] != 0 ? same_number(some[i], all[i]) : same_bits(some[i], c[i]));
  }
}

static void multiply_and_add(void) {
  float a[VL], b[VL], c[VL], condition[VL];
  for (int k = 0; k < PAIRS; k++) {
    pairs(k, a, b);
    for (int i = 0; i < VL; i++) {
      c[i] = mluop_float_of_bits(special[random_below(SPECIAL)]);
      condition[i] = (float)(random_bits() % 2);
    }
    check_fma(a, b, c, condition);
  }
  /* (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 with one rounding, and 0 with two. */
  for (int i = 0; i < VL; i++) {
    a[i] = b[i] = 1 + 0x1p-12f;
    c[i] = -(1 + 0x1p-11f);
  }
  check_fma(a, b, c, condition);
}

static void sums_of_lanes(void) {
  float lanes[4][VL], sums[6];
  for (int k = 0; k < 4; k++) {
    for (int i = 0; i < VL; i++) lanes[k][i] = (float)((k + 1) << i); /* exact in any order */
  }
  sums[4] = sums[5] = -1;
  vf_store_sums4(sums, vf_load(lanes[0]), vf_load(lanes[1]), vf_load(lanes[2]), vf_load(lanes[3]));
  for (int k = 0; k < 4; k++) {
    const float exact = (float)((k + 1) * ((1 << VL) - 1));
    CHECK(sums[k] == exact);
    CHECK(vf_sum(vf_load(lanes[k])) == exact);
  }
  CHECK(sums[4] == -1 && sums[5] == -1);
  for (int i = 0; i < VL; i++) lanes[0][i] = 0x1p-149f;
  CHECK(vf_sum(vf_load(lanes[0])) == VL * 0x1p-149f);
  lanes[0][VL - 1] = INFINITY;
  CHECK(vf_sum(vf_load(lanes[0])) == INFINITY);
  lanes[0][0] = -INFINITY;
  CHECK(isnan(vf_sum(vf_load(lanes[0]))));
}

/* Each room of four sums ends at a guard page. */
static void sums_of_lanes_are_four_floats(void) {
  const struct room room = room_clean(0);
  float *to = (void *)(room.end - 4 * sizeof(float));
  vf_store_sums4(to, vf_set(1), vf_set(2), vf_set(3), vf_set(4));
  CHECK(room_only(room, to, 4 * sizeof(float)));
  for (int k = 0; k < 4; k++) CHECK(to[k] == (float)((k + 1) * VL));
}

static void integers_and_floats(void) {
  static const float floats[] = {0.0f,        -0.0f,         0.5f,     -0.5f,    0.99999994f,
                                 -1.9999999f, 2.5f,          -3.7f,    1e9f,     -1e9f,
                                 0x1p30f,     2147483520.0f, -0x1p31f, 0x1p-149f};
  static const int32_t ints[] = {
      0, 1, -1, 7, 16777216, 16777217, 16777219, -16777217, 33554434, 2147483647, -2147483647 - 1};
  enum { FLOATS = sizeof(floats) / sizeof(floats[0]), INTS = sizeof(ints) / sizeof(ints[0]) };
  for (int k = 0; k < FLOATS * INTS; k++) {
    float from[VL], to[VL];
    int32_t whole[VL], truncated[VL];
    for (int i = 0; i < VL; i++) from[i] = floats[(k + i) % FLOATS];
    for (int i = 0; i < VL; i++) whole[i] = ints[(k + i) % INTS];
    vi_store(truncated, vi_truncate(vf_load(from)));
    vf_store(to, vf_of_int(vi_load(whole)));
    for (int i = 0; i < VL; i++) CHECK_EQ((int32_t)from[i], truncated[i]);
    for (int i = 0; i < VL; i++) CHECK(same_bits(to[i], (float)whole[i]));
  }
}

/* What only speaks to the compiler changes no bit. */
static void opaque_values_are_the_same(void) {
  float from[VL], to[VL], other[VL];
  int32_t ints[VL];
  for (int k = 0; k < PAIRS; k++) {
    pairs(k, from, other);
    vf_store(to, vf_opaque(vf_load(from)));
    memcpy(ints, other, sizeof(ints));
    vi_store(ints, vi_opaque(vi_load(ints)));
    CHECK(memcmp(to, from, sizeof(to)) == 0);
    CHECK(memcmp(ints, other, sizeof(ints)) == 0);
  }
  CHECK_EQ(INT64_MIN + 5, mluop_opaque(INT64_MIN + 5));
  CHECK(mluop_opaque_pointer(from) == from);
  from[1] = 3;
  mluop_compiler_barrier();
  CHECK(from[1] == 3);
}

static const struct test tests[] = {
    TEST(broadcasts),          TEST(comparisons),
    TEST(selections),          TEST(multiply_and_add),
    TEST(sums_of_lanes),       TEST(sums_of_lanes_are_four_floats),
    TEST(integers_and_floats), TEST(opaque_values_are_the_same),
};
VECTOR_TESTS(tests);

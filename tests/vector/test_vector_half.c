/* SPDX-License-Identifier: Apache-2.0 */
/* Half conversion, one by one and in vectors: all 65,536 halves, rounding at every boundary between
   two of them, and floats of any bits, also where the CPU flushes subnormals to zero. */
#include <math.h>
#include <string.h>

#include "vector.h"
#include "vector/simd.h"

enum { HALVES = 65536, INFINITE = 0x7c00 };

static void all_halves_widen(void) {
  for (int half = 0; half < HALVES; half += VL) {
    uint16_t from[VL];
    float to[VL];
    for (int i = 0; i < VL; i++) from[i] = (uint16_t)(half + i);
    vf_store(to, vf_load_half(from));
    for (int i = 0; i < VL; i++) {
      CHECK(same_bits(to[i], reference_widen(from[i])));
      CHECK(same_bits(mluop_half_to_float(from[i]), reference_widen(from[i])));
    }
  }
}

/* Every way to narrow: alone, as a vector in memory, as either half of a vector of bits. */
static void check_narrow(const uint16_t *expected, const float *from) {
  const vf v = vf_load(from), other = vf_set(-2);
  uint16_t stored[VL], low[2 * VL], high[2 * VL];
  vf_store_half(stored, v);
  const vf low_bits = vf_narrow_to_half(v, other), high_bits = vf_narrow_to_half(other, v);
  memcpy(low, &low_bits, sizeof(low));
  memcpy(high, &high_bits, sizeof(high));
  for (int i = 0; i < VL; i++) {
    CHECK_EQ(expected[i], mluop_float_to_half(from[i]));
    CHECK_EQ(expected[i], stored[i]);
    CHECK_EQ(expected[i], low[i]);
    CHECK_EQ(expected[i], high[VL + i]);
    CHECK(low[VL + i] == 0xc000 && high[i] == 0xc000);
  }
}

static void check_one(uint16_t expected, float value) {
  uint16_t halves[VL];
  float from[VL];
  for (int i = 0; i < VL; i++) {
    halves[i] = i % 2 == 0 ? expected : 0xbc00;
    from[i] = i % 2 == 0 ? value : -1;
  }
  check_narrow(halves, from);
}

/* Between each positive half and the next, a float just below the middle goes down, one just above
   goes up, and the middle goes to the one with an even mantissa. Beyond the largest half (65504)
   the next would be 65536, which is infinity. Negative values mirror the positive ones. */
static void rounding_between_all_halves(void) {
  for (int half = 0; half < INFINITE; half++) {
    const uint16_t low = (uint16_t)half, high = (uint16_t)(half + 1);
    const float exact = reference_widen(low);
    const float above = high == INFINITE ? 65536.0f : reference_widen(high);
    const float middle = (exact + above) / 2;
    const uint16_t tie = (half & 1) == 0 ? low : high;
    for (int sign = 0; sign <= 1; sign++) {
      const uint16_t bit = (uint16_t)(sign << 15);
      const float s = sign != 0 ? -1.0f : 1.0f;
      check_one(low | bit, s * exact);
      check_one(low | bit, s * nextafterf(middle, 0));
      check_one(tie | bit, s * middle);
      check_one(high | bit, s * nextafterf(middle, INFINITY));
    }
  }
}

static void special_values(void) {
  check_one(0x7c00, INFINITY);
  check_one(0xfc00, -INFINITY);
  check_one(0x7c00, 1e30f);
  check_one(0xfc00, -3.4e38f);
  check_one(0x7c00, 65520.0f); /* the tie between 65504 and 65536 */
  check_one(0x7bff, 65519.996f);
  check_one(0x0000, 1e-30f);
  check_one(0x8000, -1e-45f); /* a float subnormal */
  check_one(0x0001, 0x1.8p-25f);
  check_one(0x0000, 0x1p-25f); /* the tie between 0 and the smallest half */
  check_one(0x7e00, mluop_float_of_bits(0x7fc00000u));
  check_one(0xfe00, mluop_float_of_bits(0xffc00000u));
  check_one(0x7e01, mluop_float_of_bits(0x7f802000u)); /* signalling: made quiet */
  check_one(0x7fff, mluop_float_of_bits(0x7fffffffu));
  check_one(0x7e00, mluop_float_of_bits(0x7f800001u));
}

static void floats_of_any_bits(void) {
  for (int k = 0; k < 200000; k += VL) {
    uint16_t halves[VL];
    float from[VL];
    for (int i = 0; i < VL; i++) {
      from[i] = mluop_float_of_bits(random_bits());
      halves[i] = reference_narrow(from[i]);
    }
    check_narrow(halves, from);
  }
}

/* Sets what the CPU does to subnormals; returns what it did before. */
#if defined(__SSE2__)
enum { FLUSH = 0x8040 }; /* to zero, of results and of operands */
static uint64_t set_mode(uint64_t mode) {
  const uint64_t before = _mm_getcsr();
  _mm_setcsr((unsigned)mode);
  return before;
}
#else
enum { FLUSH = 1 << 24 };
static uint64_t set_mode(uint64_t mode) {
  uint64_t before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
  return before;
}
#endif

/* The references are made before, by arithmetic that flushing would change. */
static void conversion_while_subnormals_are_flushed(void) {
  for (int half = 0; half < HALVES; half += VL) {
    uint16_t from[VL], narrow[VL], one_by_one[VL];
    float expected[VL], wide[VL], alone[VL];
    for (int i = 0; i < VL; i++) expected[i] = reference_widen(from[i] = (uint16_t)(half + i));
    const uint64_t before = set_mode(0);
    set_mode(before | FLUSH);
    mluop_compiler_barrier();
    vf_store(wide, vf_load_half(from));
    vf_store_half(narrow, vf_load(wide));
    for (int i = 0; i < VL; i++) alone[i] = mluop_half_to_float(from[i]);
    for (int i = 0; i < VL; i++) one_by_one[i] = mluop_float_to_half(alone[i]);
    mluop_compiler_barrier();
    set_mode(before);
    for (int i = 0; i < VL; i++) {
      const uint16_t back = reference_narrow(expected[i]);
      CHECK(same_bits(wide[i], expected[i]) && same_bits(alone[i], expected[i]));
      CHECK(narrow[i] == back && one_by_one[i] == back);
    }
  }
}

static const struct test tests[] = {
    TEST(all_halves_widen),
    TEST(rounding_between_all_halves),
    TEST(special_values),
    TEST(floats_of_any_bits),
    TEST(conversion_while_subnormals_are_flushed),
};
VECTOR_TESTS(tests);

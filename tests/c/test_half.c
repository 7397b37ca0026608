/* SPDX-License-Identifier: Apache-2.0 */
/* Half conversion: all 65,536 halves, and rounding at every boundary between two of them, by the
   portable code and by the vectors of each instruction set that runs here. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "core/half.h"
#include "half_variant.h"
#include "isa_list.h"
#include "mlu_op_cpu.h"

#define DECLARE(isa, floats, name) extern const struct half_variant mluop_##name##_##isa;
#define ENTRY(isa, floats, name) {#isa, &mluop_##name##_##isa},

MLUOP_ISAS(DECLARE, half_variant)

static const struct {
  const char *name;
  const struct half_variant *variant;
} all_variants[] = {MLUOP_ISAS(ENTRY, half_variant)};

static int runs_here(const char *name) {
  const char *at = mluOpCpuGetSupportedIsas();
  const size_t length = strlen(name);
  while ((at = strstr(at, name)) != NULL) {
    if (at[length] == ' ' || at[length] == '\0') return 1;
    at += length;
  }
  return 0;
}

/* Calls `body` for each instruction set that this CPU has. */
static void for_each_variant(void (*body)(const struct half_variant *)) {
  for (size_t i = 0; i < sizeof(all_variants) / sizeof(all_variants[0]); i++) {
    if (runs_here(all_variants[i].name)) {
      body(all_variants[i].variant);
    } else {
      printf("skipped: this CPU has no %s\n", all_variants[i].name);
    }
  }
}

enum { HALVES = 65536, INFINITE = 0x7c00, QUIET = 0x0200 };

static int is_nan(uint16_t half) { return (half & 0x7fff) > INFINITE; }

/* The value of a finite half, by the definition of binary16. */
static double value_of(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

/* Compares bits, since -0 equals 0 and no NaN equals itself. */
static int right_float(uint16_t half, float value) {
  const uint32_t bits = mluop_bits_of_float(value), sign = (uint32_t)(half & 0x8000) << 16;
  if (is_nan(half)) {
    return bits == (sign | 0x7f800000u | (uint32_t)((half & 1023) | QUIET) << 13);
  }
  if ((half & 0x7fff) == INFINITE) return bits == (sign | 0x7f800000u);
  return bits == mluop_bits_of_float((float)value_of(half));
}

static void all_halves_widen_portably(void) {
  for (int half = 0; half < HALVES; half++) {
    CHECK(right_float((uint16_t)half, mluop_half_to_float((uint16_t)half)));
  }
}

static void widen_with(const struct half_variant *v) {
  for (int half = 0; half < HALVES; half += v->width) {
    uint16_t from[HALF_MAX_WIDTH];
    float to[HALF_MAX_WIDTH];
    for (int i = 0; i < v->width; i++) from[i] = (uint16_t)(half + i);
    v->load(from, to);
    for (int i = 0; i < v->width; i++) CHECK(right_float(from[i], to[i]));
  }
}

static void all_halves_widen_in_vectors(void) { for_each_variant(widen_with); }

/* Rounds one value with whatever is under test. */
typedef uint16_t narrow_function(const struct half_variant *v, float value);

static uint16_t narrow_portably(const struct half_variant *v, float value) {
  (void)v;
  return mluop_float_to_half(value);
}

static uint16_t narrow_in_vector(const struct half_variant *v, float value) {
  float from[HALF_MAX_WIDTH];
  uint16_t to[HALF_MAX_WIDTH];
  for (int i = 0; i < v->width; i++) from[i] = value;
  v->store(from, to);
  for (int i = 1; i < v->width; i++) CHECK_EQ(to[0], to[i]);
  return to[0];
}

static float neighbour(float value, int up) { return nextafterf(value, up ? INFINITY : -INFINITY); }

/* Between each positive half and the next, a float just below the middle goes down, one just above
   goes up, and the middle goes to the one with an even mantissa. Beyond the largest half (65504)
   the next would be 65536, which is infinity. Negative values mirror the positive ones. */
static void check_rounding(narrow_function *narrow, const struct half_variant *v) {
  for (int half = 0; half < INFINITE; half++) {
    const uint16_t low = (uint16_t)half, high = (uint16_t)(half + 1);
    const double above = high == INFINITE ? 65536.0 : value_of(high);
    const float exact = (float)value_of(low), middle = (float)((value_of(low) + above) / 2);
    const uint16_t tie = (half & 1) == 0 ? low : high;
    for (int sign = 0; sign <= 1; sign++) {
      const uint16_t bit = (uint16_t)(sign << 15);
      const float s = sign != 0 ? -1.0f : 1.0f;
      CHECK_EQ(low | bit, narrow(v, s * exact));
      CHECK_EQ(low | bit, narrow(v, s * neighbour(middle, 0)));
      CHECK_EQ(tie | bit, narrow(v, s * middle));
      CHECK_EQ(high | bit, narrow(v, s * neighbour(middle, 1)));
    }
  }
}

static void check_special_values(narrow_function *narrow, const struct half_variant *v) {
  CHECK_EQ(0x7c00, narrow(v, INFINITY));
  CHECK_EQ(0xfc00, narrow(v, -INFINITY));
  CHECK_EQ(0x7c00, narrow(v, 1e30f));
  CHECK_EQ(0xfc00, narrow(v, -3.4e38f));
  CHECK_EQ(0x7c00, narrow(v, 65520.0f)); /* the tie between 65504 and 65536 */
  CHECK_EQ(0x7bff, narrow(v, 65519.996f));
  CHECK_EQ(0x0000, narrow(v, 1e-30f));
  CHECK_EQ(0x8000, narrow(v, -1e-45f)); /* a float subnormal */
  CHECK_EQ(0x7e00, narrow(v, mluop_float_of_bits(0x7fc00000u)));
  CHECK_EQ(0xfe00, narrow(v, mluop_float_of_bits(0xffc00000u)));
  CHECK_EQ(0x7e01, narrow(v, mluop_float_of_bits(0x7f802000u))); /* signalling: made quiet */
  CHECK_EQ(0x7fff, narrow(v, mluop_float_of_bits(0x7fffffffu)));
  CHECK_EQ(0x7e00, narrow(v, mluop_float_of_bits(0x7f800001u)));
}

static void rounding_portably(void) {
  check_rounding(narrow_portably, NULL);
  check_special_values(narrow_portably, NULL);
}

static void round_with(const struct half_variant *v) {
  check_rounding(narrow_in_vector, v);
  check_special_values(narrow_in_vector, v);
}

static void rounding_in_vectors(void) { for_each_variant(round_with); }

/* `bytes` whose last one is followed by a page that nobody may touch. */
static unsigned char *guarded(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *pages =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!CHECK(pages != MAP_FAILED)) return NULL;
  CHECK(mprotect(pages + page, page, PROT_NONE) == 0);
  return pages + page - bytes;
}

static void release(unsigned char *end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  munmap(end - page, 2 * page);
}

/* The partial forms touch the first n elements only, load the others as 0, and agree with the full
   forms. */
static void parts_with(const struct half_variant *v) {
  for (int n = 0; n <= v->width; n++) {
    float floats[HALF_MAX_WIDTH], back[HALF_MAX_WIDTH];
    unsigned char *halves = guarded((size_t)n * 2), *singles = guarded((size_t)n * 4);
    if (halves == NULL || singles == NULL) return;
    for (int i = 0; i < v->width; i++) floats[i] = (float)(i + 1) * 0.75f;
    v->store_part(floats, (uint16_t *)(void *)halves, n);
    v->load_part((const uint16_t *)(const void *)halves, back, n);
    for (int i = 0; i < v->width; i++) CHECK(back[i] == (i < n ? floats[i] : 0.0f));
    v->store_floats(floats, (float *)(void *)singles, n);
    v->load_floats((const float *)(const void *)singles, back, n);
    for (int i = 0; i < v->width; i++) CHECK(back[i] == (i < n ? floats[i] : 0.0f));
    release(halves + (size_t)n * 2);
    release(singles + (size_t)n * 4);
  }
}

static void parts_stay_inside(void) { for_each_variant(parts_with); }

static const struct test tests[] = {
    TEST(all_halves_widen_portably), TEST(all_halves_widen_in_vectors), TEST(rounding_portably),
    TEST(rounding_in_vectors),       TEST(parts_stay_inside),
};
RUN_TESTS(tests)

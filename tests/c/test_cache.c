/* SPDX-License-Identifier: Apache-2.0 */
/* When a call exceeds the caches, and how the environment sets their size. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "core/internal.h"

static const char variable[] = "MLUOP_CPU_CACHE_BYTES";

/* The most bytes that a call may move without exceeding caches of that size. */
static int64_t share_of(const char *bytes) {
  setenv(variable, bytes, 1);
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  const int64_t share = handle->cache_share;
  CHECK(!mluop_exceeds_caches(handle, share));
  CHECK(mluop_exceeds_caches(handle, share + 1));
  OK(mluOpDestroy(handle));
  unsetenv(variable);
  return share;
}

static void half_of_the_cache_but_not_more_than_48_mib(void) {
  CHECK_EQ(0, share_of("0"));
  CHECK_EQ(0, share_of("1"));
  CHECK_EQ(50, share_of("101"));
  CHECK_EQ(16 << 20, share_of("33554432"));
  CHECK_EQ(48 << 20, share_of("100663296"));
  CHECK_EQ(48 << 20, share_of("503316480"));
  CHECK_EQ(48 << 20, share_of("9223372036854775807"));
}

static void without_it_the_system_is_asked(void) {
  CHECK(share_of("") > 0);
  CHECK(share_of("") <= 48 << 20);
}

static void a_bad_size_is_an_error(void) {
  static const char *const sizes[] = {"-1",   "+1",  " 1",  "1 ",  "1K",
                                      "0x10", "1.5", "big", "1e6", "9223372036854775808"};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    mluOpHandle_t handle = (mluOpHandle_t)(void *)&handle, before = handle;
    setenv(variable, sizes[i], 1);
    CHECK_EQ(MLUOP_STATUS_BAD_PARAM, mluOpCreate(&handle));
    CHECK(handle == before);
    char expected[128];
    snprintf(expected, sizeof(expected),
             "[mluOpCreate] MLUOP_CPU_CACHE_BYTES is \"%s\", expected a number of bytes, 0 or more",
             sizes[i]);
    CHECK_TEXT(expected, mluOpCpuGetLastErrorMessage());
  }
  unsetenv(variable);
}

static const struct test tests[] = {
    TEST(half_of_the_cache_but_not_more_than_48_mib),
    TEST(without_it_the_system_is_asked),
    TEST(a_bad_size_is_an_error),
};
RUN_TESTS(tests)

/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels a handle gets, and how the environment overrides that. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mlu_op.h"
#include "mlu_op_cpu.h"

static const char variable[] = "MLUOP_CPU_ISA";

/* Copies the first word of *list to `word`, and moves on; 0 at the end. */
static int next_word(const char **list, char *word, size_t size) {
  while (**list == ' ') (*list)++;
  const size_t length = strcspn(*list, " ");
  snprintf(word, size, "%.*s", (int)length, *list);
  *list += length;
  return length > 0;
}

static void check_handle_uses(const char *name) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  CHECK_TEXT(name, mluOpCpuGetIsaName(handle));
  OK(mluOpDestroy(handle));
}

static void the_best_is_the_default(void) {
  const char *list = mluOpCpuGetSupportedIsas();
  char best[32];
  CHECK(next_word(&list, best, sizeof(best)));
  unsetenv(variable);
  check_handle_uses(best);
  setenv(variable, "", 1);
  check_handle_uses(best);
  unsetenv(variable);
}

static void each_supported_one_can_be_asked_for(void) {
  const char *list = mluOpCpuGetSupportedIsas();
  char name[32];
  while (next_word(&list, name, sizeof(name))) {
    setenv(variable, name, 1);
    check_handle_uses(name);
  }
  unsetenv(variable);
}

/* Of a build for every CPU: "baseline" or "neon". */
static void the_last_one_runs_everywhere(void) {
  const char *last = strrchr(mluOpCpuGetSupportedIsas(), ' ');
  last = last != NULL ? last + 1 : mluOpCpuGetSupportedIsas();
  CHECK_TEXT(MLUOP_TEST_LAST_ISA, last);
}

static void an_unknown_one_is_an_error(void) {
  static const char *const names[] = {"sse9", "AVX2", "avx", "baseline ", "avx2 baseline"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    mluOpHandle_t handle = (mluOpHandle_t)(void *)&handle, before = handle;
    setenv(variable, names[i], 1);
    CHECK_EQ(MLUOP_STATUS_ARCH_MISMATCH, mluOpCreate(&handle));
    CHECK(handle == before);
    char expected[256];
    snprintf(expected, sizeof(expected),
             "[mluOpCreate] MLUOP_CPU_ISA is \"%s\", expected one that this CPU and this build "
             "support: %s",
             names[i], mluOpCpuGetSupportedIsas());
    CHECK_TEXT(expected, mluOpCpuGetLastErrorMessage());
  }
  unsetenv(variable);
}

static void a_handle_keeps_what_it_was_created_with(void) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  const char *before = mluOpCpuGetIsaName(handle);
  setenv(variable, "no such thing", 1);
  OK(mluOpUpdateContextInformation(handle));
  CHECK_TEXT(before, mluOpCpuGetIsaName(handle));
  OK(mluOpDestroy(handle));
  unsetenv(variable);
}

static const struct test tests[] = {
    TEST(the_best_is_the_default),
    TEST(each_supported_one_can_be_asked_for),
    TEST(the_last_one_runs_everywhere),
    TEST(an_unknown_one_is_an_error),
    TEST(a_handle_keeps_what_it_was_created_with),
};
RUN_TESTS(tests)

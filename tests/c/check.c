/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "mlu_op_cpu.h"

static int failures = 0;

int failed_checks(void) { return failures; }

int run_tests(const struct test *tests, size_t count, int argc, char **argv) {
  for (size_t i = 0; i < count; i++) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
    mluOpCpuSetLogLevel(MLUOP_CPU_LOG_OFF);
    const int before = failures;
    tests[i].run();
    printf("%s %s\n", failures == before ? "ok    " : "FAILED", tests[i].name);
    fflush(stdout);
  }
  return failures != 0;
}

static int count_failure(void) {
  __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
  return 0;
}

int check_true(int holds, const char *text, const char *file, int line) {
  if (holds) return 1;
  printf("%s:%d: %s does not hold\n", file, line, text);
  return count_failure();
}

int check_equal(int64_t expected, int64_t actual, const char *text, const char *file, int line) {
  if (expected == actual) return 1;
  printf("%s:%d: %s is %lld, expected %lld (last message: %s)\n", file, line, text,
         (long long)actual, (long long)expected, mluOpCpuGetLastErrorMessage());
  return count_failure();
}

int check_text(const char *expected, const char *actual, const char *file, int line) {
  if (actual != NULL && strcmp(expected, actual) == 0) return 1;
  printf("%s:%d: text is\n  %s\nexpected\n  %s\n", file, line, actual != NULL ? actual : "(NULL)",
         expected);
  return count_failure();
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_CHECK_H_
#define MLUOP_TESTS_CHECK_H_

/* The least that a C test needs: a failed check is reported and counted, and the test goes on. */

#include <stddef.h>
#include <stdint.h>

struct test {
  const char *name;
  void (*run)(void);
};

#define TEST(function) \
  { #function, function }

/* Runs each test with logging off; the exit status of the program. A test may be named as the only
   argument. */
int run_tests(const struct test *tests, size_t count, int argc, char **argv);

#define RUN_TESTS(tests)                                                     \
  int main(int argc, char **argv) {                                          \
    return run_tests(tests, sizeof(tests) / sizeof((tests)[0]), argc, argv); \
  }

/* Each returns whether it holds. */
int check_true(int holds, const char *text, const char *file, int line);
int check_equal(int64_t expected, int64_t actual, const char *text, const char *file, int line);
int check_text(const char *expected, const char *actual, const char *file, int line);

#define CHECK(condition) check_true((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_EQ(expected, actual) \
  check_equal((int64_t)(expected), (int64_t)(actual), #actual, __FILE__, __LINE__)
#define CHECK_TEXT(expected, actual) check_text(expected, actual, __FILE__, __LINE__)

#define OK(call) CHECK_EQ(MLUOP_STATUS_SUCCESS, call)
#define BAD(call) CHECK_EQ(MLUOP_STATUS_BAD_PARAM, call)
/* BAD_PARAM, with this message. */
#define BAD_TEXT(message, call) (BAD(call), CHECK_TEXT(message, mluOpCpuGetLastErrorMessage()))

/* How many checks have failed so far: for child processes, whose checks nobody else counts. */
int failed_checks(void);

#endif /* MLUOP_TESTS_CHECK_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
/* The results of every operator, on every instruction set that runs here, beside the plain loops:
   so that also those sets are tested for which there is no Python here. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "check.h"
#include "mlu_op_cpu.h"

/* Where MLUOP_CPU_KERNEL fixes some ways, what it does not name is no other than without it. */
enum { ROUNDS = 60, ROUNDS_OF_A_WAY = 30, THREADS = 3 };

static const mluOpDataType_t types[] = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF};

typedef void compare_t(mluOpHandle_t handle, mluOpDataType_t dtype);

static void on_isa(const char *isa, const char *family, compare_t *compare) {
  setenv("MLUOP_CPU_ISA", isa, 1);
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  unsetenv("MLUOP_CPU_ISA");
  CHECK_TEXT(isa, mluOpCpuGetIsaName(handle));
  const int rounds = getenv("MLUOP_CPU_KERNEL") == NULL ? ROUNDS : ROUNDS_OF_A_WAY;
  for (int round = 0; round < rounds; round++) {
    OK(mluOpCpuSetNumThreads(handle, 1 + round % THREADS));
    for (int type = 0; type < 2; type++) {
      const int before = failed_checks();
      compare(handle, types[type]);
      if (failed_checks() != before)
        printf("  (%s, %s, round %d, type %d)\n", family, isa, round, type);
    }
  }
  OK(mluOpDestroy(handle));
}

static void on_every_isa(const char *family, compare_t *compare) {
  char names[128];
  snprintf(names, sizeof(names), "%s", mluOpCpuGetSupportedIsas());
  char *rest = NULL;
  for (char *isa = strtok_r(names, " ", &rest); isa; isa = strtok_r(NULL, " ", &rest))
    on_isa(isa, family, compare);
}

static void results_are_those_of_the_plain_loops(void) {
  for (const struct named_family *family = families; family->name != NULL; family++) {
    CHECK(family->calls->values[0] != NULL);
    for (int i = 0; family->calls->values[i] != NULL; i++)
      on_every_isa(family->name, family->calls->values[i]);
  }
}

static const struct test tests[] = {TEST(results_are_those_of_the_plain_loops)};

RUN_TESTS(tests)

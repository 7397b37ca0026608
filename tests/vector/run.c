/* SPDX-License-Identifier: Apache-2.0 */
/* The main function of every test of the vector layer: all instruction sets that run here. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "isa_list.h"
#include "mlu_op_cpu.h"
#include "vector.h"

#define DECLARE(isa, floats, name) extern const struct vector_tests mluop_##name##_##isa;
#define ENTRY(isa, floats, name) {#isa, &mluop_##name##_##isa},

MLUOP_ISAS(DECLARE, vector_tests)

static const struct {
  const char *name;
  const struct vector_tests *variant;
} variants[] = {MLUOP_ISAS(ENTRY, vector_tests)};

static int runs_here(const char *name) {
  const char *at = mluOpCpuGetSupportedIsas();
  const size_t length = strlen(name);
  while ((at = strstr(at, name)) != NULL) {
    if (at[length] == ' ' || at[length] == '\0') return 1;
    at += length;
  }
  return 0;
}

int main(int argc, char **argv) {
  int failed = 0;
  for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
    if (!runs_here(variants[i].name)) {
      printf("skipped: this CPU has no %s\n", variants[i].name);
      continue;
    }
    printf("%s:\n", variants[i].name);
    fflush(stdout); /* what follows may crash */
    failed |= run_tests(variants[i].variant->tests, variants[i].variant->count, argc, argv);
  }
  return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A target of operators as a program of libFuzzer: FUZZ_TARGET is its list. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

extern const struct fuzz_operator FUZZ_TARGET[];

static void print_computed(void) { fprintf(stderr, "stat::computed: %ld\n", fuzz_computed); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool begun;
  if (!begun) begun = atexit(print_computed) == 0;
  fuzz_one(FUZZ_TARGET, data, size);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "limits/limits.h"

#include <string.h>

#include "core/kernel.h"

#define DECLARE(isa, floats, name) mluop_limit_loop MLUOP_PASTE(name, isa);
#define ENTRY(isa, floats, name) {#isa, MLUOP_PASTE(name, isa)},

MLUOP_ISAS(DECLARE, limit)

static const struct {
  const char *isa;
  mluop_limit_loop *loop;
} loops[] = {MLUOP_ISAS(ENTRY, limit)};

double mluop_limit_of(const char *isa, int what, float *memory, int64_t floats, int64_t repeats) {
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; ++i) {
    if (strcmp(loops[i].isa, isa) == 0) {
      return loops[i].loop((enum mluop_limit)what, memory, floats, repeats);
    }
  }
  return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/toy/kernels.h"

void MLUOP_VARIANT(toy_scale)(const void *args, int64_t begin, int64_t end, void *scratch) {
  const struct toy_args *a = args;
  (void)scratch;
  for (int64_t i = begin; i < end; i++) a->y[i] = a->factor * a->x[i];
}

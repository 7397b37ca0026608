/* SPDX-License-Identifier: Apache-2.0 */
/* Some valid calls are ended before they have done all of their work. */
#include "fuzz.h"

static int stops(void *user_data) {
  int *left = user_data;
  return --*left < 0;
}

/* Its outputs may hold anything, but nothing else has changed; what follows shows that the handle
   is as before. */
void fuzz_interrupt(mluOpHandle_t handle, struct fuzz *f, const struct fuzz_operator *op,
                    uint32_t choices) {
  int left = (int)(choices % 7);
  fuzz_way = (struct fuzz_way){.parts = 1, .real_threads = choices >> 8 & 1};
  fuzz_prefill(f, 0);
  FUZZ_CHECK(mluOpCpuSetInterruptCheck(handle, stops, &left, 0) == MLUOP_STATUS_SUCCESS);
  const mluOpStatus_t status = op->run(handle, f);
  FUZZ_CHECK(status == (left < 0 ? MLUOP_STATUS_EXECUTION_FAILED : MLUOP_STATUS_SUCCESS));
  FUZZ_CHECK(mluOpCpuSetInterruptCheck(handle, NULL, NULL, 0) == MLUOP_STATUS_SUCCESS);
  fuzz_check_around(f);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a call costs besides its arithmetic: descriptors, handles, failing calls, and each operator
   on the smallest tensors that it accepts. Prints nanoseconds, the least of several rounds. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include "calls.h"
#include "mlu_op_cpu.h"

enum { ROUNDS = 30, REPEATS = 3000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Returns whether the calls succeeded. */
typedef int body_function(mluOpHandle_t handle, struct call *call);

static void measure(const char *name, body_function *body, mluOpHandle_t handle,
                    struct call *call) {
  double least = 0;
  int good = body(handle, call);
  for (int round = 0; round < ROUNDS; round++) {
    const double begin = now();
    for (int i = 0; i < REPEATS; i++) good &= body(handle, call);
    const double each = (now() - begin) / REPEATS;
    if (round == 0 || each < least) least = each;
  }
  printf("%-46s %8.1f ns%s\n", name, least, good ? "" : "  (failed)");
}

static int descriptor_life(mluOpHandle_t handle, struct call *call) {
  (void)handle;
  (void)call;
  static const int dims[] = {2, 64, 64, 256};
  mluOpTensorDescriptor_t desc;
  return mluOpCreateTensorDescriptor(&desc) == MLUOP_STATUS_SUCCESS &&
         mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims) ==
             MLUOP_STATUS_SUCCESS &&
         mluOpDestroyTensorDescriptor(desc) == MLUOP_STATUS_SUCCESS;
}

static int handle_life(mluOpHandle_t handle, struct call *call) {
  (void)handle;
  (void)call;
  mluOpHandle_t own;
  return mluOpCreate(&own) == MLUOP_STATUS_SUCCESS && mluOpDestroy(own) == MLUOP_STATUS_SUCCESS;
}

static int failing_call(mluOpHandle_t handle, struct call *call) {
  (void)handle;
  (void)call;
  return mluOpGetQueue(NULL, NULL) == MLUOP_STATUS_BAD_PARAM;
}

static int operator_call(mluOpHandle_t handle, struct call *call) {
  return call_run(handle, call) == MLUOP_STATUS_SUCCESS;
}

int main(void) {
  mluOpHandle_t handle;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return 1;
  mluOpCpuSetLogLevel(MLUOP_CPU_LOG_OFF);
  printf("%s, %s\n", mluOpCpuGetBuildInfo(), mluOpCpuGetIsaName(handle));
  measure("4-D tensor descriptor: create, set, destroy", descriptor_life, NULL, NULL);
  measure("handle: create, destroy", handle_life, NULL, NULL);
  measure("a call that fails", failing_call, NULL, NULL);
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, CALL_TINY);
    if (call == NULL) return 1;
    measure(call_name(i), operator_call, handle, call);
    call_release(call);
  }
  mluOpDestroy(handle);
  return 0;
}

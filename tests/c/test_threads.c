/* SPDX-License-Identifier: Apache-2.0 */
/* Different handles on different threads at once, and results that do not depend on the number of
   threads, on the handle, or on what it did before. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "calls.h"
#include "check.h"
#include "mlu_op_cpu.h"

enum { THREADS = 4, ROUNDS = 3, MOST_CALLS = 32 };

static uint64_t expected[MOST_CALLS];

/* Runs operator `index` and compares its outputs with the expected ones. */
static void run_one(mluOpHandle_t handle, int index) {
  struct call *call = call_prepare(index, CALL_WIDE);
  if (!CHECK(call != NULL)) return;
  call_spoil_outputs(call);
  OK(call_run(handle, call));
  if (!CHECK(call_digest(call) == expected[index])) CHECK_TEXT("", call_name(index));
  call_release(call);
}

static void compute_expected(void) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 1));
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    call_spoil_outputs(call);
    OK(call_run(handle, call));
    expected[i] = call_digest(call);
    call_release(call);
  }
  OK(mluOpDestroy(handle));
}

static void the_number_of_threads_changes_nothing(void) {
  compute_expected();
  static const int numbers[] = {1, 2, 3, 7, 16};
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
    OK(mluOpCpuSetNumThreads(handle, numbers[n]));
    for (int i = 0; i < call_count(); i++) run_one(handle, i);
  }
  OK(mluOpDestroy(handle));
}

static void *run_with_own_handle(void *argument) {
  const int seed = *(const int *)argument;
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 1 + seed % 3));
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < call_count(); i++) run_one(handle, (i + seed) % call_count());
    BAD(mluOpDestroyTensorDescriptor(NULL));
    CHECK_TEXT("[mluOpDestroyTensorDescriptor] desc is NULL", mluOpCpuGetLastErrorMessage());
  }
  OK(mluOpDestroy(handle));
  return NULL;
}

static void handles_run_at_the_same_time(void) {
  compute_expected();
  pthread_t threads[THREADS];
  int seeds[THREADS];
  for (int i = 0; i < THREADS; i++) {
    seeds[i] = i;
    CHECK_EQ(0, pthread_create(&threads[i], NULL, run_with_own_handle, &seeds[i]));
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static const struct test tests[] = {
    TEST(the_number_of_threads_changes_nothing),
    TEST(handles_run_at_the_same_time),
};
RUN_TESTS(tests)

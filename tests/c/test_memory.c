/* SPDX-License-Identifier: Apache-2.0 */
/* What a handle keeps of the memory that operators work in, and the stack that a caller needs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "calls.h"
#include "check.h"
#include "core/internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { THREADS = 4, STACK_BYTES = 64 << 10 };

static void run_all(int threads, enum call_size size) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, threads));
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, size);
    if (!CHECK(call != NULL)) continue;
    OK(call_run(handle, call));
    call_release(call);
  }
  OK(mluOpDestroy(handle));
}

static void begin_calls(mluOpHandle_t handle, int count) {
  for (int i = 0; i < count; i++) mluop_begin_call(handle);
}

static void large_scratch_is_given_back(void) {
  const size_t large = (size_t)8 << 20;
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  CHECK(mluop_scratch(handle, large) != NULL);
  begin_calls(handle, 16);
  CHECK_EQ(large, handle->scratch_size);
  CHECK(mluop_scratch(handle, large / 4 + 1) != NULL); /* enough to keep it */
  begin_calls(handle, 16);
  CHECK_EQ(large, handle->scratch_size);
  CHECK(mluop_scratch(handle, large / 4) != NULL);
  begin_calls(handle, 1);
  CHECK_EQ(0, handle->scratch_size);
  CHECK(mluop_scratch(handle, 1 << 20) != NULL); /* not large */
  begin_calls(handle, 40);
  CHECK_EQ(1 << 20, handle->scratch_size);
  OK(mluOpDestroy(handle));
}

static void every_operator_counts_as_a_call(void) {
  const size_t large = (size_t)64 << 20;
  for (int i = 0; i < call_count(); i++) {
    mluOpHandle_t handle;
    OK(mluOpCreate(&handle));
    struct call *call = call_prepare(i, CALL_TINY);
    if (!CHECK(call != NULL)) continue;
    CHECK(mluop_scratch(handle, large) != NULL);
    for (int k = 0; k <= 16; k++) OK(call_run(handle, call));
    CHECK(handle->scratch_size < large / 4);
    call_release(call);
    OK(mluOpDestroy(handle));
  }
}

static void *run_on_small_stack(void *unused) {
  run_all(1, CALL_TINY);
  run_all(1, CALL_WIDE);
  run_all(THREADS, CALL_WIDE);
  return unused;
}

static void a_small_stack_is_enough(void) {
  if (SANITIZED) return; /* their frames are several times as large */
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const long least = sysconf(_SC_THREAD_STACK_MIN); /* 128 KiB on arm64 */
  const size_t bytes = least > STACK_BYTES ? (size_t)least : STACK_BYTES;
  CHECK_EQ(0, pthread_attr_setstacksize(&attributes, bytes));
  pthread_t thread;
  CHECK_EQ(0, pthread_create(&thread, &attributes, run_on_small_stack, NULL));
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

static const struct test tests[] = {
    TEST(large_scratch_is_given_back),
    TEST(every_operator_counts_as_a_call),
    TEST(a_small_stack_is_enough),
};
RUN_TESTS(tests)

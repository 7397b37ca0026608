/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator computes the same in whatever floating-point state it is called, on threads that
   were born in that state as well, and leaves the state as it found it. */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>

#include "calls.h"
#include "check.h"
#include "mlu_op_cpu.h"

/* The register that rules rounding, subnormal numbers and interrupts. */
#if defined(__x86_64__)
#include <xmmintrin.h>
static const uint64_t flush_subnormals = 0x8040;
static uint64_t control(void) { return _mm_getcsr(); }
static void set_control(uint64_t value) { _mm_setcsr((unsigned)value); }
#else
static const uint64_t flush_subnormals = UINT64_C(1) << 24;
static uint64_t control(void) {
  uint64_t value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
static void set_control(uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#endif

enum { MOST_CALLS = 32 };

enum change { NONE, FLUSH, UPWARD, TRAPS, CHANGES };
/* What data is multiplied with, so that sums are subnormal, or overflow. */
static const float factors[CHANGES] = {1.0f, 1e-39f, 1.0f, 3e38f};
static uint64_t expected[CHANGES][MOST_CALLS];

static void change_state(enum change change) {
  if (change == FLUSH) set_control(control() | flush_subnormals);
  if (change == UPWARD) CHECK_EQ(0, fesetround(FE_UPWARD));
  /* Not every arm64 processor has them. */
  if (change == TRAPS) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

/* A call whose results the change would show in. */
static struct call *prepare(int index, enum change change) {
  struct call *call = call_prepare(index, CALL_WIDE);
  if (!CHECK(call != NULL)) return NULL;
  float *values = call->t[0].data;
  for (size_t i = 0; i < call->t[0].bytes / 4; i++) values[i] *= factors[change];
  call_spoil_outputs(call);
  return call;
}

static void run_all(enum change change, int threads) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, threads));
  for (int i = 0; i < call_count(); i++) {
    struct call *call = prepare(i, change);
    if (call == NULL) continue;
    change_state(change);
    const uint64_t before = control();
    const mluOpStatus_t status = call_run(handle, call);
    const uint64_t after = control();
    fesetenv(FE_DFL_ENV);
    OK(status);
    CHECK_EQ(before, after);
    if (!CHECK(call_digest(call) == expected[change][i])) CHECK_TEXT("", call_name(i));
    call_release(call);
  }
  OK(mluOpDestroy(handle));
}

static void compute_expected(enum change change) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 1));
  for (int i = 0; i < call_count(); i++) {
    struct call *call = prepare(i, change);
    if (call == NULL) continue;
    OK(call_run(handle, call));
    expected[change][i] = call_digest(call);
    call_release(call);
  }
  OK(mluOpDestroy(handle));
}

/* Runs on a thread of its own, whose workers are made in the changed state. */
static void *run_changed(void *argument) {
  const enum change change = *(const enum change *)argument;
  change_state(change);
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 4));
  struct call *call = prepare(0, NONE); /* makes them */
  change_state(change);
  OK(call_run(handle, call));
  fesetenv(FE_DFL_ENV);
  call_release(call);
  OK(mluOpDestroy(handle));
  run_all(NONE, 4);
  for (int threads = 1; threads <= 4; threads++) run_all(change, threads);
  return NULL;
}

static void check_change(enum change change) {
  compute_expected(NONE);
  compute_expected(change);
  pthread_t thread;
  CHECK_EQ(0, pthread_create(&thread, NULL, run_changed, &change));
  pthread_join(thread, NULL);
}

static void subnormal_numbers_count(void) { check_change(FLUSH); }
static void rounding_is_to_nearest(void) { check_change(UPWARD); }
static void nothing_interrupts(void) { check_change(TRAPS); }

static const struct test tests[] = {
    TEST(subnormal_numbers_count),
    TEST(rounding_is_to_nearest),
    TEST(nothing_interrupts),
};
RUN_TESTS(tests)

/* SPDX-License-Identifier: Apache-2.0 */
/* A call asks whether to go on, on the thread that made it; told to end, it does so soon, and the
   next one is as right as ever. */
#define _POSIX_C_SOURCE 200809L
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "calls.h"
#include "core/internal.h"

enum { LONG_TIME = 3600000, MILLISECOND = 1000000 };

/* Who asks, how often, and the number of the question that ends the call. */
struct asked {
  pthread_t caller;
  int count, end_at, elsewhere;
};

static int answer(void *user_data) {
  struct asked *asked = user_data;
  asked->elsewhere += !pthread_equal(asked->caller, pthread_self());
  return ++asked->count == asked->end_at;
}

static mluOpHandle_t create(int threads) {
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, threads));
  return handle;
}

static void arguments_are_checked(void) {
  mluOpHandle_t handle = create(1);
  BAD_TEXT("[mluOpCpuSetInterruptCheck] handle is NULL",
           mluOpCpuSetInterruptCheck(NULL, answer, NULL, 0));
  BAD_TEXT("[mluOpCpuSetInterruptCheck] interval is -1, expected 0 or more",
           mluOpCpuSetInterruptCheck(handle, answer, NULL, -1));
  OK(mluOpCpuSetInterruptCheck(handle, NULL, NULL, 0));
  OK(mluOpDestroy(handle));
}

/* Ends a call at question `end_at`; returns how many there were. */
static int ask_call(mluOpHandle_t handle, struct call *call, int end_at, mluOpStatus_t expected) {
  struct asked asked = {.caller = pthread_self(), .end_at = end_at};
  OK(mluOpCpuSetInterruptCheck(handle, answer, &asked, 0));
  call_spoil_outputs(call);
  CHECK_EQ(expected, call_run(handle, call));
  CHECK_EQ(0, asked.elsewhere);
  return asked.count;
}

static void end_call(mluOpHandle_t handle, struct call *call, const char *name, int end_at) {
  /* How many questions there are depends on when others come: the call may be over before. */
  char message[128];
  struct asked asked = {.caller = pthread_self(), .end_at = end_at};
  OK(mluOpCpuSetInterruptCheck(handle, answer, &asked, 0));
  if (handle->scratch != NULL) memset(handle->scratch, 0x7f, handle->scratch_size);
  const mluOpStatus_t status = call_run(handle, call);
  if (asked.count < end_at) {
    OK(status);
    return;
  }
  CHECK_EQ(end_at, asked.count); /* an answer is taken once */
  CHECK_EQ(MLUOP_STATUS_EXECUTION_FAILED, status);
  snprintf(message, sizeof(message), "[%s] interrupted, what the outputs hold is undefined", name);
  CHECK_TEXT(message, mluOpCpuGetLastErrorMessage());
  OK(call_run(handle, call));
}

/* Ends a call at its first `rounds` questions, and at as many of the others. */
static void check_operator(int index, int threads, int rounds) {
  struct call *call = call_prepare(index, CALL_WIDE);
  if (!CHECK(call != NULL)) return;
  mluOpHandle_t handle = create(threads);
  call_spoil_outputs(call);
  OK(call_run(handle, call));
  const uint64_t expected = call_digest(call);
  const int questions = ask_call(handle, call, 0, MLUOP_STATUS_SUCCESS);
  /* Of several threads, the others may have done it all. */
  if (threads == 1 && !CHECK(questions > 0)) CHECK_TEXT("", call_name(index));
  CHECK(call_digest(call) == expected);
  for (int i = 1; i <= questions; i += i < rounds ? 1 : 1 + questions / rounds) {
    end_call(handle, call, call_name(index), i);
    ask_call(handle, call, 0, MLUOP_STATUS_SUCCESS);
    CHECK(call_digest(call) == expected);
  }
  OK(mluOpCpuSetInterruptCheck(handle, NULL, NULL, 0));
  call_spoil_outputs(call);
  OK(call_run(handle, call));
  CHECK(call_digest(call) == expected);
  OK(mluOpDestroy(handle));
  call_release(call);
}

static void every_operator_can_be_ended(void) {
  for (int i = 0; i < call_count(); i++) check_operator(i, 1, 5);
}

static void every_operator_can_be_ended_on_threads(void) {
  for (int i = 0; i < call_count(); i++) check_operator(i, 4, 2);
}

static void short_calls_ask_nobody(void) {
  mluOpHandle_t handle = create(4);
  struct asked asked = {.caller = pthread_self(), .end_at = 1};
  OK(mluOpCpuSetInterruptCheck(handle, answer, &asked, LONG_TIME));
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    OK(call_run(handle, call));
    call_release(call);
  }
  CHECK_EQ(0, asked.count);
  OK(mluOpDestroy(handle));
}

/* ---------------------------------------------------------------------------------- jobs */

static void sleep_for(long nanoseconds) {
  const struct timespec time = {0, nanoseconds};
  nanosleep(&time, NULL);
}

static int64_t items_done;

static void sleep_each(const void *args, int64_t begin, int64_t end, void *scratch) {
  (void)args;
  (void)scratch;
  for (int64_t i = begin; i < end; i++) {
    sleep_for(MILLISECOND / 2);
    __atomic_fetch_add(&items_done, 1, __ATOMIC_RELAXED);
  }
}

/* Some milliseconds after the first question; the whole job takes 5 s and more. */
static void a_long_job_ends_early(void) {
  static const enum mluop_schedule schedules[] = {MLUOP_STATIC, MLUOP_DYNAMIC, MLUOP_STEAL};
  for (int i = 0; i < 6; i++) {
    mluOpHandle_t handle = create(1 + i % 2);
    struct asked asked = {.caller = pthread_self(), .end_at = 2};
    OK(mluOpCpuSetInterruptCheck(handle, answer, &asked, 5));
    const struct mluop_job job = {
        .kernel = sleep_each, .count = 10000, .grain = 1, .schedule = schedules[i / 2], .piece = 4};
    mluop_begin_interruptible(&handle->interrupt);
    items_done = 0;
    mluop_parallel_for(handle, &job);
    CHECK(mluop_is_stopped(&handle->interrupt));
    CHECK(items_done > 0 && items_done < 1000);
    const int64_t before = items_done;
    mluop_parallel_for(handle, &job); /* of the same call */
    CHECK_EQ(before, items_done);
    CHECK_EQ(2, asked.count);
    OK(mluOpDestroy(handle));
  }
}

/* Whoever gets the second item needs until it is told to end. */
static void wait_for_the_end(const void *args, int64_t begin, int64_t end, void *scratch) {
  struct mluop_interrupt *const *interrupt = args;
  (void)scratch;
  for (int64_t i = begin; i < end; i++) {
    while (i == 1 && !mluop_interrupted(*interrupt)) sleep_for(MILLISECOND);
  }
}

static void one_long_item_can_be_ended(void) {
  for (int threads = 1; threads <= 2; threads++) {
    mluOpHandle_t handle = create(threads);
    struct mluop_interrupt *interrupt = &handle->interrupt;
    struct asked asked = {.caller = pthread_self(), .end_at = 3};
    OK(mluOpCpuSetInterruptCheck(handle, answer, &asked, 5));
    const struct mluop_job job = {.kernel = wait_for_the_end,
                                  .args = &interrupt,
                                  .count = 2,
                                  .grain = 1,
                                  .schedule = MLUOP_STATIC};
    mluop_begin_interruptible(interrupt);
    mluop_parallel_for(handle, &job);
    CHECK(mluop_is_stopped(interrupt));
    CHECK_EQ(3, asked.count);
    CHECK_EQ(0, asked.elsewhere);
    OK(mluOpDestroy(handle));
  }
}

/* ------------------------------------------------------------------------------ the caller */

#ifdef FE_UPWARD

static int rounds_up = -1;

static int note_rounding(void *nothing) {
  (void)nothing;
  volatile float sum = 1.0f;
  sum += 1e-9f;
  rounds_up = sum > 1.0f;
  return 0;
}

/* Who is asked has the caller's floating-point state; results have that of the library. */
static void the_question_comes_in_the_callers_floating_point_state(void) {
  mluOpHandle_t handle = create(1);
  OK(mluOpCpuSetInterruptCheck(handle, note_rounding, NULL, 0));
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    OK(call_run(handle, call));
    const uint64_t expected = call_digest(call);
    CHECK_EQ(0, rounds_up);
    CHECK_EQ(0, fesetround(FE_UPWARD));
    const mluOpStatus_t status = call_run(handle, call);
    CHECK_EQ(0, fesetround(FE_TONEAREST));
    OK(status);
    if (!CHECK_EQ(1, rounds_up)) CHECK_TEXT("", call_name(i));
    CHECK(call_digest(call) == expected);
    call_release(call);
  }
  OK(mluOpDestroy(handle));
}

#endif

static int call_another(void *user_data) {
  struct call *const call = user_data;
  mluOpHandle_t handle = create(4);
  OK(call_run(handle, call));
  OK(mluOpDestroy(handle));
  return 0;
}

static void the_question_may_call_operators(void) {
  mluOpHandle_t handle = create(4);
  struct call *inner = call_prepare(0, CALL_TINY);
  struct call *outer = call_prepare(1, CALL_TINY);
  if (!CHECK(inner != NULL && outer != NULL)) return;
  OK(call_run(handle, inner));
  OK(call_run(handle, outer));
  const uint64_t expected[] = {call_digest(inner), call_digest(outer)};
  call_spoil_outputs(inner);
  call_spoil_outputs(outer);
  OK(mluOpCpuSetInterruptCheck(handle, call_another, inner, 0));
  OK(call_run(handle, outer));
  CHECK(call_digest(inner) == expected[0]);
  CHECK(call_digest(outer) == expected[1]);
  OK(mluOpDestroy(handle));
  call_release(inner);
  call_release(outer);
}

static const struct test tests[] = {
    TEST(arguments_are_checked),
    TEST(every_operator_can_be_ended),
    TEST(every_operator_can_be_ended_on_threads),
    TEST(short_calls_ask_nobody),
    TEST(a_long_job_ends_early),
    TEST(one_long_item_can_be_ended),
#ifdef FE_UPWARD
    TEST(the_question_comes_in_the_callers_floating_point_state),
#endif
    TEST(the_question_may_call_operators),
};
RUN_TESTS(tests)

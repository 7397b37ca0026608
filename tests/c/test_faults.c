/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that the system does not give, signals at any time, forks while another thread computes,
   and how much stack a call takes: every result is right all the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "mlu_op_cpu.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { MOST_CALLS = 64, THREADS = 4, SECONDS = 60 };

static uint64_t expected[MOST_CALLS];

static mluOpHandle_t create(int threads) {
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, threads));
  return handle;
}

/* Runs call `index`, whose result must be as expected, if that is known. */
static uint64_t run_one(mluOpHandle_t handle, int index) {
  struct call *call = call_prepare(index, CALL_WIDE);
  if (!CHECK(call != NULL)) return 0;
  call_spoil_outputs(call);
  OK(call_run(handle, call));
  const uint64_t digest = call_digest(call);
  if (expected[index] != 0 && !CHECK(digest == expected[index])) CHECK_TEXT("", call_name(index));
  call_release(call);
  return digest;
}

static void run_all(int threads) {
  mluOpHandle_t handle = create(threads);
  for (int i = 0; i < call_count(); i++) run_one(handle, i);
  OK(mluOpDestroy(handle));
}

static void results_are_known(void) {
  mluOpHandle_t handle = create(1);
  for (int i = 0; i < call_count(); i++) expected[i] = run_one(handle, i);
  OK(mluOpDestroy(handle));
}

/* ------------------------------------------------------------------------------- threads */

/* The linker sends all calls of pthread_create through the function below (--wrap). Only while one
   thread tests it, some are refused. */
enum { ALL = 1 << 20 };
static int threads_left = ALL;
static int threads_refused = 0;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *argument), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *argument), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *argument), void *argument) {
  if (__atomic_fetch_sub(&threads_left, 1, __ATOMIC_RELAXED) <= 0) {
    threads_refused++;
    return EAGAIN;
  }
  return __real_pthread_create(thread, attributes, run, argument);
}

static void threads_that_are_refused_are_done_without(void) {
  for (int left = 0; left < THREADS; left++) {
    for (int i = 0; i < call_count(); i++) {
      mluOpHandle_t handle = create(THREADS);
      OK(mluOpCpuEndThreads()); /* as if this thread had made none */
      threads_left = left;
      run_one(handle, i);
      threads_left = ALL;
      run_one(handle, i); /* which has all of them again */
      OK(mluOpDestroy(handle));
    }
  }
  int threads = 0;
  mluOpHandle_t handle = create(THREADS);
  OK(mluOpCpuGetNumThreads(handle, &threads));
  CHECK(threads_refused > 0 || threads == 1); /* 1: a build without threads */
  OK(mluOpDestroy(handle));
}

/* ------------------------------------------------------------------------------- signals */

static int signals_handled; /* on any thread */

static void count_signal(int number) {
  (void)number;
  __atomic_fetch_add(&signals_handled, 1, __ATOMIC_RELAXED);
}

static void set_timer(long microseconds) {
  const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

/* 1000 of them in a second, on whatever thread; system calls that they interrupt return EINTR. */
static void signals_change_nothing(void) {
  const struct sigaction action = {.sa_handler = count_signal};
  struct sigaction old;
  sigaction(SIGALRM, &action, &old);
  set_timer(1000);
  const time_t end = time(NULL) + 10;
  do {
    for (int threads = 1; threads <= THREADS; threads += THREADS - 1) run_all(threads);
  } while (__atomic_load_n(&signals_handled, __ATOMIC_RELAXED) < 100 && time(NULL) < end);
  set_timer(0);
  sigaction(SIGALRM, &old, NULL);
  CHECK(signals_handled >= 100);
}

/* --------------------------------------------------------------------------------- forks */

static int stop = 0;

static void *compute_until_stopped(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) run_all(THREADS);
  OK(mluOpCpuEndThreads());
  return unused;
}

/* The thread that forks has used the library, or not; another one is inside of it. */
static void *fork_children(void *rounds) {
  for (int i = 0; i < *(const int *)rounds; i++) {
    const int failed = failed_checks();
    const pid_t child = fork();
    if (child == 0) {
      alarm(SECONDS);
      run_all(THREADS);
      _exit(failed_checks() != failed);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(0, WEXITSTATUS(status));
    if (i == 0) run_all(THREADS);
  }
  return NULL;
}

static void children_of_a_thread_compute_while_another_does(void) {
  int rounds = SANITIZED ? 3 : 10;
  pthread_t busy, forking;
  fflush(stdout);
  CHECK_EQ(0, pthread_create(&busy, NULL, compute_until_stopped, NULL));
  CHECK_EQ(0, pthread_create(&forking, NULL, fork_children, &rounds));
  pthread_join(forking, NULL);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(busy, NULL);
}

/* --------------------------------------------------------------------------------- stack */

enum { STACK_BYTES = 1 << 20, CALL_STACK = 48 << 10 };

static void *run_each(void *stack) {
  /* What has been written is no longer 0; the thread's own frames are at the end. */
  for (int i = 0; i < call_count(); i++) {
    mluOpHandle_t handle = create(1);
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    char *const here = __builtin_frame_address(0);
    memset(stack, 0, (size_t)(here - 512 - (char *)stack));
    OK(call_run(handle, call));
    const char *deepest = stack;
    while (*deepest == 0) deepest++;
    const long used = here - deepest;
    if (!CHECK(used <= CALL_STACK)) printf("%s: %ld bytes of stack\n", call_name(i), used);
    if (getenv("MLUOP_TEST_PRINT") != NULL) printf("%s: %ld\n", call_name(i), used);
    call_release(call);
    OK(mluOpDestroy(handle));
  }
  return NULL;
}

/* Users are told 64 KiB. */
static void a_call_takes_little_stack(void) {
  if (SANITIZED) return; /* their frames are several times as large */
  char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK_EQ(0, pthread_attr_setstack(&attributes, stack, STACK_BYTES));
  pthread_t thread;
  CHECK_EQ(0, pthread_create(&thread, &attributes, run_each, stack));
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  munmap(stack, STACK_BYTES);
}

static const struct test tests[] = {
    TEST(results_are_known),         TEST(threads_that_are_refused_are_done_without),
    TEST(signals_change_nothing),    TEST(children_of_a_thread_compute_while_another_does),
    TEST(a_call_takes_little_stack),
};
RUN_TESTS(tests)

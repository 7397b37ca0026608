/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child of a process that has run kernels runs kernels, too, and does not hang. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "check.h"
#include "mlu_op_cpu.h"

enum { SECONDS = 60, THREADS = 4 };

static mluOpHandle_t create(void) {
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, THREADS));
  return handle;
}

/* Runs every operator with the handle, or with one made anew; their digests must be these. */
static void run_all(mluOpHandle_t handle, const uint64_t *expected, uint64_t *digests) {
  mluOpHandle_t own = handle != NULL ? handle : create();
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    call_spoil_outputs(call);
    OK(call_run(own, call));
    const uint64_t digest = call_digest(call);
    if (expected != NULL) CHECK(digest == expected[i]);
    if (digests != NULL) digests[i] = digest;
    call_release(call);
  }
  if (handle == NULL) OK(mluOpDestroy(own));
}

static void check_child(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK_EQ(0, WEXITSTATUS(status));
}

static void leave_child(int failed_before) {
  fflush(stdout);
  _exit(failed_checks() != failed_before);
}

static void a_child_runs_kernels(void) {
  uint64_t digests[32];
  mluOpHandle_t handle = create();
  run_all(handle, NULL, digests);
  const int failed = failed_checks();
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    int threads = 0;
    OK(mluOpCpuGetNumThreads(handle, &threads));
    CHECK_EQ(1, threads);
    run_all(handle, digests, NULL);
    run_all(NULL, digests, NULL);
    fflush(stdout);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      run_all(NULL, digests, NULL);
      leave_child(failed);
    }
    check_child(grandchild);
    leave_child(failed);
  }
  check_child(child);
  int threads = 0;
  OK(mluOpCpuGetNumThreads(handle, &threads));
  CHECK(threads == THREADS || threads == 1); /* 1: a build without threads */
  run_all(handle, digests, NULL);
  OK(mluOpDestroy(handle));
}

static int stop = 0;

static void *fail_until_stopped(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) BAD(mluOpDestroy(NULL));
  return unused;
}

static void ignore(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  (void)level;
  (void)message;
  (void)user_data;
  const struct timespec moment = {0, 100000};
  nanosleep(&moment, NULL);
}

/* Who holds the logger's lock at the time of the fork, or is inside the callback, does not exist in
   the child. */
static void a_child_logs_while_the_parent_does(void) {
  OK(mluOpCpuSetLogCallback(ignore, NULL));
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_ERROR));
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, fail_until_stopped, NULL);
  for (int round = 0; round < 50; round++) {
    const int failed = failed_checks();
    const pid_t child = fork();
    if (child == 0) {
      alarm(SECONDS);
      BAD(mluOpDestroy(NULL));
      OK(mluOpCpuSetLogCallback(NULL, NULL));
      _exit(failed_checks() != failed);
    }
    check_child(child);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  OK(mluOpCpuSetLogCallback(NULL, NULL));
}

static const struct test tests[] = {
    TEST(a_child_runs_kernels),
    TEST(a_child_logs_while_the_parent_does),
};
RUN_TESTS(tests)

/* SPDX-License-Identifier: Apache-2.0 */
/* The application's OpenMP threads stay; where the system gives no threads, or gives them late, the
   library copes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "calls.h"
#include "check.h"
#include "core/internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { THREADS = 4 };

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

/* ------------------------------------------------------------------------------- threads */

/* With the address space that is left, no thread can be made (and no stack of one that has ended is
   there to be used again: this test is the first). */
static void *run_without_threads(void *unused) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (CHECK(file != NULL)) {
    CHECK_EQ(1, fscanf(file, "%ld", &pages));
    fclose(file);
  }
  struct rlimit old, tight;
  getrlimit(RLIMIT_AS, &old);
  tight = old;
  tight.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)7 << 20);
  CHECK_EQ(0, setrlimit(RLIMIT_AS, &tight));
  for (int threads = 2; threads <= 1024; threads *= 8) {
    mluOpHandle_t handle;
    OK(mluOpCreate(&handle));
    OK(mluOpCpuSetNumThreads(handle, threads));
    struct call *call = call_prepare(0, CALL_WIDE);
    if (CHECK(call != NULL)) {
      OK(call_run(handle, call));
      call_release(call);
    }
    OK(mluOpDestroy(handle));
  }
  setrlimit(RLIMIT_AS, &old);
  return unused;
}

static void threads_that_cannot_be_made_are_done_without(void) {
  if (SANITIZED) return; /* they reserve address space without end */
  pthread_t thread;
  CHECK_EQ(0, pthread_create(&thread, NULL, run_without_threads, NULL));
  pthread_join(thread, NULL);
}

static int living_threads(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) return -1;
  for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static void *do_nothing(void *nothing) { return nothing; }

static void threads_end_when_told_to(void) {
  pthread_t first; /* with it, sanitizers start a thread of their own */
  pthread_create(&first, NULL, do_nothing, NULL);
  pthread_join(first, NULL);
  OK(mluOpCpuEndThreads());
  const int before = living_threads();
  run_all(THREADS, CALL_WIDE);
  OK(mluOpCpuEndThreads());
#ifdef __clang__ /* LLVM's runtime keeps them */
  (void)before;
#else
  for (int i = 0; i < 200 && living_threads() > before; i++) usleep(10000);
  CHECK(living_threads() <= before);
#endif
  OK(mluOpCpuEndThreads());
  run_all(THREADS, CALL_WIDE);
}

#ifdef _OPENMP

static int value = 0;
#pragma omp threadprivate(value)

static void set_values(void) {
#pragma omp parallel
  value = 1 + omp_get_thread_num();
}

static int kept_values(void) {
  int kept = 0;
#pragma omp parallel reduction(+ : kept)
  kept += value == 1 + omp_get_thread_num();
  return kept;
}

static void the_applications_threads_stay(void) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(THREADS);
  set_values();
  for (int threads = 1; threads <= THREADS; threads++) {
    mluOpHandle_t handle;
    OK(mluOpCreate(&handle));
    OK(mluOpCpuSetNumThreads(handle, threads));
    for (int i = 0; i < call_count(); i++) {
      struct call *call = call_prepare(i, CALL_WIDE);
      if (!CHECK(call != NULL)) continue;
      OK(call_run(handle, call));
      CHECK_EQ(THREADS, kept_values());
      call_release(call);
    }
    OK(mluOpDestroy(handle));
    CHECK_EQ(THREADS, kept_values());
  }
  omp_set_num_threads(before);
}

static void a_parallel_region_may_call(void) {
  int threads = 0, failed = 0;
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
#pragma omp parallel num_threads(2) reduction(+ : failed)
  {
    mluOpHandle_t handle;
    failed += mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS;
    failed += mluOpCpuSetNumThreads(handle, THREADS) != MLUOP_STATUS_SUCCESS;
#pragma omp single
    {
      failed += mluOpCpuGetNumThreads(handle, &threads) != MLUOP_STATUS_SUCCESS;
      status = mluOpCpuEndThreads();
    }
    struct call *call = call_prepare(0, CALL_WIDE);
    failed += call_run(handle, call) != MLUOP_STATUS_SUCCESS;
    call_release(call);
    mluOpDestroy(handle);
  }
  CHECK_EQ(0, failed);
  CHECK_EQ(1, threads);
  CHECK_EQ(MLUOP_STATUS_NOT_SUPPORTED, status);
}

/* ------------------------------------------------------------------------ late workers */

static pthread_t workers[THREADS];
static int calls_of_kernel;
static const struct timespec moment = {0, 1000000}, long_time = {0, 20000000};

static void note_worker(const void *args, int64_t begin, int64_t end, void *scratch) {
  (void)args;
  (void)scratch;
  for (int64_t i = begin; i < end; i++) {
    workers[omp_get_thread_num()] = pthread_self();
    nanosleep(&moment, NULL);
  }
  __atomic_fetch_add(&calls_of_kernel, 1, __ATOMIC_RELAXED);
}

/* The signal handler of a worker that comes only when all work has been done. It keeps nothing on
   the stack, which an emulator may hand over unaligned. */
static int away;

static void be_away(int signal_number) {
  (void)signal_number;
  __atomic_store_n(&away, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 1000 && __atomic_load_n(&calls_of_kernel, __ATOMIC_SEQ_CST) < 2; i++) {
    nanosleep(&moment, NULL);
  }
  nanosleep(&long_time, NULL);
}

static void run_items(mluOpHandle_t handle, int64_t count, int64_t grain) {
  const struct mluop_job job = {
      .kernel = note_worker, .count = count, .grain = grain, .schedule = MLUOP_STATIC};
  calls_of_kernel = 0;
  mluop_parallel_for(handle, &job);
}

static void run_items_with_late_worker(mluOpHandle_t handle) {
  away = calls_of_kernel = 0;
  pthread_kill(workers[1], SIGUSR1);
  workers[1] = pthread_self();
  while (!__atomic_load_n(&away, __ATOMIC_SEQ_CST)) usleep(1000);
  run_items(handle, 4, 1);
  CHECK_EQ(2, calls_of_kernel);
  CHECK(pthread_equal(workers[0], workers[1]));
}

/* Who has waited longer than this in vain, less a tenth of the work since, waits no more. */
enum { PATIENCE = 10000000 };

/* A worker that is kept from coming is waited for once; its share is done meanwhile. */
static void short_jobs_do_not_wait_again(void) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 2));
  bool together = false;
  for (int i = 0; i < 1000 && !together; i++) {
    workers[0] = workers[1] = pthread_self();
    handle->waited = 0;
    run_items(handle, 4, 1);
    together = !pthread_equal(workers[0], workers[1]);
  }
  if (!CHECK(together)) return;
  handle->late = handle->waited = 0;
  const struct sigaction action = {.sa_handler = be_away};
  struct sigaction old;
  sigaction(SIGUSR1, &action, &old);
  usleep(50000); /* the worker has come back from the last job */
  const pthread_t worker = workers[1];
  run_items_with_late_worker(handle);
  CHECK(handle->late > PATIENCE);
  CHECK_EQ(handle->late, handle->waited);
  const int64_t waited = handle->waited;
  run_items(handle, 4, 1);
  CHECK_EQ(1, calls_of_kernel);
  CHECK(handle->waited < waited);
  /* Waits add up. */
  handle->waited = PATIENCE;
  workers[1] = worker;
  usleep(50000);
  run_items_with_late_worker(handle);
  CHECK(handle->waited > handle->late + PATIENCE / 2);
  /* A long job takes the workers whatever happened, and when short ones have done enough alone ...
   */
  handle->late = 30000;
  run_items(handle, 4, 1);
  CHECK_EQ(2, calls_of_kernel);
  handle->late = 1000000000;
  handle->waited = PATIENCE + 1;
  run_items(handle, 4, 1);
  CHECK_EQ(1, calls_of_kernel);
  run_items(handle, 4, 1);
  CHECK_EQ(2, calls_of_kernel); /* ... they do as well */
  /* One that looked short and was not does not stay alone. */
  handle->late = 2000000;
  handle->waited = 1000000000;
  run_items(handle, 4, 1);
  CHECK_EQ(1, calls_of_kernel);
  run_items(handle, 4, 1);
  CHECK_EQ(2, calls_of_kernel);
  sigaction(SIGUSR1, &old, NULL);
  OK(mluOpDestroy(handle));
}

#endif

static const struct test tests[] = {
    TEST(threads_that_cannot_be_made_are_done_without),
    TEST(threads_end_when_told_to),
#ifdef _OPENMP
    TEST(the_applications_threads_stay),
    TEST(a_parallel_region_may_call),
    TEST(short_jobs_do_not_wait_again),
#endif
};
RUN_TESTS(tests)

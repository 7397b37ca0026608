/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed calls of threads, with handles, descriptors and tensors made and destroyed meanwhile, every
   result compared, and nothing grows: memory, open files, threads.

     test_soak [CALLS [THREADS]]        ten million calls: test_soak 10000000 4 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls.h"
#include "mlu_op_cpu.h"

enum { MOST_CALLS = 64, MOST_THREADS = 64, TEAM = 3 };

/* One call in so many: of a new handle, of new tensors and descriptors, that fails, that is large.
 */
enum { NEW_HANDLE = 16, NEW_TENSORS = 64, FAILING = 32, LARGE = 4096 };

/* What a process may grow by, whatever the number of calls: what malloc keeps for its threads. */
enum { GROWTH_KIB = 16384 };

static uint64_t expected[2][MOST_CALLS];

struct soaker {
  pthread_t thread;
  long calls;
  uint32_t random;
  mluOpHandle_t handle;
  struct call *call[MOST_CALLS];
};

static uint32_t pick(struct soaker *self, uint32_t below) {
  self->random = self->random * 1664525u + 1013904223u;
  return (self->random >> 8) % below;
}

static void renew_handle(struct soaker *self) {
  if (self->handle != NULL) OK(mluOpDestroy(self->handle));
  OK(mluOpCreate(&self->handle));
  OK(mluOpCpuSetNumThreads(self->handle, 1 + (int)pick(self, TEAM)));
}

static void check_call(struct soaker *self, struct call *call, uint64_t digest) {
  call_spoil_outputs(call);
  OK(call_run(self->handle, call));
  CHECK(call_digest(call) == digest);
}

static void make_one_call(struct soaker *self) {
  const int index = (int)pick(self, (uint32_t)call_count());
  if (pick(self, NEW_HANDLE) == 0) renew_handle(self);
  if (pick(self, FAILING) == 0) BAD(mluOpSetTensorDescriptor(NULL, MLUOP_LAYOUT_NHWC, 0, 0, NULL));
  if (pick(self, LARGE) == 0) {
    struct call *large = call_prepare(index, CALL_WIDE);
    if (!CHECK(large != NULL)) return;
    check_call(self, large, expected[1][index]);
    call_release(large);
  }
  if (pick(self, NEW_TENSORS) == 0) {
    call_release(self->call[index]);
    self->call[index] = call_prepare(index, CALL_TINY);
    if (!CHECK(self->call[index] != NULL)) exit(1);
  }
  check_call(self, self->call[index], expected[0][index]);
}

static void *soak(void *argument) {
  struct soaker *self = argument;
  renew_handle(self);
  for (int i = 0; i < call_count(); i++) self->call[i] = call_prepare(i, CALL_TINY);
  for (long i = 0; i < self->calls; i++) make_one_call(self);
  for (int i = 0; i < call_count(); i++) call_release(self->call[i]);
  OK(mluOpDestroy(self->handle));
  OK(mluOpCpuEndThreads());
  return NULL;
}

static void soak_all(long calls, int threads) {
  static struct soaker soakers[MOST_THREADS];
  for (int i = 0; i < threads; i++) {
    soakers[i] = (struct soaker){.calls = calls / threads, .random = (uint32_t)i};
    CHECK_EQ(0, pthread_create(&soakers[i].thread, NULL, soak, &soakers[i]));
  }
  for (int i = 0; i < threads; i++) pthread_join(soakers[i].thread, NULL);
}

static void find_expected(void) {
  struct soaker self = {.random = 1};
  renew_handle(&self);
  for (int i = 0; i < call_count(); i++) {
    for (int wide = 0; wide < 2; wide++) {
      struct call *call = call_prepare(i, wide ? CALL_WIDE : CALL_TINY);
      if (!CHECK(call != NULL)) exit(1);
      call_spoil_outputs(call);
      OK(call_run(self.handle, call));
      expected[wide][i] = call_digest(call);
      call_release(call);
    }
  }
  OK(mluOpDestroy(self.handle));
}

/* ------------------------------------------------------------------------------- the process */

struct process {
  long memory_kib;
  int files, threads;
};

static int entries_of(const char *path) {
  int count = 0;
  DIR *folder = opendir(path);
  if (folder == NULL) return -1;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

static struct process look(int least_threads) {
  struct process now = {.files = entries_of("/proc/self/fd")};
  for (int i = 0; i < 200 && (now.threads = entries_of("/proc/self/task")) > least_threads; i++) {
    usleep(10000); /* those that have been joined may still be listed */
  }
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file != NULL && fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != NULL) fclose(file);
  now.memory_kib = resident * (sysconf(_SC_PAGESIZE) / 1024);
  return now;
}

int main(int argc, char **argv) {
  const long calls = argc > 1 ? atol(argv[1]) : 20000;
  const int threads = argc > 2 ? atoi(argv[2]) : 4;
  if (calls < 1 || threads < 1 || threads > MOST_THREADS) return 2;
  mluOpCpuSetLogLevel(MLUOP_CPU_LOG_OFF);
  find_expected();
  soak_all(calls / 10, threads);
  const struct process before = look(0);
  soak_all(calls, threads);
  const struct process after = look(before.threads);
  printf(
      "%ld calls of %d threads: memory %ld -> %ld KiB, files %d -> %d, threads %d -> %d, %d "
      "wrong\n",
      calls, threads, before.memory_kib, after.memory_kib, before.files, after.files,
      before.threads, after.threads, failed_checks());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what was freed */
  CHECK(after.memory_kib - before.memory_kib <= GROWTH_KIB);
#endif
  CHECK_EQ(before.files, after.files);
#if defined(__clang__)
  /* LLVM's OpenMP keeps the threads of teams for the next ones. */
  CHECK(after.threads <= 1 + threads * TEAM);
#else
  CHECK(after.threads <= before.threads);
#endif
  return failed_checks() != 0;
}

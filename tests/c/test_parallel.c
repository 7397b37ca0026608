/* SPDX-License-Identifier: Apache-2.0 */
/* mluop_parallel_for: every item once, whatever the numbers of items, threads and items at a time;
   scratch memory of its own for each thread; the handle's scratch. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/internal.h"

enum { MOST_ITEMS = 5000, MOST_THREADS = 40, SCRATCH_STRIDE = 128 };

struct counting {
  int visits[MOST_ITEMS];
  int ranges;
  int bad_ranges;
  int64_t count, grain;
  enum mluop_schedule schedule;
};

static void count_visits(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  struct counting *args = *(struct counting *const *)vargs;
  __atomic_fetch_add(&args->ranges, 1, __ATOMIC_RELAXED);
  if (begin < 0 || end > args->count || begin >= end) {
    __atomic_fetch_add(&args->bad_ranges, 1, __ATOMIC_RELAXED);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    __atomic_fetch_add(&args->visits[i], 1, __ATOMIC_RELAXED);
  }
}

static void check_coverage(mluOpHandle_t handle, int64_t count, int64_t grain,
                           enum mluop_schedule schedule) {
  struct counting *args = calloc(1, sizeof(*args));
  if (!CHECK(args != NULL)) return;
  args->count = count;
  args->grain = grain;
  const struct mluop_job job = {
      .kernel = count_visits, .args = &args, .count = count, .grain = grain, .schedule = schedule};
  mluop_parallel_for(handle, &job);
  int wrong = 0;
  for (int64_t i = 0; i < MOST_ITEMS; i++) wrong += args->visits[i] != (i < count);
  CHECK_EQ(0, wrong);
  CHECK_EQ(0, args->bad_ranges);
  CHECK(count > 0 ? args->ranges >= 1 : args->ranges == 0);
  if (count <= grain) CHECK(args->ranges <= 1);
  free(args);
}

static void every_item_is_done_once(void) {
  static const int64_t counts[] = {0, 1, 2, 3, 7, 64, 1000, MOST_ITEMS};
  static const int64_t grains[] = {1, 2, 3, 64, 999, 1 << 20, INT64_MAX};
  static const int threads[] = {1, 2, 3, MOST_THREADS};
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
    OK(mluOpCpuSetNumThreads(handle, threads[t]));
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
      for (size_t g = 0; g < sizeof(grains) / sizeof(grains[0]); g++) {
        check_coverage(handle, counts[c], grains[g], MLUOP_STATIC);
        check_coverage(handle, counts[c], grains[g], MLUOP_DYNAMIC);
        check_coverage(handle, counts[c], grains[g], MLUOP_STEAL);
      }
    }
  }
  OK(mluOpDestroy(handle));
}

static void *job_scratch; /* where the scratch of the running job begins */

static void check_scratch(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)begin;
  (void)end;
  int *owners = *(int *const *)vargs;
  const size_t offset = (size_t)((char *)scratch - (char *)job_scratch);
  CHECK_EQ(0, offset % SCRATCH_STRIDE);
  CHECK(offset / SCRATCH_STRIDE < MOST_THREADS);
  /* Nobody else is here while we are. */
  CHECK_EQ(0, __atomic_fetch_add(&owners[offset / SCRATCH_STRIDE], 1, __ATOMIC_ACQ_REL));
  memset(scratch, (int)begin, SCRATCH_STRIDE);
  __atomic_fetch_sub(&owners[offset / SCRATCH_STRIDE], 1, __ATOMIC_ACQ_REL);
}

static void each_thread_has_its_own_scratch(void) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, MOST_THREADS));
  job_scratch = mluop_scratch(handle, (size_t)MOST_THREADS * SCRATCH_STRIDE);
  CHECK(job_scratch != NULL);
  int owners[MOST_THREADS] = {0}, *pointer = owners;
  struct mluop_job job = {.kernel = check_scratch,
                          .args = &pointer,
                          .count = MOST_ITEMS,
                          .grain = 1,
                          .scratch = job_scratch,
                          .scratch_stride = SCRATCH_STRIDE};
  job.schedule = MLUOP_STATIC;
  mluop_parallel_for(handle, &job);
  job.schedule = MLUOP_DYNAMIC;
  mluop_parallel_for(handle, &job);
  job.schedule = MLUOP_STEAL;
  mluop_parallel_for(handle, &job);
  OK(mluOpDestroy(handle));
}

static void scratch_is_aligned_and_kept(void) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  void *small = mluop_scratch(handle, 100);
  CHECK(small != NULL && (uintptr_t)small % 64 == 0);
  CHECK(mluop_scratch(handle, 10) == small);
  CHECK(mluop_scratch(handle, 0) == small);
  void *large = mluop_scratch(handle, 1 << 20);
  CHECK(large != NULL && (uintptr_t)large % 64 == 0);
  memset(large, 1, 1 << 20);
  CHECK(mluop_scratch(handle, 100) == large);
  CHECK(mluop_scratch(handle, SIZE_MAX / 2) == NULL);
  CHECK(mluop_scratch(handle, 100) != NULL);
  OK(mluOpDestroy(handle));
  OK(mluOpCreate(&handle));
  CHECK(mluop_scratch(handle, 0) != NULL);
  OK(mluOpDestroy(handle));
}

static void run_inner(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)vargs;
  (void)scratch;
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 3));
  for (int64_t i = begin; i < end; i++) check_coverage(handle, 100 + i, 1, MLUOP_DYNAMIC);
  OK(mluOpDestroy(handle));
}

/* What happens when a program calls operators from its own parallel loop. */
static void jobs_nest(void) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 4));
  const struct mluop_job job = {.kernel = run_inner, .count = 16, .grain = 1};
  mluop_parallel_for(handle, &job);
  OK(mluOpDestroy(handle));
}

static const struct test tests[] = {
    TEST(every_item_is_done_once),
    TEST(each_thread_has_its_own_scratch),
    TEST(scratch_is_aligned_and_kept),
    TEST(jobs_nest),
};
RUN_TESTS(tests)

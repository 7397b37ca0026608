/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before a job: scratch memory that is measured and then taken, its cost, and the way
   to do it. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/internal.h"

static void an_arena_measures_what_it_takes(void) {
  static char memory[1024];
  struct mluop_arena measured = {NULL, 0}, taken = {memory, 0};
  CHECK(mluop_take(&measured, 3, 4) == NULL);
  CHECK(mluop_take(&measured, 0, 4) == NULL);
  CHECK(mluop_take(&measured, 1, 65) == NULL);
  CHECK_EQ(64 + 128, measured.used);
  CHECK(mluop_take(&taken, 3, 4) == memory);
  CHECK(mluop_take(&taken, 0, 4) == memory + 64);
  CHECK(mluop_take(&taken, 1, 65) == memory + 64);
  CHECK_EQ(64 + 128, taken.used);
}

static void threads_have_memory_of_their_own(void) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 3));
  const int threads = mluop_num_threads(handle); /* 1 in a build without threads */
  struct mluop_job job = {.count = 100, .grain = 10, .scratch_bytes = 100};
  char *shared = mluop_reserve(handle, 70, &job);
  CHECK(shared != NULL && (uintptr_t)shared % 64 == 0);
  CHECK((char *)job.scratch == shared + 128);
  CHECK_EQ(128 + MLUOP_THREAD_GAP, job.scratch_stride);
  CHECK_EQ(128 + threads * (128 + MLUOP_THREAD_GAP), handle->scratch_size);
  /* Two grains are done by two threads at most, and no memory is asked of for none. */
  struct mluop_job small = {.count = 2, .grain = 1, .scratch_bytes = 1 << 18};
  CHECK(mluop_reserve(handle, 0, &small) == small.scratch);
  CHECK_EQ(mluop_min(2, threads) * ((1 << 18) + MLUOP_THREAD_GAP), handle->scratch_size);
  struct mluop_job none = {.count = 2, .grain = 1};
  CHECK(mluop_reserve(handle, 10, &none) != NULL);
  CHECK(none.scratch == NULL && none.scratch_stride == 0);
  OK(mluOpDestroy(handle));
}

static void a_share_of_work_takes_twenty_microseconds(void) {
  CHECK_EQ(20000, mluop_grain(MLUOP_NANOSECOND));
  CHECK_EQ(1, mluop_grain(INT64_MAX));
  CHECK_EQ(20000000, mluop_grain(0));
}

static mluOpHandle_t handle_for(const char *isa) {
  mluOpHandle_t handle = NULL;
  setenv("MLUOP_CPU_ISA", isa, 1);
  OK(mluOpCreate(&handle));
  unsetenv("MLUOP_CPU_ISA");
  return handle;
}

/* AVX2's, and only where nobody has asked for a set. */
static void short_runs_take_narrower_vectors(void) {
  mluOpHandle_t handle = handle_for("");
  const char *const sets = mluOpCpuGetSupportedIsas();
  const int narrower = strstr(sets, "avx512") != NULL && strstr(sets, "avx2") != NULL;
  CHECK_EQ(handle->isa + narrower, mluop_isa_for_run(handle, 1));
  CHECK_EQ(handle->isa + narrower, mluop_isa_for_run(handle, 8));
  CHECK_EQ(handle->isa, mluop_isa_for_run(handle, 9));
  CHECK_EQ(handle->isa, mluop_isa_for_run(handle, 0));
  mluOpHandle_t asked = handle_for(mluOpCpuGetIsaName(handle));
  CHECK_EQ(handle->isa, mluop_isa_for_run(asked, 1));
  OK(mluOpDestroy(handle));
  OK(mluOpDestroy(asked));
}

/* ------------------------------------------------------------------------------------- ways */

struct question {
  bool can, pays;
  const char *planned;
};

static bool can(const void *args, mluOpHandle_t machine) {
  (void)machine;
  return ((const struct question *)args)->can;
}

static bool pays(const void *args, mluOpHandle_t machine) {
  (void)machine;
  return ((const struct question *)args)->pays;
}

static void plan_first(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  (void)machine;
  (void)job;
  ((struct question *)args)->planned = "first";
}

static void plan_second(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  (void)machine;
  job->count = 5;
  ((struct question *)args)->planned = "second";
}

static void plan_last(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  (void)machine;
  (void)job;
  ((struct question *)args)->planned = "last";
}

static void kernel(const void *args, int64_t begin, int64_t end, void *scratch) {
  (void)args;
  (void)begin;
  (void)end;
  (void)scratch;
}

static mluop_kernel *const variants[16] = {kernel, kernel, kernel};

static const struct mluop_way ways[] = {{"first", can, pays, plan_first, variants},
                                        {"second", can, NULL, plan_second, variants},
                                        {"general", NULL, NULL, plan_last, variants}};

/* What is planned with this setting. */
static const char *planned(const char *setting, bool can_it, bool pays_off) {
  setenv("MLUOP_CPU_KERNEL", setting, 1);
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  unsetenv("MLUOP_CPU_KERNEL");
  struct question question = {can_it, pays_off, NULL};
  struct mluop_job job = {.count = 0};
  mluop_plan(handle, "toy_forward", ways, &question, &job);
  CHECK(job.kernel == kernel && job.args == &question);
  CHECK_EQ(strcmp(question.planned, "second") == 0 ? 5 : 0, job.count);
  OK(mluOpDestroy(handle));
  return question.planned;
}

static void the_first_way_that_can_and_pays_is_taken(void) {
  CHECK_TEXT("first", planned("", true, true));
  CHECK_TEXT("second", planned("", true, false));
  CHECK_TEXT("last", planned("", false, true));
}

static void a_way_is_forced_by_its_name(void) {
  CHECK_TEXT("first", planned("toy_forward=first", true, false));
  CHECK_TEXT("second", planned("toy_forward=second", true, true));
  CHECK_TEXT("last", planned("toy_forward=general", true, true));
  CHECK_TEXT("second", planned("other=first;toy_forward=second;toy_forward=first", true, true));
  CHECK_TEXT("first", planned("toy_backward=second;toy=second", true, true));
  /* Not where it cannot do the call, and not by a part of its name. */
  CHECK_TEXT("last", planned("toy_forward=first", false, true));
  CHECK_TEXT("last", planned("toy_forward=fir", true, true));
  CHECK_TEXT("last", planned("toy_forward=firsts", true, true));
}

static void a_setting_that_is_too_long_is_refused(void) {
  char text[129];
  memset(text, 'x', sizeof(text));
  text[127] = '\0';
  setenv("MLUOP_CPU_KERNEL", text, 1);
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpDestroy(handle));
  text[127] = 'x';
  text[128] = '\0';
  setenv("MLUOP_CPU_KERNEL", text, 1);
  BAD_TEXT("[mluOpCreate] MLUOP_CPU_KERNEL has 128 characters, expected fewer than 128",
           mluOpCreate(&handle));
  unsetenv("MLUOP_CPU_KERNEL");
}

static const struct test tests[] = {
    TEST(an_arena_measures_what_it_takes),           TEST(threads_have_memory_of_their_own),
    TEST(a_share_of_work_takes_twenty_microseconds), TEST(short_runs_take_narrower_vectors),
    TEST(the_first_way_that_can_and_pays_is_taken),  TEST(a_way_is_forced_by_its_name),
    TEST(a_setting_that_is_too_long_is_refused),
};

RUN_TESTS(tests)

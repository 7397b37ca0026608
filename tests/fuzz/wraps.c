/* SPDX-License-Identifier: Apache-2.0 */
/* The linker sends plans, jobs, scratch memory, checks and captures through these functions
   (--wrap). */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/contract.h"
#include "core/float_state.h"
#include "core/gen_case.h"
#include "core/internal.h"
#include "fuzz.h"

struct fuzz_way fuzz_way;
bool fuzz_rule_failed, fuzz_raised, fuzz_flags_count;

void __real_mluop_plan(mluOpHandle_t handle, const char *operator_name,
                       const struct mluop_way *ways, void *args, struct mluop_job *job);
void __wrap_mluop_plan(mluOpHandle_t handle, const char *operator_name,
                       const struct mluop_way *ways, void *args, struct mluop_job *job);
void *__real_mluop_scratch(mluOpHandle_t handle, size_t bytes);
void *__wrap_mluop_scratch(mluOpHandle_t handle, size_t bytes);
void *__real_mluop_reserve(mluOpHandle_t handle, size_t shared, struct mluop_job *job);
void *__wrap_mluop_reserve(mluOpHandle_t handle, size_t shared, struct mluop_job *job);
void __real_mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job);
void __wrap_mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job);
bool __real_mluop_contract_holds(struct mluop_call *call, const struct mluop_rule *rules,
                                 mluOpStatus_t *status);
bool __wrap_mluop_contract_holds(struct mluop_call *call, const struct mluop_rule *rules,
                                 mluOpStatus_t *status);
void __real_mluop_begin_case_file(struct mluop_call *call, bool data,
                                  const struct mluop_case_settings *settings);
void __wrap_mluop_begin_case_file(struct mluop_call *call, bool data,
                                  const struct mluop_case_settings *settings);
void __real_mluop_end_case_file(const struct mluop_call *call,
                                const struct mluop_case_settings *settings);
void __wrap_mluop_end_case_file(const struct mluop_call *call,
                                const struct mluop_case_settings *settings);

/* ---------------------------------------------------------------------------------- ways */

enum { MOST_LISTS = 32, MOST_WAYS = 16, MOST_NAME = 64 };

/* The list of an operator, and which of its ways were taken by choice. */
static struct list {
  const char *operator_name;
  const struct mluop_way *ways;
  bool taken[MOST_WAYS];
} lists[MOST_LISTS];

static char taken_way[MOST_NAME], untaken_way[MOST_NAME];

static struct list *list_of(const char *operator_name, const struct mluop_way *ways) {
  struct list *list = lists;
  while (list->ways != NULL && strcmp(list->operator_name, operator_name) != 0) list++;
  *list = (list->ways != NULL) ? *list : (struct list){operator_name, ways, {false}};
  return list;
}

static uint32_t length(const struct mluop_way *ways) {
  uint32_t count = 1;
  while (ways[count - 1].can != NULL || ways[count - 1].pays != NULL) count++;
  return count;
}

/* A list of that one way alone, if it can do the call. */
void __wrap_mluop_plan(mluOpHandle_t handle, const char *operator_name,
                       const struct mluop_way *ways, void *args, struct mluop_job *job) {
  struct list *list = list_of(operator_name, ways);
  const uint32_t choice = fuzz_way.choice % (length(ways) + 1);
  taken_way[0] = '\0';
  struct mluop_way only;
  if (choice > 0) {
    only = ways[choice - 1];
    if (only.can == NULL || only.can(args, handle)) {
      only.can = only.pays = NULL;
      list->taken[choice - 1] = true;
      snprintf(taken_way, sizeof(taken_way), "%s=%s", operator_name, only.name);
      ways = &only;
    }
  }
  __real_mluop_plan(handle, operator_name, ways, args, job);
}

const char *fuzz_taken_way(void) { return taken_way; }

const char *fuzz_untaken_way(void) {
  for (const struct list *list = lists; list->ways != NULL; list++) {
    for (uint32_t i = 0; i < length(list->ways); i++) {
      if (list->taken[i]) continue;
      snprintf(untaken_way, sizeof(untaken_way), "%s=%s", list->operator_name, list->ways[i].name);
      return untaken_way;
    }
  }
  return NULL;
}

/* ---------------------------------------------------------------------------------- jobs */

void *__wrap_mluop_scratch(mluOpHandle_t handle, size_t bytes) {
  void *scratch = __real_mluop_scratch(handle, bytes);
  if (scratch != NULL) fuzz_fill(scratch, bytes, fuzz_way.run);
  return scratch;
}

void *__wrap_mluop_reserve(mluOpHandle_t handle, size_t shared, struct mluop_job *job) {
  if (fuzz_way.real_threads) job->grain = 1;
  return __real_mluop_reserve(handle, shared, job);
}

static __attribute__((noinline)) void poison_stack(void) {
  uint32_t words[1 << 12];
  fuzz_fill(words, sizeof(words), 0);
  __asm__ volatile("" : : "r"(words) : "memory");
}

static void run_part(const struct mluop_job *job, int64_t begin, int64_t end) {
  if (begin >= end) return;
  poison_stack();
  feclearexcept(FE_ALL_EXCEPT);
  job->kernel(job->args, begin, end, job->scratch);
  if (fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW)) fuzz_raised = true;
}

/* Up to three ranges of items, one after the other on this thread, in any order: threads do the
   same, in as many orders, but not so cheaply. */
void __wrap_mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job) {
  if (fuzz_way.real_threads || fuzz_way.parts < 2 || job->count < 2) {
    struct mluop_job copy = *job;
    if (fuzz_way.real_threads && job->scratch_bytes == 0) copy.grain = 1;
    __real_mluop_parallel_for(handle, &copy);
    return;
  }
  const int64_t a = 1 + (int64_t)(fuzz_way.cuts & 0xffff) % (job->count - 1);
  const int64_t b =
      fuzz_way.parts == 2 ? job->count : a + (int64_t)(fuzz_way.cuts >> 16) % (job->count - a);
  const struct mluop_float_state found = mluop_enter_floats();
  if (fuzz_way.cuts & 1) {
    run_part(job, b, job->count);
    run_part(job, 0, a);
    run_part(job, a, b);
  } else {
    run_part(job, a, b);
    run_part(job, b, job->count);
    run_part(job, 0, a);
  }
  mluop_leave_floats(found);
}

/* -------------------------------------------------------------------------------- captures */

void __wrap_mluop_begin_case_file(struct mluop_call *call, bool data,
                                  const struct mluop_case_settings *settings) {
  (void)settings; /* of the environment, which is read once */
  __real_mluop_begin_case_file(call, data, &fuzz_case_settings);
}

void __wrap_mluop_end_case_file(const struct mluop_call *call,
                                const struct mluop_case_settings *settings) {
  (void)settings;
  __real_mluop_end_case_file(call, &fuzz_case_settings);
}

/* --------------------------------------------------------------------------------- rules */

/* The table of rules of one function: how often each row has failed. */
struct table {
  const char *api;
  const struct mluop_rule *rules;
  long failed[64];
};

static struct table tables[128];

/* libFuzzer looks at this section as at its own counters: a rule that fails for the first time is
   worth keeping an input. */
__attribute__((used, section("__libfuzzer_extra_counters"))) static uint8_t counters[8192];

static void print_tables(void) {
  FILE *file = fopen(getenv("FUZZ_RULES"), "a");
  if (file == NULL) return;
  for (struct table *table = tables; table->api != NULL; table++) {
    for (int row = 0; table->rules[row].check != CHECK_END; row++) {
      fprintf(file, "%s %d %d %ld\n", table->api, (int)(table - tables), row, table->failed[row]);
    }
  }
  fclose(file);
}

static struct table *table_of(const char *api, const struct mluop_rule *rules) {
  struct table *table = tables;
  if (table->api == NULL && getenv("FUZZ_RULES") != NULL) atexit(print_tables);
  for (; table->api != NULL; table++) {
    if (table->rules == rules && strcmp(table->api, api) == 0) return table;
  }
  table->api = api;
  table->rules = rules;
  return table;
}

/* Rule by rule, so that the one that fails is known. */
bool __wrap_mluop_contract_holds(struct mluop_call *call, const struct mluop_rule *rules,
                                 mluOpStatus_t *status) {
  struct table *table = table_of(call->api, rules);
  for (int row = 0; rules[row].check != CHECK_END; row++) {
    const struct mluop_rule one[] = {rules[row], {.check = CHECK_END}};
    if (__real_mluop_contract_holds(call, one, status)) continue;
    table->failed[row]++;
    fuzz_rule_failed = true;
    uint8_t *counter = &counters[((table - tables) * 64 + row) % (int)sizeof(counters)];
    if (*counter < 255) ++*counter;
    return false;
  }
  *status = MLUOP_STATUS_SUCCESS;
  return true;
}

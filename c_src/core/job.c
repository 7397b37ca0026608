/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* What a family needs for a job: scratch memory, and the way to do it. */

void *mluop_reserve(mluOpHandle_t handle, size_t shared, struct mluop_job *job) {
  struct mluop_arena arena = {NULL, 0};
  mluop_take(&arena, 1, shared);
  const size_t threads_at = arena.used;
  if (job->scratch_bytes > 0) {
    mluop_take(&arena, 1, job->scratch_bytes + MLUOP_THREAD_GAP);
    job->scratch_stride = arena.used - threads_at;
  }
  const size_t bytes = threads_at + (size_t)mluop_workers(handle, job) * job->scratch_stride;
  char *memory = mluop_scratch(handle, bytes);
  if (memory != NULL && job->scratch_bytes > 0) job->scratch = memory + threads_at;
  return memory;
}

/* ------------------------------------------------------------------------------------- ways */

static const char setting[] = "MLUOP_CPU_KERNEL";

mluOpStatus_t mluop_read_forced_ways(const char *api, mluOpHandle_t handle) {
  const char *wanted = getenv(setting);
  if (wanted == NULL) wanted = "";
  if (strlen(wanted) >= sizeof(handle->forced_ways)) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "%s has %zu characters, expected fewer than %zu",
                      setting, strlen(wanted), sizeof(handle->forced_ways));
  }
  memcpy(handle->forced_ways, wanted, strlen(wanted) + 1);
  return MLUOP_STATUS_SUCCESS;
}

/* What stands behind "operator_name=", or NULL. */
static const char *forced_way(mluOpHandle_t handle, const char *operator_name) {
  const char *at = handle->forced_ways;
  while (*at != '\0') {
    const size_t length = strlen(operator_name);
    if (strncmp(at, operator_name, length) == 0 && at[length] == '=') return at + length + 1;
    at += strcspn(at, ";");
    at += *at == ';';
  }
  return NULL;
}

static bool is_named(const struct mluop_way *way, const char *name) {
  const size_t length = strcspn(name, ";");
  return strncmp(way->name, name, length) == 0 && way->name[length] == '\0';
}

static const struct mluop_way *choose(mluOpHandle_t handle, const char *operator_name,
                                      const struct mluop_way *ways, const void *args) {
  const char *forced = forced_way(handle, operator_name);
  const struct mluop_way *way = ways;
  for (; way->can != NULL || way->pays != NULL; way++) {
    if (way->can != NULL && !way->can(args, handle)) continue;
    if (forced != NULL ? is_named(way, forced) : way->pays == NULL || way->pays(args, handle))
      break;
  }
  return way;
}

void mluop_plan(mluOpHandle_t handle, const char *operator_name, const struct mluop_way *ways,
                void *args, struct mluop_job *job) {
  const struct mluop_way *way = choose(handle, operator_name, ways, args);
  job->args = args;
  way->plan(args, handle, job);
  job->kernel = way->kernel[mluop_isa_for_run(handle, job->run)];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a job on the calling thread and its workers.

   A job is cut into shares, and shares into blocks. A worker begins with the share of its own
   number and goes on to the others': a block belongs to whoever comes first, and no block waits for
   a worker that does not come.

   The end of the job does wait for all of the team, also for those that come too late to do
   anything. Where every processor is busy with other things, that is until the system lets them
   run: milliseconds. After a team has been waited for in vain, short jobs (shorter than the wait)
   are run by the calling thread alone, ten times as long as the wait was. So waiting costs a tenth
   of the time, roughly, whatever else the machine does. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "float_state.h"
#include "internal.h"
#include "threads.h"

enum {
  MOST_SHARES = 64,
  /* What a block costs, roughly; as much as it takes to wake this many threads. */
  BLOCK_NANOSECONDS = 10000,
  WOKEN_PER_BLOCK = 4,
  /* A processor that has nothing else to do wakes up sooner. */
  LATE_NANOSECONDS = 500000,
  ALONE_FACTOR = 10
};

/* What one worker writes again and again, in a cache line of its own. */
struct share {
  int64_t next;    /* the first item that nobody has taken */
  int64_t done_at; /* when a worker that began here has done its last block; 0: none */
  int64_t padding[6];
};

struct run {
  const struct mluop_job *job;
  int workers, shares;
  int64_t step; /* items in a block */
  struct share share[MOST_SHARES];
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Where share `index` of `count` begins; one with the index `count` would begin at the end. */
static int64_t share_begin(const struct mluop_job *job, int64_t index, int64_t count) {
  return index * (job->count / count) + mluop_min(index, job->count % count);
}

static bool take_blocks(struct run *run, int index, void *scratch) {
  const struct mluop_job *job = run->job;
  const int64_t end = share_begin(job, index + 1, run->shares);
  int64_t *next = &run->share[index].next;
  bool any = false;
  while (__atomic_load_n(next, __ATOMIC_RELAXED) < end) {
    const int64_t begin = __atomic_fetch_add(next, run->step, __ATOMIC_RELAXED);
    if (begin >= end) break;
    job->kernel(job->args, begin, mluop_min(begin + run->step, end), scratch);
    any = true;
  }
  return any;
}

static void work(void *data, int worker) {
  struct run *run = data;
  if (worker >= run->workers) return;
  char *scratch = run->job->scratch;
  if (scratch != NULL) scratch += (size_t)worker * run->job->scratch_stride;
  const struct mluop_float_state found = mluop_enter_floats();
  bool any = false;
  for (int i = 0; i < run->shares; i++) {
    any |= take_blocks(run, (worker + i) % run->shares, scratch);
  }
  mluop_leave_floats(found);
  if (any) __atomic_store_n(&run->share[worker % run->shares].done_at, now(), __ATOMIC_RELAXED);
}

static void run_alone(const struct mluop_job *job) {
  const struct mluop_float_state found = mluop_enter_floats();
  job->kernel(job->args, 0, job->count, job->scratch);
  mluop_leave_floats(found);
}

/* Whether a job of so many blocks is too short for a team of this size now. */
static bool too_short(mluOpHandle_t handle, int64_t blocks, int team) {
  if (team > WOKEN_PER_BLOCK * blocks) return true;
  if (handle->alone <= 0 || blocks > handle->late / BLOCK_NANOSECONDS) return false;
  handle->alone -= blocks * BLOCK_NANOSECONDS;
  return true;
}

/* How long the calling thread has waited for workers that had nothing to do. */
static int64_t waited_in_vain(const struct run *run) {
  const int64_t end = now();
  int64_t done_at = run->share[0].done_at;
  if (end - done_at < LATE_NANOSECONDS) return 0;
  for (int i = 1; i < run->shares; i++) done_at = mluop_max(done_at, run->share[i].done_at);
  return end - done_at;
}

static bool run_together(mluOpHandle_t handle, const struct mluop_job *job, int workers, int team) {
  struct run run; /* not cleared: most shares are not used */
  run.job = job;
  run.workers = workers;
  run.shares = job->schedule == MLUOP_DYNAMIC ? 1 : (int)mluop_min(workers, MOST_SHARES);
  run.step = job->schedule == MLUOP_STATIC ? mluop_div_up(job->count, workers) : job->grain;
  for (int i = 0; i < run.shares; i++) {
    run.share[i].next = share_begin(job, i, run.shares);
    run.share[i].done_at = 0;
  }
  if (!mluop_run_team(work, &run, team)) return false;
  const int64_t late = waited_in_vain(&run);
  if (late >= LATE_NANOSECONDS) {
    handle->late = late;
    handle->alone = ALONE_FACTOR * late;
  }
  return true;
}

int mluop_num_threads(mluOpHandle_t handle) {
  return mluop_threads_for(handle->num_threads, handle->most_threads);
}

void mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job) {
  if (job->count <= 0) return;
  const int64_t blocks = mluop_div_up(job->count, job->grain);
  const int workers = (int)mluop_workers(handle, job);
  if (workers > 1) {
    const int team = mluop_team_size(workers, handle->most_threads);
    if (!too_short(handle, blocks, team) && run_together(handle, job, workers, team)) return;
  }
  run_alone(job);
}

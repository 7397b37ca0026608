/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a job on the calling thread and its workers.

   A job is cut into shares, and shares into grains. A worker begins with the share of its own
   number and goes on to the others': a grain belongs to whoever comes first, and no grain waits for
   a worker that does not come.

   The end of the job does wait for all of the team, also for those that come too late to do
   anything. Where every processor is busy with other things, that is until the system lets them
   run: milliseconds. The handle adds up how long teams have been waited for in vain, and takes a
   tenth of the time of its work off. Where more than PATIENCE_NANOSECONDS is left, short jobs
   (shorter than the last wait) are run by the calling thread alone. So waiting costs a tenth of the
   time, roughly, whatever else the machine does, and a worker that is late once costs no more than
   that once. A job is short by the number of its grains, until it has proved to be long. */
#include "float_state.h"
#include "internal.h"
#include "threads.h"

enum {
  MOST_SHARES = 64,
  /* What a grain costs, roughly; as much as it takes to wake this many threads. */
  GRAIN_NANOSECONDS = 10000,
  WOKEN_PER_GRAIN = 4,
  /* A processor that has nothing else to do wakes up sooner. */
  LATE_NANOSECONDS = 500000,
  /* More than a machine holds a thread up now and then; less than anybody notices. */
  PATIENCE_NANOSECONDS = 10000000,
  WORK_PER_WAIT = 10
};

/* What one worker writes again and again, in a cache line of its own. */
struct share {
  int64_t next;    /* the first item that nobody has taken */
  int64_t done_at; /* when a worker that began here has done its last grain; 0: none */
  int64_t padding[6];
};

struct run {
  mluOpHandle_t handle;
  const struct mluop_job *job;
  int workers, shares;
  int64_t step;             /* items in a grain */
  struct mluop_watch watch; /* if the handle has somebody to ask */
  struct share share[MOST_SHARES];
};

/* Where share `index` of `count` begins; one with the index `count` would begin at the end. */
static int64_t share_begin(const struct mluop_job *job, int64_t index, int64_t count) {
  return index * (job->count / count) + mluop_min(index, job->count % count);
}

/* What a thread does its part of a job with. */
struct worker {
  const struct mluop_job *job;
  struct mluop_interrupt *interrupt;
  struct mluop_pace pace;
  void *scratch;
};

/* Blocks of jobs with uneven items may be longer than their costs say, and begin at any item. */
static int64_t piece_of(const struct mluop_job *job) {
  if (job->piece > 0) return job->piece;
  return job->schedule == MLUOP_STATIC ? MLUOP_PIECE_COST / MLUOP_SHARE_COST * job->grain
                                       : job->grain;
}

static struct worker worker_for(mluOpHandle_t handle, const struct mluop_job *job, int index) {
  struct worker self = {.job = job, .interrupt = &handle->interrupt, .scratch = job->scratch};
  if (job->scratch != NULL) {
    self.scratch = (char *)job->scratch + (size_t)index * job->scratch_stride;
  }
  if (self.interrupt->check != NULL) {
    self.pace = mluop_first_pace(self.interrupt, piece_of(job));
  }
  return self;
}

/* Does items [begin, end), piece by piece if somebody is to be asked. False if the call ends. */
static bool do_items(struct worker *self, int64_t begin, int64_t end) {
  const struct mluop_job *job = self->job;
  if (self->interrupt->check == NULL) {
    job->kernel(job->args, begin, end, self->scratch);
    return true;
  }
  while (begin < end) {
    if (self->pace.left <= 0 && mluop_look(self->interrupt, &self->pace)) return false;
    const int64_t stop = mluop_piece_end(&self->pace, begin, end);
    job->kernel(job->args, begin, stop, self->scratch);
    self->pace.left -= stop - begin;
    begin = stop;
  }
  return true;
}

static bool take_grains(struct run *run, int index, struct worker *self) {
  const int64_t end = share_begin(run->job, index + 1, run->shares);
  int64_t *next = &run->share[index].next;
  bool any = false;
  while (__atomic_load_n(next, __ATOMIC_RELAXED) < end) {
    const int64_t begin = __atomic_fetch_add(next, run->step, __ATOMIC_RELAXED);
    if (begin >= end) break;
    any = true;
    if (!do_items(self, begin, mluop_min(begin + run->step, end))) break;
  }
  return any;
}

/* Takes grains of all shares. */
static void take_shares(struct run *run, int index) {
  struct worker self = worker_for(run->handle, run->job, index);
  bool any = false;
  for (int i = 0; i < run->shares; i++) {
    any |= take_grains(run, (index + i) % run->shares, &self);
  }
  if (!any) return;
  __atomic_store_n(&run->share[index % run->shares].done_at, mluop_now(), __ATOMIC_RELAXED);
}

static void work(void *data, int index) {
  struct run *run = data;
  if (index >= run->workers) return;
  struct mluop_interrupt *interrupt = &run->handle->interrupt;
  const bool watched = interrupt->check != NULL;
  if (watched && index > 0) mluop_begin_work(&run->watch);
  const struct mluop_float_state found = mluop_enter_floats();
  take_shares(run, index);
  if (watched && index == 0) mluop_watch_others(interrupt, &run->watch);
  mluop_leave_floats(found);
  if (watched && index > 0) mluop_end_work(&run->watch);
}

static void run_alone(mluOpHandle_t handle, const struct mluop_job *job) {
  const struct mluop_float_state found = mluop_enter_floats();
  struct worker self = worker_for(handle, job, 0);
  do_items(&self, 0, job->count);
  mluop_leave_floats(found);
}

/* Whether a job of so many grains had better not wait for a team now. */
static bool is_hurt_by_waiting(mluOpHandle_t handle, const struct mluop_job *job, int64_t grains) {
  return handle->waited > PATIENCE_NANOSECONDS && grains <= handle->late / GRAIN_NANOSECONDS &&
         job->kernel != handle->long_kernel;
}

static void count_work(mluOpHandle_t handle, int64_t took) {
  handle->waited = mluop_max(0, handle->waited - took / WORK_PER_WAIT);
}

static void run_without_waiting(mluOpHandle_t handle, const struct mluop_job *job) {
  const int64_t begin = mluop_now();
  run_alone(handle, job);
  const int64_t took = mluop_now() - begin;
  count_work(handle, took);
  if (took > handle->late) handle->long_kernel = job->kernel;
}

/* How long the calling thread has waited for workers that had nothing to do. */
static int64_t waited_in_vain(const struct run *run, int64_t end) {
  int64_t done_at = run->share[0].done_at;
  if (end - done_at < LATE_NANOSECONDS) return 0;
  for (int i = 1; i < run->shares; i++) done_at = mluop_max(done_at, run->share[i].done_at);
  return end - done_at;
}

static bool run_together(mluOpHandle_t handle, const struct mluop_job *job, int workers, int team) {
  struct run run; /* not cleared: most shares are not used */
  run.handle = handle;
  run.job = job;
  run.workers = workers;
  run.shares = job->schedule == MLUOP_DYNAMIC ? 1 : (int)mluop_min(workers, MOST_SHARES);
  run.step = job->schedule == MLUOP_STATIC ? mluop_div_up(job->count, workers) : job->grain;
  for (int i = 0; i < run.shares; i++) {
    run.share[i].next = share_begin(job, i, run.shares);
    run.share[i].done_at = 0;
  }
  if (handle->interrupt.check != NULL) mluop_start_watch(&run.watch);
  const int64_t begin = mluop_now();
  if (!mluop_run_team(work, &run, team)) return false;
  const int64_t end = mluop_now(), late = waited_in_vain(&run, end), took = end - begin - late;
  count_work(handle, took);
  if (late < LATE_NANOSECONDS) return true;
  handle->late = late;
  handle->waited = mluop_min(handle->waited, PATIENCE_NANOSECONDS) + late;
  if (job->kernel == handle->long_kernel && took < late) handle->long_kernel = NULL;
  return true;
}

int mluop_num_threads(mluOpHandle_t handle) {
  return mluop_threads_for(handle->num_threads, handle->most_threads);
}

void mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job) {
  if (job->count <= 0 || mluop_is_stopped(&handle->interrupt)) return;
  const int64_t grains = mluop_div_up(job->count, job->grain);
  const int workers = (int)mluop_workers(handle, job);
  if (workers > 1) {
    const int team = mluop_team_size(workers, handle->most_threads);
    if (is_hurt_by_waiting(handle, job, grains)) {
      run_without_waiting(handle, job);
      return;
    }
    if (team <= WOKEN_PER_GRAIN * grains && run_together(handle, job, workers, team)) return;
  }
  run_alone(handle, job);
}

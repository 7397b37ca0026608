/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "internal.h"

#ifdef MLUOP_THREADING_OPENMP
#include <omp.h>
#endif

/* More threads than any machine this runs on has; libgomp would end the process if it could not
   make as many as it is asked for. */
enum { MAX_THREADS = 1024 };

/* The threads of an OpenMP runtime do not survive fork, and GNU OpenMP waits for them for ever: a
   forked child runs its jobs on one thread. The handler is there from the moment the library is
   loaded, since others may have used the same runtime before. Written only by the child, which has
   no other thread then. */
static bool in_forked_child = false;

static void note_fork(void) { in_forked_child = true; }

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(NULL, NULL, note_fork);
}

struct run {
  const struct mluop_job *job;
  int shares;                /* that workers take blocks from, and in each ... */
  int64_t next[MAX_THREADS]; /* ... the first item that nobody has taken */
};

/* Where share `index` of `count` begins; one with the index `count` would begin at the end. */
static int64_t share_begin(const struct mluop_job *job, int64_t index, int64_t count) {
  return index * (job->count / count) + mluop_min(index, job->count % count);
}

static void take_blocks(struct run *run, int share, void *scratch) {
  const struct mluop_job *job = run->job;
  const int64_t end = share_begin(job, share + 1, run->shares);
  for (;;) {
    const int64_t begin = __atomic_fetch_add(&run->next[share], job->grain, __ATOMIC_RELAXED);
    if (begin >= end) return;
    job->kernel(job->args, begin, mluop_min(begin + job->grain, end), scratch);
  }
}

/* The work of worker `worker` of `workers`; every backend lets each worker call this once. */
static void work(struct run *run, int worker, int workers) {
  const struct mluop_job *job = run->job;
  void *scratch = job->scratch;
  if (scratch != NULL) scratch = (char *)scratch + (size_t)worker * job->scratch_stride;
  if (job->schedule == MLUOP_STATIC) {
    const int64_t begin = share_begin(job, worker, workers);
    const int64_t end = share_begin(job, worker + 1, workers);
    if (begin < end) job->kernel(job->args, begin, end, scratch);
    return;
  }
  for (int i = 0; i < run->shares; i++) {
    take_blocks(run, (worker + i) % run->shares, scratch);
  }
}

#if defined(MLUOP_THREADING_OPENMP)

static int default_threads(void) { return omp_get_max_threads(); }

static void run_workers(struct run *run, int workers) {
#pragma omp parallel num_threads(workers)
  work(run, omp_get_thread_num(), omp_get_num_threads());
}

/* GNU OpenMP has the function since GCC 9, without the version macro that would tell. */
static void end_workers(void) {
#if _OPENMP >= 201811 || __GNUC__ >= 9
  omp_pause_resource_all(omp_pause_soft);
#endif
}

#elif defined(MLUOP_THREADING_PTHREADS)

static void end_workers(void) {}

/* Threads are made for each job and joined: simple, for builds without OpenMP and for
   ThreadSanitizer, which does not understand the barriers of GNU OpenMP. */

struct pthread_worker {
  pthread_t thread;
  struct run *run;
  int worker, workers;
};

static void *pthread_main(void *argument) {
  struct pthread_worker *self = argument;
  work(self->run, self->worker, self->workers);
  return NULL;
}

static int default_threads(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  const long wanted = text != NULL ? strtol(text, NULL, 10) : 0;
  if (wanted > 0) return (int)mluop_min(wanted, MAX_THREADS);
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return 1;
}

static void run_workers(struct run *run, int workers) {
  struct pthread_worker all[MAX_THREADS];
  int started = 1;
  for (int i = 1; i < workers; i++) {
    all[i] = (struct pthread_worker){.run = run, .worker = i, .workers = workers};
    if (pthread_create(&all[i].thread, NULL, pthread_main, &all[i]) != 0) break;
    started = i + 1;
  }
  /* The shares of threads that could not be made are done here. */
  work(run, 0, workers);
  for (int i = started; i < workers; i++) work(run, i, workers);
  for (int i = 1; i < started; i++) pthread_join(all[i].thread, NULL);
}

#else

static int default_threads(void) { return 1; }
static void end_workers(void) {}

static void run_workers(struct run *run, int workers) {
  for (int i = 0; i < workers; i++) work(run, i, workers);
}

#endif

int mluop_num_threads(mluOpHandle_t handle) {
  if (in_forked_child) return 1;
  const int wanted = handle->num_threads > 0 ? handle->num_threads : default_threads();
  return (int)mluop_min(wanted, MAX_THREADS);
}

void mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job) {
  if (job->count <= 0) return;
  const int64_t blocks = mluop_div_up(job->count, job->grain);
  const int workers = (int)mluop_min(blocks, mluop_num_threads(handle));
  if (workers <= 1) {
    job->kernel(job->args, 0, job->count, job->scratch);
  } else {
    handle->used_threads = true;
    struct run run;
    run.job = job;
    run.shares = job->schedule == MLUOP_OWN_FIRST ? workers : 1;
    for (int i = 0; i < run.shares; i++) run.next[i] = share_begin(job, i, run.shares);
    run_workers(&run, workers);
  }
}

void mluop_release_threads(mluOpHandle_t handle) {
  if (handle->used_threads && !in_forked_child) end_workers();
}

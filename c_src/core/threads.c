/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads come from, and what the application and the system must not notice of it.

   Teams. OpenMP keeps the workers of a thread from one of its parallel regions to the next. GNU
   OpenMP ends those that the next region has no use for, and all that the application has in them
   (threadprivate) ends, too. So a region has as many members as regions of this thread have by
   default, and those that the job has no work for do nothing. Inside another region workers are
   made for each region: there a team is as large as the job wants.

   Too many. GNU OpenMP ends the process when a thread cannot be made. Before a thread of the
   application has its first team of a size, as many threads are tried; OpenMP then makes its own
   with the memory that those gave back.

   Forks. Threads do not survive fork, and GNU OpenMP in the child waits for them for ever: there is
   one thread in a forked child. The runtime may have been used before this library was loaded, and
   the library be loaded by the child first: the system tells whether this is a child. */
#define _GNU_SOURCE
#include "threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef MLUOP_THREADING_OPENMP
#include <omp.h>
#endif

enum { THREADS_PER_PROCESSOR = 4 };

static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }

/* ---------------------------------------------------------------------------------- forks */

/* Written before main or dlopen returns, and by a child that has no other thread yet. */
static bool in_forked_child = false;

static void note_fork(void) { in_forked_child = true; }

/* Whether this process has been forked and not called exec since: bit 6 of the flags that stand
   behind the name in parentheses and six other fields. */
static bool forked_without_exec(void) {
  char text[512];
  FILE *file = fopen("/proc/self/stat", "re");
  if (file == NULL) return false;
  const size_t length = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[length] = '\0';
  const char *name_end = strrchr(text, ')');
  unsigned long flags = 0;
  return name_end != NULL && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
         (flags & 1ul << 6) != 0;
}

__attribute__((constructor)) static void watch_forks(void) {
  in_forked_child = forked_without_exec();
  pthread_atfork(NULL, NULL, note_fork);
}

/* --------------------------------------------------------------------------------- OpenMP */

#if defined(MLUOP_THREADING_OPENMP)

static int processors(void) { return omp_get_num_procs(); }
static int default_threads(void) { return omp_get_max_threads(); }

/* What OpenMP gives at most to a region that begins here. */
static int thread_limit(void) {
  if (omp_get_active_level() >= omp_get_max_active_levels()) return 1;
  return omp_get_thread_limit();
}

int mluop_team_size(int workers, int most) {
  if (omp_get_level() > 0) return workers;
  return max(workers, min(omp_get_max_threads(), most));
}

/* The largest team that has been tried on this thread. */
__extension__ static __thread int tried_size = 1;

static void *pass(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* Whether so many more threads can be there at the same time. */
static bool can_make(int count) {
  pthread_t *threads = malloc((size_t)count * sizeof(*threads));
  if (threads == NULL) return false;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&gate);
  int made = 0;
  while (made < count && pthread_create(&threads[made], NULL, pass, &gate) == 0) made++;
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
  free(threads);
  return made == count;
}

bool mluop_run_team(void (*member)(void *data, int index), void *data, int size) {
  if (size > tried_size) {
    if (!can_make(size - 1)) return false;
    tried_size = size;
  }
#pragma omp parallel num_threads(size)
  member(data, omp_get_thread_num());
  return true;
}

/* GNU OpenMP has the function since GCC 9, without the version macro that would tell. The runtime
   may be older than the compiler: where it has no such function, the weak name is NULL. */
#if _OPENMP >= 201811 || __GNUC__ >= 9
#pragma weak omp_pause_resource_all
static bool pause_threads(void) {
  if (omp_get_level() > 0) return false;
  if (omp_pause_resource_all != NULL) omp_pause_resource_all(omp_pause_soft);
  return true;
}
#else
static bool pause_threads(void) { return true; }
#endif

bool mluop_end_threads(void) {
  if (in_forked_child) return true;
  tried_size = 1;
  return pause_threads();
}

/* -------------------------------------------------------------------------- POSIX threads */

#elif defined(MLUOP_THREADING_PTHREADS)

/* Made for each job and joined: simple, for builds without OpenMP and for ThreadSanitizer, which
   does not understand the barriers of GNU OpenMP. */

struct member_thread {
  pthread_t thread;
  void (*member)(void *data, int index);
  void *data;
  int index;
};

static void *run_member(void *argument) {
  const struct member_thread *self = argument;
  self->member(self->data, self->index);
  return NULL;
}

static int processors(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return max(1, (int)sysconf(_SC_NPROCESSORS_ONLN));
}

static int default_threads(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  const long wanted = text != NULL ? strtol(text, NULL, 10) : 0;
  return wanted > 0 && wanted < INT_MAX ? (int)wanted : processors();
}

static int thread_limit(void) { return INT_MAX; }

int mluop_team_size(int workers, int most) {
  (void)most;
  return workers;
}

/* The calling thread does what threads that could not be made would have done. */
bool mluop_run_team(void (*member)(void *data, int index), void *data, int size) {
  struct member_thread *workers = malloc((size_t)size * sizeof(*workers));
  if (workers == NULL) return false;
  int made = 1;
  while (made < size) {
    struct member_thread *next = &workers[made];
    *next = (struct member_thread){.member = member, .data = data, .index = made};
    if (pthread_create(&next->thread, NULL, run_member, next) != 0) break;
    made++;
  }
  member(data, 0);
  for (int i = 1; i < made; i++) pthread_join(workers[i].thread, NULL);
  free(workers);
  return true;
}

bool mluop_end_threads(void) { return true; }

/* ---------------------------------------------------------------------------- one thread */

#else

static int processors(void) { return 1; }
static int default_threads(void) { return 1; }
static int thread_limit(void) { return 1; }

int mluop_team_size(int workers, int most) {
  (void)most;
  return workers;
}

bool mluop_run_team(void (*member)(void *data, int index), void *data, int size) {
  (void)size;
  member(data, 0);
  return true;
}

bool mluop_end_threads(void) { return true; }

#endif

int mluop_most_threads(void) { return THREADS_PER_PROCESSOR * processors(); }

int mluop_threads_for(int wanted, int most) {
  if (in_forked_child) return 1;
  if (wanted == 0) wanted = default_threads();
  return max(1, min(min(wanted, most), thread_limit()));
}

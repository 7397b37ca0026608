/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_INTERRUPT_H_
#define MLUOP_CORE_INTERRUPT_H_

/* Long calls ask whether to go on (mluOpCpuSetInterruptCheck). The thread that made the call asks,
   between items of a job, and inside of those that take long by themselves; the others see what it
   was told. Items that nobody has done then are left undone, and so are the jobs that follow. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/float_state.h"

/* Of a handle. */
struct mluop_interrupt {
  int (*check)(void *user_data); /* NULL: nobody asks */
  void *user_data;
  int64_t interval;                /* nanoseconds; 0: between all items */
  pthread_t caller;                /* of the call that runs */
  int64_t next;                    /* when it asks again; 0: it has not looked at the clock */
  struct mluop_float_state floats; /* as the application had them */
  bool stopped;                    /* the call shall end */
};

/* Before the first job of a call. */
void mluop_begin_interruptible(struct mluop_interrupt *interrupt);

static inline bool mluop_is_stopped(const struct mluop_interrupt *interrupt) {
  return __atomic_load_n(&interrupt->stopped, __ATOMIC_RELAXED);
}

/* How many items a thread does between two looks at the clock: they are cut at multiples of
 * `piece`. */
struct mluop_pace {
  int64_t piece, items, left;
  int64_t looked_at; /* 0: not yet */
};

/* For a job with this `piece`. */
struct mluop_pace mluop_first_pace(const struct mluop_interrupt *interrupt, int64_t piece);

/* Looks at the clock: sets the pace and asks if it is time. True if the call ends. */
bool mluop_look(struct mluop_interrupt *interrupt, struct mluop_pace *pace);

/* The members of a team that are at work, for a caller that has nothing more to do. */
struct mluop_watch {
  pthread_mutex_t mutex;
  pthread_cond_t ended;
  int working;
};

void mluop_start_watch(struct mluop_watch *watch);
void mluop_begin_work(struct mluop_watch *watch);
void mluop_end_work(struct mluop_watch *watch);

/* Asks from time to time until nobody works or the call ends. */
void mluop_watch_others(struct mluop_interrupt *interrupt, struct mluop_watch *watch);

/* Where a piece ends that begins here. */
static inline int64_t mluop_piece_end(const struct mluop_pace *pace, int64_t begin, int64_t end) {
  const int64_t stop = begin + pace->left, whole = stop - stop % pace->piece;
  if (stop >= end) return end;
  return whole > begin ? whole : stop;
}

int64_t mluop_now(void); /* nanoseconds */

#endif /* MLUOP_CORE_INTERRUPT_H_ */

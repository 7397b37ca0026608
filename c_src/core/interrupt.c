/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <time.h>

#include "internal.h"

enum {
  MILLISECOND = 1000000,
  /* Between two looks at the clock, roughly: a start of a kernel costs little of that. */
  LOOK_NANOSECONDS = 8 * MILLISECOND,
  /* Who asks may have to wait for a lock: a twentieth of the time at most, unless that is rarer
     than every tenth time. */
  WAIT_FACTOR = 20,
  RAREST_FACTOR = 10,
  /* Others mostly end soon after the caller: less than it takes to fall asleep and wake up. */
  AWAKE_NANOSECONDS = 50000
};

int64_t mluop_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

mluOpStatus_t mluOpCpuSetInterruptCheck(mluOpHandle_t handle, mluOpCpuInterruptCheck_t check,
                                        void *user_data, int interval) {
  static const char api[] = "mluOpCpuSetInterruptCheck";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  if (interval < 0) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "interval is %d, expected 0 or more", interval);
  }
  handle->interrupt = (struct mluop_interrupt){
      .check = check, .user_data = user_data, .interval = (int64_t)interval * MILLISECOND};
  return MLUOP_STATUS_SUCCESS;
}

void mluop_begin_interruptible(struct mluop_interrupt *interrupt) {
  if (interrupt->check == NULL) return;
  interrupt->caller = pthread_self();
  interrupt->floats = mluop_floats();
  interrupt->next = 0;
  interrupt->stopped = false;
}

static bool ask(struct mluop_interrupt *interrupt, int64_t time) {
  if (interrupt->next == 0) interrupt->next = time + interrupt->interval;
  if (time < interrupt->next) return false;
  mluop_leave_floats(interrupt->floats);
  const bool stop = interrupt->check(interrupt->user_data) != 0;
  interrupt->floats = mluop_enter_floats();
  const int64_t end = mluop_now(),
                wait = mluop_max(interrupt->interval, WAIT_FACTOR * (end - time));
  interrupt->next = end + mluop_min(wait, RAREST_FACTOR * interrupt->interval);
  if (stop) __atomic_store_n(&interrupt->stopped, true, __ATOMIC_RELAXED);
  return stop;
}

static bool is_caller(const struct mluop_interrupt *interrupt) {
  return pthread_equal(interrupt->caller, pthread_self()) != 0;
}

bool mluop_interrupted(struct mluop_interrupt *interrupt) {
  if (interrupt->check == NULL) return false;
  if (mluop_is_stopped(interrupt)) return true;
  return is_caller(interrupt) && ask(interrupt, mluop_now());
}

struct mluop_pace mluop_first_pace(const struct mluop_interrupt *interrupt, int64_t piece) {
  if (interrupt->interval == 0) piece = 1;
  return (struct mluop_pace){.piece = piece, .items = piece, .left = piece};
}

/* Items may take longer as the job goes on, as well as shorter. */
static void set_pace(const struct mluop_interrupt *interrupt, struct mluop_pace *pace,
                     int64_t time) {
  const int64_t taken = time - pace->looked_at;
  if (interrupt->interval > 0 && pace->looked_at > 0) {
    if (taken < LOOK_NANOSECONDS / 2) {
      pace->items *= 2;
    } else if (taken > LOOK_NANOSECONDS) {
      pace->items = mluop_max(pace->piece, pace->items / 2 / pace->piece * pace->piece);
    }
  }
  pace->looked_at = time;
  pace->left = pace->items;
}

bool mluop_look(struct mluop_interrupt *interrupt, struct mluop_pace *pace) {
  if (mluop_is_stopped(interrupt)) return true;
  const int64_t time = mluop_now();
  set_pace(interrupt, pace, time);
  return is_caller(interrupt) && ask(interrupt, time);
}

/* ------------------------------------------------------------------------------- waiting */

void mluop_start_watch(struct mluop_watch *watch) {
  pthread_mutex_init(&watch->mutex, NULL);
  pthread_cond_init(&watch->ended, NULL);
  watch->working = 0;
}

void mluop_begin_work(struct mluop_watch *watch) {
  __atomic_fetch_add(&watch->working, 1, __ATOMIC_SEQ_CST);
}

static bool somebody_works(const struct mluop_watch *watch) {
  return __atomic_load_n(&watch->working, __ATOMIC_SEQ_CST) > 0;
}

void mluop_end_work(struct mluop_watch *watch) {
  pthread_mutex_lock(&watch->mutex);
  if (__atomic_sub_fetch(&watch->working, 1, __ATOMIC_SEQ_CST) == 0) {
    pthread_cond_signal(&watch->ended);
  }
  pthread_mutex_unlock(&watch->mutex);
}

/* Until nobody works, for some time at most. */
static void sleep_while_others_work(struct mluop_watch *watch, int64_t nanoseconds) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  const int64_t fraction = end.tv_nsec + nanoseconds;
  end.tv_sec += (time_t)(fraction / 1000000000);
  end.tv_nsec = (long)(fraction % 1000000000);
  pthread_mutex_lock(&watch->mutex);
  if (somebody_works(watch)) pthread_cond_timedwait(&watch->ended, &watch->mutex, &end);
  pthread_mutex_unlock(&watch->mutex);
}

void mluop_watch_others(struct mluop_interrupt *interrupt, struct mluop_watch *watch) {
  const int64_t begin = mluop_now();
  while (somebody_works(watch)) {
    const int64_t time = mluop_now();
    if (time - begin < AWAKE_NANOSECONDS) {
      sched_yield();
      continue;
    }
    if (mluop_is_stopped(interrupt) || ask(interrupt, time)) return;
    sleep_while_others_work(watch, mluop_max(MILLISECOND, interrupt->next - time));
  }
}

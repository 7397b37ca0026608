/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_SIGNALS_H_
#define MLUOP_CORE_SIGNALS_H_

/* Writing can raise a signal whose default is the end of the process: SIGPIPE without a reader,
   SIGXFSZ beyond the limit on a file's size. Between these two functions the calling thread does
   not get it, and afterwards it never came. For files that define _POSIX_C_SOURCE or _GNU_SOURCE.
 */

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct mluop_held_signal {
  sigset_t only, mask;
  bool was_pending;
};

static inline void mluop_hold_signal(struct mluop_held_signal *held, int number) {
  sigset_t pending;
  sigemptyset(&held->only);
  sigaddset(&held->only, number);
  pthread_sigmask(SIG_BLOCK, &held->only, &held->mask);
  sigpending(&pending);
  held->was_pending = sigismember(&pending, number) == 1;
}

static inline void mluop_release_signal(const struct mluop_held_signal *held) {
  const struct timespec at_once = {0, 0};
  if (!held->was_pending) sigtimedwait(&held->only, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}

#endif /* MLUOP_CORE_SIGNALS_H_ */

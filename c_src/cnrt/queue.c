/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "runtime.h"

/* Every operation is complete when the call that asks for it returns: a queue has nothing to
   remember but its flags. */
struct cnrtQueue {
  unsigned int flags;
};

struct cnrtNotifier {
  bool placed;
  struct timespec time;
};

cnrtRet_t cnrt_check_queue(cnrtQueue_t queue) {
  const bool valid = queue == NULL || cnrt_alive(queue, CNRT_QUEUE);
  return cnrt_result(valid ? cnrtSuccess : cnrtErrorArgsInvalid);
}

static cnrtRet_t check_notifier(cnrtNotifier_t notifier) {
  const bool valid = cnrt_alive(notifier, CNRT_NOTIFIER);
  return cnrt_result(valid ? cnrtSuccess : cnrtErrorArgsInvalid);
}

/* ----------------------------------------------------------------------------------- queues */

cnrtRet_t cnrtQueueCreateWithPriority(cnrtQueue_t *queue, unsigned int flags, int priority) {
  if (queue == NULL || priority != 0) return cnrt_result(cnrtErrorArgsInvalid);
  void *made;
  const cnrtRet_t result = cnrt_new(&made, sizeof(struct cnrtQueue), CNRT_QUEUE);
  if (result != cnrtSuccess) return result;
  *queue = made;
  (*queue)->flags = flags;
  return cnrtSuccess;
}

cnrtRet_t cnrtQueueCreate(cnrtQueue_t *queue) { return cnrtQueueCreateWithPriority(queue, 0, 0); }
cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue) { return cnrt_delete(queue, CNRT_QUEUE); }
cnrtRet_t cnrtQueueSync(cnrtQueue_t queue) { return cnrt_check_queue(queue); }
cnrtRet_t cnrtQueueQuery(cnrtQueue_t queue) { return cnrt_check_queue(queue); }

cnrtRet_t cnrtQueueGetPriority(cnrtQueue_t queue, int *priority) {
  if (priority == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  const cnrtRet_t result = cnrt_check_queue(queue);
  if (result == cnrtSuccess) *priority = 0;
  return result;
}

cnrtRet_t cnrtInvokeHostFunc(cnrtQueue_t queue, cnrtHostFn_t fn, void *user_data) {
  if (fn == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  const cnrtRet_t result = cnrt_check_queue(queue);
  if (result == cnrtSuccess) fn(user_data);
  return result;
}

cnrtRet_t cnrtCreateQueue(cnrtQueue_t *queue) { return cnrtQueueCreate(queue); }
cnrtRet_t cnrtDestroyQueue(cnrtQueue_t queue) { return cnrtQueueDestroy(queue); }
cnrtRet_t cnrtSyncQueue(cnrtQueue_t queue) { return cnrtQueueSync(queue); }
cnrtRet_t cnrtQueryQueue(cnrtQueue_t queue) { return cnrtQueueQuery(queue); }

/* -------------------------------------------------------------------------------- notifiers */

cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t *notifier) {
  if (notifier == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  void *made;
  const cnrtRet_t result = cnrt_new(&made, sizeof(struct cnrtNotifier), CNRT_NOTIFIER);
  if (result != cnrtSuccess) return result;
  *notifier = made;
  (*notifier)->placed = false;
  return cnrtSuccess;
}

cnrtRet_t cnrtNotifierCreateWithFlags(cnrtNotifier_t *notifier, unsigned int flags) {
  (void)flags;
  return cnrtNotifierCreate(notifier);
}

cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier) {
  return cnrt_delete(notifier, CNRT_NOTIFIER);
}

cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) {
  cnrt_lock();
  const bool valid = cnrt_alive_locked(notifier, CNRT_NOTIFIER) &&
                     (queue == NULL || cnrt_alive_locked(queue, CNRT_QUEUE));
  if (valid) {
    clock_gettime(CLOCK_MONOTONIC, &notifier->time);
    notifier->placed = true;
  }
  cnrt_unlock();
  return cnrt_result(valid ? cnrtSuccess : cnrtErrorArgsInvalid);
}

cnrtRet_t cnrtPlaceNotifierWithFlags(cnrtNotifier_t notifier, cnrtQueue_t queue,
                                     unsigned int flags) {
  (void)flags;
  return cnrtPlaceNotifier(notifier, queue);
}

cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier) { return check_notifier(notifier); }
cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t notifier) { return check_notifier(notifier); }

cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue, unsigned int flags) {
  (void)flags;
  const cnrtRet_t result = cnrt_check_queue(queue);
  return result != cnrtSuccess ? result : check_notifier(notifier);
}

static double nanoseconds_between(const struct timespec *start, const struct timespec *end) {
  return 1e9 * (double)(end->tv_sec - start->tv_sec) + (double)(end->tv_nsec - start->tv_nsec);
}

static cnrtRet_t duration(cnrtNotifier_t start, cnrtNotifier_t end, double unit, float *value) {
  cnrtRet_t result = cnrtErrorArgsInvalid;
  cnrt_lock();
  if (value != NULL && cnrt_alive_locked(start, CNRT_NOTIFIER) &&
      cnrt_alive_locked(end, CNRT_NOTIFIER)) {
    result = start->placed && end->placed ? cnrtSuccess : cnrtErrorNotReady;
    if (result == cnrtSuccess) {
      *value = (float)(nanoseconds_between(&start->time, &end->time) / unit);
    }
  }
  cnrt_unlock();
  return cnrt_result(result);
}

cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float *us) {
  return duration(start, end, 1e3, us);
}

cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t start, cnrtNotifier_t end, float *ms) {
  return duration(start, end, 1e6, ms);
}

cnrtRet_t cnrtCreateNotifier(cnrtNotifier_t *notifier) { return cnrtNotifierCreate(notifier); }

cnrtRet_t cnrtDestroyNotifier(cnrtNotifier_t *notifier) {
  if (notifier == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  const cnrtRet_t result = cnrtNotifierDestroy(*notifier);
  if (result == cnrtSuccess) *notifier = NULL;
  return result;
}

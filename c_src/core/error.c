/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "signals.h"

enum { MESSAGE_SIZE = 512 };

__extension__ static __thread char last_message[MESSAGE_SIZE];

/* The process-wide logger: documented global state, guarded by the mutex. Threads that are inside a
   callback are counted by the turn that it was set in, even or odd: who replaces it waits for those
   and not for the ones that come after. */
static pthread_mutex_t logger_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t callback_left = PTHREAD_COND_INITIALIZER;
static pthread_once_t logger_once = PTHREAD_ONCE_INIT;
static struct {
  mluOpCpuLogCallback_t callback;
  void *user_data;
  mluOpCpuLogLevel_t min_level;
  int turn;
  int inside[2];
} logger = {.min_level = MLUOP_CPU_LOG_WARNING};

enum { OUTSIDE = -1 };

/* The turn of the callback that this thread is inside of. */
__extension__ static __thread int own_turn = OUTSIDE;

static void write_line(mluOpCpuLogLevel_t level, const char *message) {
  static const char *const names[] = {"INFO", "WARNING", "ERROR"};
  struct mluop_held_signal broken_pipe;
  mluop_hold_signal(&broken_pipe, SIGPIPE);
  fprintf(stderr, "mluops %s: %s\n", names[level], message);
  mluop_release_signal(&broken_pipe);
}

/* Nobody can have set a callback yet: what is wrong goes to stderr. */
static void read_level_from_environment(void) {
  const char *text = getenv("MLUOP_MIN_VLOG_LEVEL");
  if (text == NULL || *text == '\0') return;
  char *end;
  const long level = strtol(text, &end, 10);
  if (*end != '\0' || level < 0) {
    char message[MESSAGE_SIZE];
    snprintf(message, MESSAGE_SIZE,
             "MLUOP_MIN_VLOG_LEVEL is \"%.40s\" and not used, expected a number: 0 (info), "
             "1 (warning), 2 (error), 3 or more (nothing)",
             text);
    write_line(MLUOP_CPU_LOG_WARNING, message);
    return;
  }
  logger.min_level = level >= MLUOP_CPU_LOG_OFF ? MLUOP_CPU_LOG_OFF : (mluOpCpuLogLevel_t)level;
}

static void lock_mutex(void) { pthread_mutex_lock(&logger_mutex); }
static void unlock_mutex(void) { pthread_mutex_unlock(&logger_mutex); }

/* Threads that hold the mutex or are inside a callback do not exist in a forked child. */
static void start_in_child(void) {
  for (int turn = 0; turn < 2; turn++) logger.inside[turn] = own_turn == turn;
  pthread_cond_init(&callback_left, NULL);
  unlock_mutex();
}

static void start_logger(void) {
  read_level_from_environment();
  pthread_atfork(lock_mutex, unlock_mutex, start_in_child);
}

static void lock_logger(void) {
  pthread_once(&logger_once, start_logger);
  lock_mutex();
}

static void leave_callback(void) {
  lock_mutex();
  if (--logger.inside[own_turn] == 0) pthread_cond_broadcast(&callback_left);
  unlock_mutex();
  own_turn = OUTSIDE;
}

void mluop_log(mluOpCpuLogLevel_t level, const char *message) {
  if (own_turn != OUTSIDE) return; /* a callback that logs would be called for ever */
  lock_logger();
  const mluOpCpuLogCallback_t callback = logger.callback;
  void *user_data = logger.user_data;
  const bool wanted = level >= logger.min_level;
  if (wanted && callback != NULL) {
    own_turn = logger.turn;
    logger.inside[own_turn]++;
  }
  unlock_mutex();
  if (own_turn != OUTSIDE) {
    callback(level, message, user_data);
    leave_callback();
  } else if (wanted) {
    write_line(level, message);
  }
}

mluOpStatus_t mluop_fail(mluOpStatus_t status, const char *api, const char *text, ...) {
  char message[MESSAGE_SIZE];
  const int used = snprintf(message, MESSAGE_SIZE, "[%s] ", api);
  va_list values;
  va_start(values, text);
  vsnprintf(message + used, (size_t)(MESSAGE_SIZE - used), text, values);
  va_end(values);
  strcpy(last_message, message);
  mluop_log(MLUOP_CPU_LOG_ERROR, message);
  strcpy(last_message, message); /* a callback may have failed itself meanwhile */
  return status;
}

mluOpStatus_t mluop_null_argument(const char *api, const char *name) {
  return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "%s is NULL", name);
}

const char *mluOpCpuGetLastErrorMessage(void) { return last_message; }

mluOpStatus_t mluOpCpuSetLogCallback(mluOpCpuLogCallback_t callback, void *user_data) {
  lock_logger();
  logger.callback = callback;
  logger.user_data = user_data;
  const int replaced = logger.turn;
  logger.turn = !replaced;
  while (own_turn == OUTSIDE && logger.inside[replaced] > 0) {
    pthread_cond_wait(&callback_left, &logger_mutex);
  }
  unlock_mutex();
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpCpuSetLogLevel(mluOpCpuLogLevel_t level) {
  if ((int)level < MLUOP_CPU_LOG_INFO || level > MLUOP_CPU_LOG_OFF) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, "mluOpCpuSetLogLevel",
                      "level is %d, expected 0 (info) to 3 (off)", (int)level);
  }
  lock_logger();
  logger.min_level = level;
  unlock_mutex();
  return MLUOP_STATUS_SUCCESS;
}

mluOpCpuLogLevel_t mluOpCpuGetLogLevel(void) {
  lock_logger();
  const mluOpCpuLogLevel_t level = logger.min_level;
  unlock_mutex();
  return level;
}

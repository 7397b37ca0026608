/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

enum { MESSAGE_SIZE = 512 };

__extension__ static __thread char last_message[MESSAGE_SIZE];

/* The process-wide logger: documented global state, guarded by the mutex. */
static pthread_mutex_t logger_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t logger_once = PTHREAD_ONCE_INIT;
static struct {
  mluOpCpuLogCallback_t callback;
  void *user_data;
  mluOpCpuLogLevel_t min_level;
} logger = {NULL, NULL, MLUOP_CPU_LOG_WARNING};

static void read_level_from_environment(void) {
  const char *text = getenv("MLUOP_MIN_VLOG_LEVEL");
  if (text == NULL) return;
  char *end;
  const long level = strtol(text, &end, 10);
  if (end == text || *end != '\0' || level < 0) return;
  logger.min_level = level >= MLUOP_CPU_LOG_OFF ? MLUOP_CPU_LOG_OFF : (mluOpCpuLogLevel_t)level;
}

static void lock_mutex(void) { pthread_mutex_lock(&logger_mutex); }
static void unlock_mutex(void) { pthread_mutex_unlock(&logger_mutex); }

/* A thread that holds the mutex does not exist in a forked child: nobody may hold it then. */
static void start_logger(void) {
  read_level_from_environment();
  pthread_atfork(lock_mutex, unlock_mutex, unlock_mutex);
}

static void lock_logger(void) {
  pthread_once(&logger_once, start_logger);
  lock_mutex();
}

static void log_line(mluOpCpuLogLevel_t level, const char *message) {
  lock_logger();
  const mluOpCpuLogCallback_t callback = logger.callback;
  void *user_data = logger.user_data;
  const bool wanted = level >= logger.min_level;
  unlock_mutex();
  if (!wanted) return;
  if (callback != NULL) {
    callback(level, message, user_data);
  } else {
    static const char *const names[] = {"INFO", "WARNING", "ERROR"};
    fprintf(stderr, "mluops %s: %s\n", names[level], message);
  }
}

mluOpStatus_t mluop_fail(mluOpStatus_t status, const char *api, const char *text, ...) {
  const int used = snprintf(last_message, MESSAGE_SIZE, "[%s] ", api);
  va_list values;
  va_start(values, text);
  vsnprintf(last_message + used, (size_t)(MESSAGE_SIZE - used), text, values);
  va_end(values);
  log_line(MLUOP_CPU_LOG_ERROR, last_message);
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

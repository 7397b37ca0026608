/* SPDX-License-Identifier: Apache-2.0 */
/* The last message of each thread; the log callback, its level, and the environment variable. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "mlu_op.h"
#include "mlu_op_cpu.h"

struct log {
  int lines;
  mluOpCpuLogLevel_t level;
  char text[256];
};

static void record(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  struct log *log = user_data;
  log->lines++;
  log->level = level;
  snprintf(log->text, sizeof(log->text), "%s", message);
}

/* In a process that has not logged yet: the level that the variable gives. */
static int level_for(const char *value) {
  const pid_t child = fork();
  if (child == 0) {
    if (value != NULL) setenv("MLUOP_MIN_VLOG_LEVEL", value, 1);
    if (value == NULL) unsetenv("MLUOP_MIN_VLOG_LEVEL");
    _exit((int)mluOpCpuGetLogLevel());
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void level_comes_from_the_environment(void) {
  CHECK_EQ(MLUOP_CPU_LOG_WARNING, level_for(NULL));
  CHECK_EQ(MLUOP_CPU_LOG_INFO, level_for("0"));
  CHECK_EQ(MLUOP_CPU_LOG_WARNING, level_for("1"));
  CHECK_EQ(MLUOP_CPU_LOG_ERROR, level_for("2"));
  CHECK_EQ(MLUOP_CPU_LOG_OFF, level_for("3"));
  CHECK_EQ(MLUOP_CPU_LOG_OFF, level_for("99999999999999999999"));
  CHECK_EQ(MLUOP_CPU_LOG_WARNING, level_for("-1"));
  CHECK_EQ(MLUOP_CPU_LOG_WARNING, level_for("loud"));
  CHECK_EQ(MLUOP_CPU_LOG_WARNING, level_for("2x"));
  CHECK_EQ(MLUOP_CPU_LOG_WARNING, level_for(""));
}

static void no_message_before_the_first_error(void) {
  CHECK_TEXT("", mluOpCpuGetLastErrorMessage());
}

static void success_keeps_the_last_message(void) {
  BAD(mluOpCreate(NULL));
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  OK(mluOpDestroy(handle));
  CHECK_TEXT("[mluOpCreate] handle is NULL", mluOpCpuGetLastErrorMessage());
}

static void *fail_elsewhere(void *unused) {
  (void)unused;
  CHECK_TEXT("", mluOpCpuGetLastErrorMessage());
  BAD(mluOpDestroyTensorDescriptor(NULL));
  CHECK_TEXT("[mluOpDestroyTensorDescriptor] desc is NULL", mluOpCpuGetLastErrorMessage());
  return NULL;
}

static void messages_belong_to_their_thread(void) {
  BAD(mluOpDestroy(NULL));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
  pthread_join(thread, NULL);
  CHECK_TEXT("[mluOpDestroy] handle is NULL", mluOpCpuGetLastErrorMessage());
}

static void the_callback_gets_each_line_once(void) {
  struct log log = {0};
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_INFO));
  OK(mluOpCpuSetLogCallback(record, &log));
  BAD(mluOpDestroy(NULL));
  CHECK_EQ(1, log.lines);
  CHECK_EQ(MLUOP_CPU_LOG_ERROR, log.level);
  CHECK_TEXT("[mluOpDestroy] handle is NULL", log.text);
  OK(mluOpCpuSetLogCallback(NULL, NULL));
}

static void the_level_silences(void) {
  struct log log = {0};
  OK(mluOpCpuSetLogCallback(record, &log));
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_OFF));
  BAD(mluOpDestroy(NULL));
  CHECK_EQ(0, log.lines);
  CHECK_TEXT("[mluOpDestroy] handle is NULL", mluOpCpuGetLastErrorMessage());
  for (int level = MLUOP_CPU_LOG_INFO; level <= MLUOP_CPU_LOG_ERROR; level++) {
    OK(mluOpCpuSetLogLevel((mluOpCpuLogLevel_t)level));
    CHECK_EQ(level, mluOpCpuGetLogLevel());
    BAD(mluOpDestroy(NULL));
    CHECK_EQ(level + 1, log.lines);
  }
  BAD(mluOpCpuSetLogLevel((mluOpCpuLogLevel_t)4));
  BAD_TEXT("[mluOpCpuSetLogLevel] level is -1, expected 0 (info) to 3 (off)",
           mluOpCpuSetLogLevel((mluOpCpuLogLevel_t)-1));
  CHECK_EQ(MLUOP_CPU_LOG_ERROR, mluOpCpuGetLogLevel());
  OK(mluOpCpuSetLogCallback(NULL, NULL));
}

static void without_a_callback_lines_go_to_stderr(void) {
  FILE *file = tmpfile();
  CHECK(file != NULL);
  if (file == NULL) return;
  const int saved = dup(2);
  dup2(fileno(file), 2);
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_ERROR));
  BAD(mluOpDestroy(NULL));
  dup2(saved, 2);
  close(saved);
  char line[128] = "";
  rewind(file);
  CHECK(fgets(line, sizeof(line), file) != NULL);
  CHECK_TEXT("mluops ERROR: [mluOpDestroy] handle is NULL\n", line);
  CHECK(fgets(line, sizeof(line), file) == NULL);
  fclose(file);
}

enum { WORKERS = 4, ROUNDS = 500 };

static void *fail_often(void *unused) {
  for (int i = 0; i < ROUNDS; i++) BAD(mluOpDestroy(NULL));
  return unused;
}

static void count_lines(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  CHECK_EQ(MLUOP_CPU_LOG_ERROR, level);
  CHECK_TEXT("[mluOpDestroy] handle is NULL", message);
  __atomic_fetch_add((int *)user_data, 1, __ATOMIC_RELAXED);
}

static void many_threads_log_at_once(void) {
  int lines = 0;
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_ERROR));
  OK(mluOpCpuSetLogCallback(count_lines, &lines));
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], NULL, fail_often, NULL);
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
  CHECK_EQ(WORKERS * ROUNDS, lines);
  OK(mluOpCpuSetLogCallback(NULL, NULL));
}

/* ------------------------------------------------------------------ what a callback may do */

static void fail_in_callback(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  (void)level;
  CHECK_TEXT("[mluOpDestroy] handle is NULL", message);
  CHECK_TEXT(message, mluOpCpuGetLastErrorMessage());
  BAD_TEXT("[mluOpCreate] handle is NULL", mluOpCreate(NULL));
  CHECK_TEXT("[mluOpDestroy] handle is NULL", message);
  ++*(int *)user_data;
}

static void errors_in_a_callback_hide_no_other(void) {
  int lines = 0;
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_ERROR));
  OK(mluOpCpuSetLogCallback(fail_in_callback, &lines));
  BAD_TEXT("[mluOpDestroy] handle is NULL", mluOpDestroy(NULL));
  CHECK_EQ(1, lines); /* what fails in a callback is not logged */
  OK(mluOpCpuSetLogCallback(NULL, NULL));
}

static void remove_itself(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  (void)level;
  (void)message;
  ++*(int *)user_data;
  OK(mluOpCpuSetLogCallback(NULL, NULL));
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_OFF));
}

static void a_callback_may_replace_itself(void) {
  int lines = 0;
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_ERROR));
  OK(mluOpCpuSetLogCallback(remove_itself, &lines));
  BAD(mluOpDestroy(NULL));
  BAD(mluOpDestroy(NULL));
  CHECK_EQ(1, lines);
  OK(mluOpCpuSetLogCallback(NULL, NULL));
}

static void pause_for(long microseconds) {
  const struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

/* Where a callback says that it is in it, and whether it is still wanted. */
struct visit {
  int inside, wanted, stop;
};

static void look_around(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  (void)level;
  (void)message;
  struct visit *visit = user_data;
  CHECK(__atomic_load_n(&visit->wanted, __ATOMIC_SEQ_CST));
  __atomic_fetch_add(&visit->inside, 1, __ATOMIC_SEQ_CST);
  pause_for(200);
  CHECK(__atomic_load_n(&visit->wanted, __ATOMIC_SEQ_CST));
}

static void *fail_until_told(void *argument) {
  struct visit *visit = argument;
  while (!__atomic_load_n(&visit->stop, __ATOMIC_SEQ_CST)) BAD(mluOpDestroy(NULL));
  return NULL;
}

/* The callbacks of every second round have their own data: threads come all the time. */
static void a_replaced_callback_has_been_left(void) {
  struct visit other = {0, 1, 0};
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_ERROR));
  OK(mluOpCpuSetLogCallback(look_around, &other));
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], NULL, fail_until_told, &other);
  for (int round = 0; round < 50; round++) {
    struct visit visit = {0, 1, 0};
    OK(mluOpCpuSetLogCallback(look_around, &visit));
    while (__atomic_load_n(&visit.inside, __ATOMIC_SEQ_CST) == 0) pause_for(10);
    OK(mluOpCpuSetLogCallback(look_around, &other));
    __atomic_store_n(&visit.wanted, 0, __ATOMIC_SEQ_CST);
  }
  __atomic_store_n(&other.stop, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
  OK(mluOpCpuSetLogCallback(NULL, NULL));
}

static void a_closed_pipe_ends_nothing(void) {
  int ends[2];
  CHECK_EQ(0, pipe(ends));
  close(ends[0]);
  const int saved = dup(2);
  dup2(ends[1], 2);
  OK(mluOpCpuSetLogLevel(MLUOP_CPU_LOG_ERROR));
  BAD(mluOpDestroy(NULL));
  dup2(saved, 2);
  close(saved);
  close(ends[1]);
  sigset_t pending, blocked;
  sigpending(&pending);
  CHECK(!sigismember(&pending, SIGPIPE));
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  CHECK(!sigismember(&blocked, SIGPIPE));
}

static const struct test tests[] = {
    TEST(no_message_before_the_first_error),
    TEST(success_keeps_the_last_message),
    TEST(messages_belong_to_their_thread),
    TEST(the_callback_gets_each_line_once),
    TEST(the_level_silences),
    TEST(without_a_callback_lines_go_to_stderr),
    TEST(many_threads_log_at_once),
    TEST(errors_in_a_callback_hide_no_other),
    TEST(a_callback_may_replace_itself),
    TEST(a_replaced_callback_has_been_left),
    TEST(a_closed_pipe_ends_nothing),
};

/* The variable is read once per process: it is tested in children, before this one logs. */
int main(int argc, char **argv) {
  level_comes_from_the_environment();
  const int failed = failed_checks();
  return run_tests(tests, sizeof(tests) / sizeof(tests[0]), argc, argv) || failed;
}

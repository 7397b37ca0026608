/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of operators become test cases, and whatever goes wrong with that changes no call. What the
   files say is read in tests/cases. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fenv.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "mlu_op_cpu.h"

enum { PATH = 512, THREADS = 6, CALLS = 20 };

static char root[PATH];

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  return remove(path);
}

/* A folder of the test's own, which is where cases go. */
static void begin(void) {
  snprintf(root, sizeof(root), "/tmp/mluop_gen_case_XXXXXX");
  CHECK(mkdtemp(root) != NULL);
  OK(mluOpSetGenCaseDirectory(root));
}

static void end(void) {
  mluOpSetGenCaseMode(0);
  mluOpCpuSetLogCallback(NULL, NULL);
  nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int files;
static char last_file[PATH];

static int count_file(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)place;
  if (kind == FTW_F) {
    files++;
    snprintf(last_file, sizeof(last_file), "%s", path);
  }
  return 0;
}

static int count_files(void) {
  files = 0;
  nftw(root, count_file, 8, FTW_PHYS);
  return files;
}

/* The text of the only file there is; empty if there is none or another one. */
static char *text_of_the_file(void) {
  static char text[1 << 16];
  text[0] = '\0';
  if (!CHECK_EQ(1, count_files())) return text;
  FILE *file = fopen(last_file, "r");
  if (!CHECK(file != NULL)) return text;
  text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
  fclose(file);
  return text;
}

/* Runs a call once. */
static mluOpStatus_t run_once(int index) {
  mluOpHandle_t handle;
  OK(mluOpCreate(&handle));
  struct call *call = call_prepare(index, CALL_TINY);
  const mluOpStatus_t status = call != NULL ? call_run(handle, call) : MLUOP_STATUS_ALLOC_FAILED;
  if (call != NULL) call_release(call);
  OK(mluOpDestroy(handle));
  return status;
}

static struct {
  int lines;
  mluOpCpuLogLevel_t level;
  char text[1 << 14];
} logged;

static void keep_line(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  (void)user_data;
  logged.lines++;
  logged.level = level;
  snprintf(logged.text, sizeof(logged.text), "%s", message);
}

static void keep_lines(void) {
  mluOpCpuSetLogLevel(MLUOP_CPU_LOG_INFO);
  mluOpCpuSetLogCallback(keep_line, NULL);
  logged.lines = 0;
}

/* ------------------------------------------------------------------------------------- tests */

static void nothing_is_written_unless_it_is_asked_for(void) {
  static const int modes[] = {0, 4, -1, 99};
  begin();
  for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
    mluOpSetGenCaseMode(modes[i]);
    for (int k = 0; k < call_count(); k++) OK(run_once(k));
    CHECK_EQ(0, count_files());
  }
  end();
}

static void every_operator_has_a_file(void) {
  for (int mode = 1; mode <= 2; mode++) {
    for (int k = 0; k < call_count(); k++) {
      begin();
      mluOpSetGenCaseMode(mode);
      keep_lines();
      OK(run_once(k));
      mluOpSetGenCaseMode(0);
      const char *text = text_of_the_file();
      CHECK(strncmp(text, "op_name: \"", 10) == 0);
      CHECK(strstr(text, "input {") != NULL);
      CHECK(strstr(text, "output {") != NULL);
      CHECK_EQ(mode == 1, strstr(text, "random_data") != NULL);
      CHECK_EQ(mode == 2, strstr(text, "value_") != NULL || strstr(text, "dims: 0") != NULL);
      CHECK(logged.level == MLUOP_CPU_LOG_INFO && strstr(logged.text, last_file) != NULL);
      end();
    }
  }
}

static void directories_are_kept_and_made(void) {
  char long_name[1100], expected[PATH + 64];
  begin();
  CHECK_TEXT(root, mluOpGetGenCaseDirectory());
  BAD_TEXT("[mluOpSetGenCaseDirectory] directory is NULL", mluOpSetGenCaseDirectory(NULL));
  memset(long_name, 'a', sizeof(long_name));
  long_name[1024] = '\0';
  BAD_TEXT("[mluOpSetGenCaseDirectory] directory has 1024 characters, expected fewer than 1024",
           mluOpSetGenCaseDirectory(long_name));
  CHECK_TEXT(root, mluOpGetGenCaseDirectory());
  long_name[1023] = '\0';
  OK(mluOpSetGenCaseDirectory(long_name));
  CHECK_TEXT(long_name, mluOpGetGenCaseDirectory());
  mluOpSetGenCaseMode(1);
  OK(run_once(0)); /* no file system has such a name */
  OK(mluOpSetGenCaseDirectory(""));
  CHECK_TEXT(".", mluOpGetGenCaseDirectory());
  snprintf(long_name, sizeof(long_name), "%s/not/there/{pid}_{deviceid}_{x}", root);
  OK(mluOpSetGenCaseDirectory(long_name));
  CHECK_TEXT(long_name, mluOpGetGenCaseDirectory());
  OK(run_once(0));
  CHECK_EQ(1, count_files());
  snprintf(expected, sizeof(expected), "%s/not/there/%d_0_{x}/gen_case/", root, (int)getpid());
  CHECK(strncmp(expected, last_file, strlen(expected)) == 0);
  end();
}

static void a_folder_that_cannot_be_made_is_a_line_in_the_log(void) {
  char path[PATH + 16];
  begin();
  snprintf(path, sizeof(path), "%s/file", root);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fclose(file) == 0);
  OK(mluOpSetGenCaseDirectory(path));
  mluOpSetGenCaseMode(2);
  BAD(mluOpGetQueue(NULL, NULL));
  keep_lines();
  OK(run_once(0));
  CHECK_EQ(1, logged.lines);
  CHECK_EQ(MLUOP_CPU_LOG_WARNING, logged.level);
  CHECK(strstr(logged.text, "[gen_case] no case in ") != NULL);
  CHECK(strstr(logged.text, "Not a directory") != NULL);
  CHECK_TEXT("[mluOpGetQueue] handle is NULL", mluOpCpuGetLastErrorMessage());
  CHECK_EQ(1, count_files());
  end();
}

/* The limit of a file's size is a full disk that every machine has. Beyond it, the system sends a
   signal that ends the process. */
static void a_full_disk_is_a_line_in_the_log(void) {
  struct rlimit before, small;
  begin();
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  mluOpSetGenCaseMode(2);
  OK(run_once(0));
  const rlim_t size = strlen(text_of_the_file());
  CHECK(remove(last_file) == 0);
  for (rlim_t bytes = 0; bytes < size; bytes += size / 4) {
    small.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &small);
    keep_lines();
    OK(run_once(0));
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_EQ(1, logged.lines);
    CHECK(strstr(logged.text, "File too large") != NULL);
    CHECK_EQ(0, count_files());
  }
  sigset_t pending, mask;
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  CHECK(!sigismember(&pending, SIGXFSZ) && !sigismember(&mask, SIGXFSZ));
  OK(run_once(0));
  CHECK_EQ(1, count_files());
  end();
}

static void printing_is_one_line_and_no_file(void) {
  begin();
  mluOpSetGenCaseMode(3);
  for (int k = 0; k < call_count(); k++) {
    keep_lines();
    OK(run_once(k));
    CHECK_EQ(1, logged.lines);
    CHECK_EQ(MLUOP_CPU_LOG_WARNING, logged.level);
    CHECK(strstr(logged.text, " op_name: \"") != NULL && strchr(logged.text, '\n') == NULL);
    CHECK(strstr(logged.text, "output { id: \"") != NULL);
  }
  CHECK_EQ(0, count_files());
  end();
}

static void *call_often(void *unused) {
  (void)unused;
  mluOpHandle_t handle;
  struct call *call = call_prepare(0, CALL_TINY);
  OK(mluOpCreate(&handle));
  for (int i = 0; i < CALLS; i++) {
    OK(call_run(handle, call));
    mluOpSetGenCaseMode(1 + i % 2);
    OK(mluOpSetGenCaseDirectory(root));
    CHECK_TEXT(root, mluOpGetGenCaseDirectory());
  }
  call_release(call);
  OK(mluOpDestroy(handle));
  return NULL;
}

static void every_call_of_every_thread_has_a_file(void) {
  pthread_t threads[THREADS];
  begin();
  mluOpSetGenCaseMode(1);
  for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, call_often, NULL);
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  CHECK_EQ(THREADS * CALLS, count_files());
  end();
}

/* A case has the same text whatever the caller's rounding is, which is as it was afterwards. */
static void the_state_of_the_caller_is_left_alone(void) {
  static char first[1 << 16];
  for (int k = 0; k < call_count(); k++) {
    begin();
    mluOpSetGenCaseMode(1);
    OK(run_once(k));
    strcpy(first, text_of_the_file());
    end();
    begin();
    mluOpSetGenCaseMode(1);
    fesetround(FE_UPWARD);
    OK(run_once(k));
    CHECK_EQ(FE_UPWARD, fegetround());
    fesetround(FE_TONEAREST);
    CHECK_TEXT(first, text_of_the_file());
    end();
  }
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static int clock_stands_still;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  if (!clock_stands_still || clock != CLOCK_REALTIME) return __real_clock_gettime(clock, time);
  *time = (struct timespec){.tv_sec = 1000000000, .tv_nsec = 999999000};
  return 0;
}

/* The clock may be set back, too. The last microsecond of a second is followed by the next one. */
static void calls_at_the_same_time_have_files_of_their_own(void) {
  begin();
  mluOpSetGenCaseMode(1);
  clock_stands_still = 1;
  for (int i = 0; i < 5; i++) OK(run_once(0));
  clock_stands_still = 0;
  CHECK_EQ(5, count_files());
  end();
}

static void a_call_that_is_refused_has_no_file(void) {
  begin();
  mluOpSetGenCaseMode(2);
  struct call *call = call_prepare(0, CALL_TINY);
  BAD(call_run(NULL, call));
  call_release(call);
  CHECK_EQ(0, count_files());
  end();
}

static const struct test tests[] = {
    TEST(nothing_is_written_unless_it_is_asked_for),
    TEST(every_operator_has_a_file),
    TEST(directories_are_kept_and_made),
    TEST(a_folder_that_cannot_be_made_is_a_line_in_the_log),
    TEST(a_full_disk_is_a_line_in_the_log),
    TEST(printing_is_one_line_and_no_file),
    TEST(every_call_of_every_thread_has_a_file),
    TEST(the_state_of_the_caller_is_left_alone),
    TEST(calls_at_the_same_time_have_files_of_their_own),
    TEST(a_call_that_is_refused_has_no_file),
};
RUN_TESTS(tests)

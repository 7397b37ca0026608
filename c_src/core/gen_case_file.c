/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/gen_case.h"
#include "core/signals.h"

/* The files of cases. */

enum {
  PATH_SIZE = MLUOP_DIRECTORY_SIZE + 512,
  MOST_NAMES = 1000 /* that are tried for a new file */
};

/* ------------------------------------------------------------------------------------- paths */

/* Appends to a path, as far as there is room. */
static void append(char *path, size_t *used, const char *text, size_t length) {
  if (length > PATH_SIZE - 1 - *used) length = PATH_SIZE - 1 - *used;
  memcpy(path + *used, text, length);
  *used += length;
  path[*used] = '\0';
}

/* The folder of a call's cases: the directory, in which {pid} and {deviceid} have been replaced,
   and gen_case/OPERATOR. There is one device. */
static void folder_of(const struct mluop_call *call, char *path) {
  char wanted[MLUOP_DIRECTORY_SIZE], pid[16];
  size_t used = 0;
  mluop_copy_case_directory(wanted);
  const int digits = snprintf(pid, sizeof(pid), "%d", (int)getpid());
  for (const char *at = wanted; *at != '\0';) {
    if (strncmp(at, "{pid}", 5) == 0) {
      append(path, &used, pid, (size_t)digits);
      at += 5;
    } else if (strncmp(at, "{deviceid}", 10) == 0) {
      append(path, &used, "0", 1);
      at += 10;
    } else {
      append(path, &used, at++, 1);
    }
  }
  append(path, &used, "/gen_case/", 10);
  append(path, &used, call->gen_case, mluop_case_name_length(call));
}

static bool make_folders(char *path) {
  for (char *at = path + 1;; at++) {
    if (*at != '/' && *at != '\0') continue;
    const char end = *at;
    *at = '\0';
    const bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
    *at = end;
    if (!made) return false;
    if (end == '\0') return true;
  }
}

static long thread_id(void) { return syscall(SYS_gettid); }

static int64_t microseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* The name of a case follows from its time, so that nothing has to be kept for its outputs. */
static void path_of(const struct mluop_call *call, int64_t time, char *path) {
  const time_t seconds = (time_t)(time / 1000000);
  struct tm local;
  char date[32], name[128];
  localtime_r(&seconds, &local);
  strftime(date, sizeof(date), "%Y%m%d_%H_%M_%S", &local);
  const int length = snprintf(name, sizeof(name), "/%.*s_%s_%06d_tid%ld_device0.prototxt",
                              (int)mluop_case_name_length(call), call->gen_case, date,
                              (int)(time % 1000000), thread_id());
  folder_of(call, path);
  size_t used = strlen(path);
  append(path, &used, name, (size_t)length);
}

/* ------------------------------------------------------------------------------------- files */

/* What writing needs of its thread, and gives back as it was. */
struct surroundings {
  fenv_t floats; /* printf rounds as the caller does */
  struct mluop_held_signal too_large;
  locale_t c, locale;
};

static void enter(struct surroundings *found) {
  fegetenv(&found->floats);
  fesetenv(FE_DFL_ENV);
  mluop_hold_signal(&found->too_large, SIGXFSZ);
  found->c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a decimal point is a point */
  found->locale = uselocale(found->c);
}

static void leave(const struct surroundings *found) {
  uselocale(found->locale);
  if (found->c != (locale_t)0) freelocale(found->c);
  mluop_release_signal(&found->too_large);
  fesetenv(&found->floats);
}

/* Closes a case; one that could not be written whole is removed. Returns the errno, or 0. */
static int finish(const struct mluop_case_file *to, const char *path, bool written) {
  int problem = written && !ferror(to->file) ? 0 : errno != 0 ? errno : EIO;
  if (fclose(to->file) != 0 && problem == 0) problem = errno;
  if (problem != 0) remove(path);
  return problem;
}

static struct mluop_case_file file_of(const char *path, bool data,
                                      const struct mluop_case_settings *settings) {
  return (struct mluop_case_file){.path = settings->raw && data ? path : NULL,
                                  .inputs = data ? settings->inputs : MLUOP_VALUES_NONE};
}

/* Returns the errno, or 0. */
static int write_file(struct mluop_call *call, bool data,
                      const struct mluop_case_settings *settings, char *path) {
  struct mluop_case_file to = file_of(path, data, settings);
  int64_t time = microseconds();
  folder_of(call, path);
  if (!make_folders(path)) return errno;
  for (int i = 0; i < MOST_NAMES && to.file == NULL; i++) {
    path_of(call, ++time, path);
    to.file = fopen(path, "wxe");
    if (to.file == NULL && errno != EEXIST) return errno;
  }
  if (to.file == NULL) return EEXIST;
  errno = 0;
  mluop_write_case(&to, call);
  bool written = mluop_write_case_tensors(&to, call, false);
  const long outputs_at = ftell(to.file);
  written = written && mluop_write_case_tensors(&to, call, true);
  const int problem = finish(&to, path, written);
  if (problem == 0 && data && settings->outputs != MLUOP_VALUES_NONE) {
    call->captured_at = time;
    call->outputs_at = outputs_at;
  }
  return problem;
}

/* One line for the logger. */
static char *print_case(const struct mluop_call *call) {
  char *text = NULL;
  size_t size;
  struct mluop_case_file to = {.file = open_memstream(&text, &size)};
  if (to.file == NULL) return NULL;
  fprintf(to.file, "[gen_case] [tid %ld] ", thread_id());
  mluop_write_case(&to, call);
  mluop_write_case_tensors(&to, call, false);
  mluop_write_case_tensors(&to, call, true);
  if (fclose(to.file) != 0) {
    free(text);
    return NULL;
  }
  char *end = text;
  for (const char *at = text; *at != '\0'; at++) {
    const char c = *at == '\n' ? ' ' : *at;
    if (c != ' ' || (end > text && end[-1] != ' ')) *end++ = c;
  }
  *end = '\0';
  return text;
}

static void report(const char *path, int problem) {
  char message[PATH_SIZE + 256];
  if (problem != 0) {
    snprintf(message, sizeof(message), "[gen_case] no case in %s: %s", path, strerror(problem));
  } else {
    snprintf(message, sizeof(message), "[gen_case] Generate %s", path);
  }
  mluop_log(problem != 0 ? MLUOP_CPU_LOG_WARNING : MLUOP_CPU_LOG_INFO, message);
}

void mluop_begin_case_file(struct mluop_call *call, bool data,
                           const struct mluop_case_settings *settings) {
  struct surroundings found;
  char path[PATH_SIZE];
  enter(&found);
  const int problem = write_file(call, data, settings, path);
  leave(&found);
  report(path, problem);
}

void mluop_print_case(const struct mluop_call *call) {
  struct surroundings found;
  enter(&found);
  char *text = print_case(call);
  leave(&found);
  /* It was asked for, so it is to be seen. */
  if (text != NULL) mluop_log(MLUOP_CPU_LOG_WARNING, text);
  free(text);
}

void mluop_end_case_file(const struct mluop_call *call,
                         const struct mluop_case_settings *settings) {
  struct surroundings found;
  char path[PATH_SIZE];
  int problem = 0;
  enter(&found);
  path_of(call, call->captured_at, path);
  struct mluop_case_file to = file_of(path, true, settings);
  to.outputs = settings->outputs;
  to.file = fopen(path, "r+e");
  if (to.file == NULL || fseek(to.file, call->outputs_at, SEEK_SET) != 0) problem = errno;
  if (to.file != NULL) {
    errno = 0;
    const bool written = problem == 0 && mluop_write_case_tensors(&to, call, true);
    problem = finish(&to, path, written);
  }
  leave(&found);
  if (problem != 0) report(path, problem);
}

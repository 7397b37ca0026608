/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "core/gen_case.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Which calls become cases. */

enum { FILTER_SIZE = 512 };

/* The mode, the directory and the rest are the process's: documented global state. The rest is read
   from the environment once, as getenv must not meet a setenv of the application later on. */
int mluop_gen_case_mode = MLUOP_CASE_UNREAD;

static struct mluop_case_settings settings;
static char filter[FILTER_SIZE];

static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t directory_mutex = PTHREAD_MUTEX_INITIALIZER;
static char directory[MLUOP_DIRECTORY_SIZE] = ".";

/* ---------------------------------------------------------------------------------- settings */

static void lock_directory(void) { pthread_mutex_lock(&directory_mutex); }
static void unlock_directory(void) { pthread_mutex_unlock(&directory_mutex); }

/* A number, or 0. */
static int number_from(const char *variable) {
  const char *text = getenv(variable);
  if (text == NULL) return 0;
  char *end, message[160];
  const long number = strtol(text, &end, 10);
  if (*end == '\0') return (int)number;
  snprintf(message, sizeof(message), "[gen_case] %s is \"%.40s\" and not used, expected a number",
           variable, text);
  mluop_log(MLUOP_CPU_LOG_WARNING, message);
  return 0;
}

static void set_mode(int mode) {
  const bool known = mode >= MLUOP_CASE_SHAPES && mode <= MLUOP_CASE_PRINT;
  __atomic_store_n(&mluop_gen_case_mode, known ? mode : MLUOP_CASE_OFF, __ATOMIC_RELAXED);
}

static enum mluop_case_values values_of(int number, enum mluop_case_values otherwise) {
  return number == 1 ? MLUOP_VALUES_DECIMAL : number == 2 ? MLUOP_VALUES_BITS : otherwise;
}

static bool copy(char *to, size_t size, const char *text) {
  const bool fits = strlen(text) < size;
  if (fits) memcpy(to, text, strlen(text) + 1);
  return fits;
}

static void read_environment(void) {
  pthread_atfork(lock_directory, unlock_directory, unlock_directory);
  const char *wanted = getenv("MLUOP_GEN_CASE_DIR"), *names = getenv("MLUOP_GEN_CASE_OP_NAME");
  if (wanted != NULL && *wanted != '\0' && !copy(directory, sizeof(directory), wanted)) {
    mluop_log(MLUOP_CPU_LOG_WARNING, "[gen_case] MLUOP_GEN_CASE_DIR is too long, and not used");
  }
  if (names != NULL && !copy(filter, sizeof(filter), names)) {
    mluop_log(MLUOP_CPU_LOG_WARNING, "[gen_case] MLUOP_GEN_CASE_OP_NAME is too long, and not used");
  }
  settings.inputs = values_of(number_from("MLUOP_GEN_CASE_DUMP_DATA"), MLUOP_VALUES_BITS);
  settings.outputs = values_of(number_from("MLUOP_GEN_CASE_DUMP_DATA_OUTPUT"), MLUOP_VALUES_NONE);
  settings.raw = number_from("MLUOP_GEN_CASE_DUMP_DATA_FILE") == 1;
  set_mode(number_from("MLUOP_GEN_CASE"));
}

void mluop_copy_case_directory(char *to) {
  lock_directory();
  memcpy(to, directory, sizeof(directory));
  unlock_directory();
}

void mluOpSetGenCaseMode(int mode) {
  pthread_once(&settings_once, read_environment);
  set_mode(mode);
}

mluOpStatus_t mluOpSetGenCaseDirectory(const char *path) {
  static const char api[] = "mluOpSetGenCaseDirectory";
  if (path == NULL) return mluop_null_argument(api, "directory");
  pthread_once(&settings_once, read_environment);
  lock_directory();
  const bool fits = copy(directory, sizeof(directory), *path != '\0' ? path : ".");
  unlock_directory();
  if (fits) return MLUOP_STATUS_SUCCESS;
  return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                    "directory has %zu characters, expected fewer than %d", strlen(path),
                    MLUOP_DIRECTORY_SIZE);
}

const char *mluOpGetGenCaseDirectory(void) {
  __extension__ static __thread char answer[MLUOP_DIRECTORY_SIZE];
  pthread_once(&settings_once, read_environment);
  mluop_copy_case_directory(answer);
  return answer;
}

/* Whether the filter wants cases of an operator: "a;b" names those wanted, "-a" is all but a, and
   "+a" all, with the data of a in every mode. */
static bool is_wanted(const struct mluop_call *call, bool *data) {
  const size_t length = mluop_case_name_length(call);
  bool wanted = *filter == '\0';
  for (const char *at = filter; *at != '\0'; at += strcspn(at, ";"), at += *at == ';') {
    const bool has_sign = *at == '-' || *at == '+';
    const char *name = at + has_sign;
    const bool named = strcspn(name, ";") == length && strncmp(name, call->gen_case, length) == 0;
    if (named && *at == '+') *data = true;
    if (named) return *at != '-';
    wanted |= has_sign;
  }
  return wanted;
}

void mluop_begin_case(struct mluop_call *call) {
  pthread_once(&settings_once, read_environment);
  const int mode = __atomic_load_n(&mluop_gen_case_mode, __ATOMIC_RELAXED);
  bool data = mode == MLUOP_CASE_DATA;
  if (mode == MLUOP_CASE_OFF || call->gen_case == NULL || !is_wanted(call, &data)) return;
  if (mode == MLUOP_CASE_PRINT) {
    mluop_print_case(call);
  } else {
    mluop_begin_case_file(call, data, &settings);
  }
}

void mluop_end_case(const struct mluop_call *call) { mluop_end_case_file(call, &settings); }

/* SPDX-License-Identifier: Apache-2.0 */
/* The results of every operator beside the plain loops, on every instruction set that runs here: so
   that also those sets are tested for which there is no Python here. The fuzz targets make the
   calls (tests/fuzz/fuzz.h): of what fuzzing has kept (tests/FAMILY/fuzz_corpus.txt), and of
   pseudo-random bytes, the same in each run.

   test_values                 of all targets
   test_values FAMILY          of one
   test_values FAMILY 123      its input 123 alone; FUZZ_VERBOSE=1 says which call that is */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_targets.h"

enum { LENGTH = 96 /* as in tests/fuzz/run.py */, ROUNDS = 400, MOST_KEPT = 2000 };

struct input {
  uint8_t bytes[LENGTH];
  size_t length;
};

#define DECLARE(target) extern const struct fuzz_operator fuzz_##target[];
#define ENTRY(target) {#target, fuzz_##target},

FUZZ_TARGETS(DECLARE)

static const struct target {
  const char *name;
  const struct fuzz_operator *operators;
} targets[] = {FUZZ_TARGETS(ENTRY){NULL, NULL}};

/* ------------------------------------------------------------------------- which input it is */

static char current[64];

static void say_which(void) {
  static const char before[] = "to repeat it: test_values ";
  if (write(STDERR_FILENO, before, sizeof(before) - 1) < 0 ||
      write(STDERR_FILENO, current, strlen(current)) < 0) {
    _exit(1);
  }
}

static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { FATAL = sizeof(fatal) / sizeof(fatal[0]) };
static struct sigaction others[FATAL]; /* of sanitizers, which end by SIGABRT if asked to */

static void die(int number) {
  say_which();
  for (int i = 0; i < FATAL; i++) sigaction(fatal[i], &others[i], NULL);
  if (number == SIGABRT) raise(number); /* the others happen once more */
}

static void watch(void) {
  struct sigaction action = {.sa_handler = die};
  for (int i = 0; i < FATAL; i++) sigaction(fatal[i], &action, &others[i]);
}

/* --------------------------------------------------------------------------------- inputs */

/* GCC computes what it then throws away, and sets flags, where it optimises less and adds the
   checks of sanitizers; Clang makes shifts of integers out of conversions of floats where the CPU
   has no such shifts. */
static bool has_true_flags(const char *isa) {
#if defined(FUZZ_SANITIZED)
  return isa == NULL;
#elif defined(__clang__)
  return strcmp(isa, "baseline") != 0;
#else
  return isa != NULL;
#endif
}

static uint32_t count_operators(const struct fuzz_operator *operators) {
  uint32_t count = 0;
  while (operators[count].name != NULL) count++;
  return count;
}

/* At last none, if that makes a difference: the library chooses one for each kernel. */
static uint32_t list_isas(const char *isas[8]) {
  static char names[128];
  snprintf(names, sizeof(names), "%s", mluOpCpuGetSupportedIsas());
  uint32_t count = 0;
  char *rest = NULL;
  for (char *isa = strtok_r(names, " ", &rest); isa != NULL; isa = strtok_r(NULL, " ", &rest))
    isas[count++] = isa;
  if (count > 1) isas[count++] = "";
  return count;
}

/* Bytes from hexadecimal digits; how many there are. */
static size_t read_bytes(const char *text, uint8_t bytes[LENGTH]) {
  size_t count = 0;
  for (unsigned byte; count < LENGTH && sscanf(text, "%2x", &byte) == 1; text += 2)
    bytes[count++] = (uint8_t)byte;
  return count;
}

/* What fuzzing has kept of a target; the inputs are lines of a file. */
static uint32_t read_corpus(const struct target *target, struct input inputs[MOST_KEPT]) {
  char line[2 * LENGTH + 2], path[512];
  snprintf(path, sizeof(path), TESTS "/%s/fuzz_corpus.txt", target->name);
  FILE *file = fopen(path, "r");
  FUZZ_CHECK(file != NULL);
  uint32_t count = 0;
  for (; count < MOST_KEPT && fgets(line, sizeof(line), file) != NULL; count++)
    inputs[count].length = read_bytes(line, inputs[count].bytes);
  fclose(file);
  return count;
}

/* Operators and ways in turn; all else by chance. */
static struct input random_input(const struct target *target, uint32_t number) {
  const uint32_t operators = count_operators(target->operators);
  struct fuzz_input random = {.random = number * UINT64_C(0x9e3779b97f4a7c15)};
  struct input input = {.length = LENGTH};
  for (int i = 0; i < LENGTH; i++) input.bytes[i] = (uint8_t)fuzz_random(&random);
  input.bytes[FUZZ_OPERATOR_BYTE] = (uint8_t)(number % operators);
  input.bytes[FUZZ_WAY_BYTE] = (uint8_t)(number / operators);
  return input;
}

/* On every instruction set. */
static void run_input(const struct target *target, uint32_t number, struct input input) {
  const char *isas[8];
  const uint32_t sets = list_isas(isas);
  if (input.length <= FUZZ_ISA_BYTE) input.length = FUZZ_ISA_BYTE + 1;
  for (uint32_t isa = 0; isa < sets; isa++) {
    input.bytes[FUZZ_ISA_BYTE] = (uint8_t)isa;
    fuzz_flags_count = has_true_flags(isas[isa]);
    const char *name = *isas[isa] != '\0' ? isas[isa] : "as chosen";
    snprintf(current, sizeof(current), "%s %u (%s)\n", target->name, number, name);
    fuzz_one(target->operators, input.bytes, input.length);
  }
}

/* Input `only`, or all. */
static void run_target(const struct target *target, const char *only) {
  static struct input kept[MOST_KEPT];
  const uint32_t first = only != NULL ? (uint32_t)strtoul(only, NULL, 10) : 0;
  const uint32_t most = read_corpus(target, kept);
  const uint32_t all = most + ROUNDS * count_operators(target->operators);
  const uint32_t end = only != NULL ? first + 1 : all;
  const long before = fuzz_computed;
  for (uint32_t number = first; number < end; number++) {
    run_input(target, number, number < most ? kept[number] : random_input(target, number - most));
  }
  printf("%-16s %u inputs, %ld calls\n", target->name, end - first, fuzz_computed - before);
}

int main(int count, char **arguments) {
  watch();
  const char *name = count > 1 ? arguments[1] : NULL, *number = count > 2 ? arguments[2] : NULL;
  int found = 0;
  for (const struct target *target = targets; target->name != NULL; target++) {
    if (name != NULL && strcmp(name, target->name) != 0) continue;
    found++;
    run_target(target, number);
  }
  const char *untaken = number == NULL ? fuzz_untaken_way() : NULL;
  if (untaken != NULL) fprintf(stderr, "no call was computed by %s\n", untaken);
  return found > 0 && untaken == NULL ? 0 : 1;
}

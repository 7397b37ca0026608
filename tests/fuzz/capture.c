/* SPDX-License-Identifier: Apache-2.0 */
/* Some calls are captured as test cases (MLUOP_GEN_CASE): what is written is read here, word by
   word, and must be that call, and nothing else. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/gen_case.h"
#include "core/half.h"
#include "fuzz.h"

enum { MOST_WORD = 256, MOST_PATH = 4096 };

struct mluop_case_settings fuzz_case_settings;

static char directory[MOST_PATH];
static int mode;   /* 0: this call is not captured */
static char *text; /* of the case: what was printed, or its file */
static char path[MOST_PATH];
static int cases;
static bool failed;              /* so that it has no results to write */
static mluOpCpuLogLevel_t level; /* before */
static const char *at;           /* in the text */

/* ------------------------------------------------------------------------------ capturing */

/* The same name in every run, so that the same seed makes the same inputs. */
static void set_directory(void) {
  const char *temporary = getenv("TMPDIR");
  snprintf(directory, sizeof(directory), "%s/fuzz_{pid}", temporary != NULL ? temporary : "/tmp");
  FUZZ_CHECK(mluOpSetGenCaseDirectory(directory) == MLUOP_STATUS_SUCCESS);
}

void fuzz_begin_capture(uint32_t choices) {
  if (directory[0] == '\0') set_directory();
  mode = 1 + (int)(choices % 4);
  mode = mode == 4 ? MLUOP_CASE_DATA : mode;
  fuzz_case_settings = (struct mluop_case_settings){
      .inputs = choices >> 8 & 1 ? MLUOP_VALUES_DECIMAL : MLUOP_VALUES_BITS,
      .outputs = (enum mluop_case_values)((choices >> 16) % 3),
      .raw = (choices >> 24) % 4 == 3};
  cases = 0;
  fuzz_rule_failed = false;
  level = mluOpCpuGetLogLevel();
  mluOpCpuSetLogLevel(MLUOP_CPU_LOG_INFO); /* the log says where a file is */
  mluOpSetGenCaseMode(mode);
}

void fuzz_logged(const char *message) {
  static const char made[] = "[gen_case] Generate ", printed[] = "[gen_case] [tid ";
  if (strncmp(message, "[gen_case] ", 11) != 0) return;
  FUZZ_CHECK(mode != 0);
  cases++;
  if (strncmp(message, made, sizeof(made) - 1) == 0) {
    snprintf(path, sizeof(path), "%s", message + sizeof(made) - 1);
  } else {
    FUZZ_CHECK(mode == MLUOP_CASE_PRINT && strncmp(message, printed, sizeof(printed) - 1) == 0);
    text = strdup(strchr(message + sizeof(printed), ']') + 1);
  }
}

static char *contents(const char *name, size_t *size) {
  FILE *file = fopen(name, "rb");
  FUZZ_CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  char *read = malloc(*size + 1);
  rewind(file);
  FUZZ_CHECK(read != NULL && fread(read, 1, *size, file) == *size);
  read[*size] = '\0';
  fclose(file);
  FUZZ_CHECK(unlink(name) == 0);
  return read;
}

/* --------------------------------------------------------------------------------- words */

/* The next word, all of them apart by spaces; false at the end. */
static bool next(char *word) {
  at += strspn(at, " \n");
  const size_t length = strcspn(at, " \n");
  FUZZ_CHECK(length < MOST_WORD);
  memcpy(word, at, length);
  word[length] = '\0';
  at += length;
  return length > 0;
}

static bool follows(const char *expected) {
  const char *before = at;
  char word[MOST_WORD];
  if (next(word) && strcmp(word, expected) == 0) return true;
  at = before;
  return false;
}

static void expect(const char *expected) { FUZZ_CHECK(follows(expected)); }

static void unquote(char *word) {
  const size_t length = strlen(word);
  FUZZ_CHECK(length >= 2 && word[0] == '"' && word[length - 1] == '"');
  memmove(word, word + 1, length - 2);
  word[length - 2] = '\0';
}

/* ------------------------------------------------------------------------------- tensors */

struct header {
  bool output;
  int rank, strides_given;
  int64_t dims[MLUOP_DIM_MAX], strides[MLUOP_DIM_MAX];
  char layout[MOST_WORD], dtype[MOST_WORD];
};

static struct header read_header(bool output) {
  struct header h = {.output = output};
  char word[MOST_WORD];
  expect("{");
  expect("id:");
  FUZZ_CHECK(next(word));
  unquote(word);
  expect("shape");
  expect("{");
  while (follows("dims:") && h.rank < MLUOP_DIM_MAX && next(word))
    h.dims[h.rank++] = strtoll(word, NULL, 10);
  while (follows("dim_stride:") && h.strides_given < MLUOP_DIM_MAX && next(word))
    h.strides[h.strides_given++] = strtoll(word, NULL, 10);
  expect("}");
  expect("layout:");
  FUZZ_CHECK(next(h.layout));
  expect("dtype:");
  FUZZ_CHECK(next(h.dtype));
  return h;
}

/* No operator takes tensors with gaps, so that strides are not written. */
static bool has_header(const struct fuzz_tensor *t, const struct header *h) {
  static const char *const layouts[] = {"NCHW", "NHWC", "HWCN", "NDHWC", "ARRAY", "NCDHW",
                                        "TNC",  "NTC",  "NC",   "NLC",   "NCL"};
  static const char *const dtypes[] = {"INVALID", "HALF",  "FLOAT", "INT8",  "INT16", "INT31",
                                       "INT32",   "UINT8", "BOOL",  "INT64", "",      "UINT32"};
  if (t->dtype > MLUOP_DTYPE_UINT32) return false;
  if (h->output != (t->role == FUZZ_OUTPUT) || h->rank != t->rank || h->strides_given > 0 ||
      memcmp(h->dims, t->dims, (size_t)t->rank * sizeof(*t->dims)) != 0) {
    return false;
  }
  return strcmp(h->layout + strlen("LAYOUT_"), layouts[t->layout]) == 0 &&
         strcmp(h->dtype + strlen("DTYPE_"), dtypes[t->dtype]) == 0;
}

static bool is_element(const struct fuzz_tensor *t, int64_t i, enum mluop_case_values how) {
  const bool half = t->dtype == MLUOP_DTYPE_HALF, real = half || t->dtype == MLUOP_DTYPE_FLOAT;
  char word[MOST_WORD], expected[16];
  uint32_t bits = 0;
  memcpy(&bits, (const char *)t->data + i * (half ? 2 : 4), half ? 2 : 4);
  if (!real) {
    const bool is_signed = t->dtype == MLUOP_DTYPE_INT32;
    if (!follows(is_signed ? "value_i:" : "value_ui:") || !next(word)) return false;
    return strtoll(word, NULL, 10) == (is_signed ? (int64_t)(int32_t)bits : (int64_t)bits);
  }
  if (how == MLUOP_VALUES_BITS) {
    snprintf(expected, sizeof(expected), "\"%x\"", bits);
    return follows("value_h:") && next(word) && strcmp(word, expected) == 0;
  }
  if (!follows("value_f:") || !next(word)) return false;
  const float value = half ? mluop_half_to_float((uint16_t)bits) : mluop_float_of_bits(bits);
  const float written = strtof(word, NULL);
  return value != value ? written != written : memcmp(&value, &written, sizeof(value)) == 0;
}

static bool has_values(const struct fuzz_tensor *t, enum mluop_case_values how) {
  for (int64_t i = 0; i < t->count; i++) {
    if (!is_element(t, i, how)) return false;
  }
  return true;
}

/* Those of the first tensor that has this header and these values, and is not yet `seen`; none,
   if it is a number that is written and has no descriptor. */
static uint32_t match(const struct fuzz *f, const struct header *h, enum mluop_case_values how,
                      const char *raw, size_t raw_bytes, uint32_t seen) {
  const char *begin = at;
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (seen >> i & 1 || t->absent || t->desc == NULL || !has_header(t, h)) continue;
    at = begin;
    if (raw != NULL) {
      if (raw_bytes != (size_t)t->bytes || memcmp(raw, t->data, raw_bytes) != 0) continue;
    } else if (how != MLUOP_VALUES_NONE && !has_values(t, how)) {
      continue;
    }
    if (follows("}")) return 1u << i;
  }
  return 0;
}

static uint32_t read_tensor(const struct fuzz *f, bool output, uint32_t seen) {
  char word[MOST_WORD], name[2 * MOST_PATH], *raw = NULL;
  size_t bytes = 0;
  const struct header h = read_header(output);
  enum mluop_case_values how = output ? fuzz_case_settings.outputs : fuzz_case_settings.inputs;
  if (mode != MLUOP_CASE_DATA || (output && failed)) how = MLUOP_VALUES_NONE;
  if (how == MLUOP_VALUES_NONE && !output) {
    expect("random_data");
    expect("{");
    while (!follows("}")) FUZZ_CHECK(next(word));
  } else if (how != MLUOP_VALUES_NONE && fuzz_case_settings.raw) {
    expect("path:");
    FUZZ_CHECK(next(word));
    unquote(word);
    snprintf(name, sizeof(name), "%.*s/%s", (int)(strrchr(path, '/') - path), path, word);
    raw = contents(name, &bytes);
  }
  const uint32_t found = match(f, &h, how, raw, bytes, seen);
  free(raw);
  if (found == 0) {
    FUZZ_CHECK(h.output && h.rank == 1 && h.dims[0] == 1);
    while (!follows("}")) FUZZ_CHECK(next(word));
  }
  return found;
}

/* ---------------------------------------------------------------------------------- cases */

/* Each number is one of the call, or what is always the same: 4 dims, 1 for true. */
static void read_number(const struct fuzz *f) {
  char word[MOST_WORD];
  FUZZ_CHECK(next(word));
  char *end;
  const float value = strtof(word, &end);
  bool found = *end == '\0' && (value == 1 || value == 4);
  for (int i = 0; i < f->p_count; i++) {
    const long number = strtol(word, &end, 10);
    found |= *end == '\0' && number == f->p[i];
  }
  for (int i = 0; i < f->r_count; i++) {
    found |= value == f->r[i] || (value != value && f->r[i] != f->r[i]);
  }
  FUZZ_CHECK(found);
}

static void read_block(const struct fuzz *f) {
  char word[MOST_WORD];
  expect("{");
  while (!follows("}")) {
    FUZZ_CHECK(next(word) && word[strlen(word) - 1] == ':');
    read_number(f);
  }
}

static void read_case(const struct fuzz *f) {
  char word[MOST_WORD];
  uint32_t seen = 0;
  bool handle = false;
  expect("op_name:");
  FUZZ_CHECK(next(word));
  unquote(word);
  while (next(word)) {
    if (strcmp(word, "input") == 0 || strcmp(word, "output") == 0) {
      FUZZ_CHECK(handle);
      seen |= read_tensor(f, word[0] == 'o', seen);
    } else if (strcmp(word, "handle_param") == 0) {
      expect("{");
      expect("round_mode:");
      expect("ROUND_TO_EVEN");
      expect("}");
      handle = true;
    } else {
      FUZZ_CHECK(!handle);
      read_block(f);
    }
  }
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    FUZZ_CHECK(t->absent || t->ignored || t->desc == NULL || (seen >> i & 1));
  }
}

void fuzz_end_capture(const struct fuzz *f, mluOpStatus_t status, bool empty) {
  size_t size;
  mluOpSetGenCaseMode(MLUOP_CASE_OFF);
  mluOpCpuSetLogLevel(level);
  failed = status != MLUOP_STATUS_SUCCESS;
  FUZZ_CHECK(cases <= 1 && !(cases == 1 && fuzz_rule_failed));
  if (!failed && !empty) FUZZ_CHECK(cases == 1);
  if (cases == 1) {
    if (mode != MLUOP_CASE_PRINT) text = contents(path, &size);
    at = text;
    read_case(f);
    free(text);
    text = NULL;
  }
  mode = 0;
}

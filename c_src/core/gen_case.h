/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_GEN_CASE_H_
#define MLUOP_CORE_GEN_CASE_H_

/* What the files of the capture share: gen_case.c decides what is captured, gen_case_file.c makes
   its files, and gen_case_text.c writes them. contract.h has what operators see of it. */

#include <stdio.h>

#include "core/contract.h"

enum mluop_case_mode {
  MLUOP_CASE_UNREAD = -1, /* the environment has not been asked yet */
  MLUOP_CASE_OFF,
  MLUOP_CASE_SHAPES,
  MLUOP_CASE_DATA,
  MLUOP_CASE_PRINT
};

/* How the values of a tensor are written. */
enum mluop_case_values {
  MLUOP_VALUES_NONE,    /* inputs: as random numbers; outputs: not at all */
  MLUOP_VALUES_DECIMAL, /* readable, without the payloads of NaN */
  MLUOP_VALUES_BITS     /* exact */
};

struct mluop_case_settings {
  enum mluop_case_values inputs, outputs;
  bool raw; /* in files of their own */
};

enum { MLUOP_DIRECTORY_SIZE = 1024 };

/* gen_case.c */
void mluop_copy_case_directory(char *to);

/* gen_case_file.c: what goes wrong is logged. */
void mluop_begin_case_file(struct mluop_call *call, bool data,
                           const struct mluop_case_settings *settings);
void mluop_end_case_file(const struct mluop_call *call, const struct mluop_case_settings *settings);
void mluop_print_case(const struct mluop_call *call);

/* gen_case_text.c */

/* A case that is being written. */
struct mluop_case_file {
  FILE *file;
  const char *path; /* of the file, for those with raw data beside it; NULL: there are none */
  enum mluop_case_values inputs, outputs;
};

/* Everything but the outputs, which stand at the end. */
void mluop_write_case(const struct mluop_case_file *to, const struct mluop_call *call);

/* False if a file with raw data cannot be written; errors of the case's own file stay in it. */
bool mluop_write_case_tensors(const struct mluop_case_file *to, const struct mluop_call *call,
                              bool outputs);

/* The length of the operator's name, with which the description of its case begins. */
static inline size_t mluop_case_name_length(const struct mluop_call *call) {
  size_t length = 0;
  while (call->gen_case[length] != ' ' && call->gen_case[length] != '\0') length++;
  return length;
}

#endif /* MLUOP_CORE_GEN_CASE_H_ */

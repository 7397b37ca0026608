/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_FUZZ_INPUT_H_
#define MLUOP_TESTS_FUZZ_INPUT_H_

/* The bytes that a fuzzer has made up, read as choices. Behind their end all are 0, and 0 is the
   simplest choice everywhere: short inputs are simple calls. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_input {
  const uint8_t *at;
  size_t left;
  uint64_t random; /* the state of a generator, for what is too much for the input itself */
};

struct fuzz_input fuzz_input_of(const uint8_t *data, size_t size);

uint32_t fuzz_byte(struct fuzz_input *in);
uint32_t fuzz_word(struct fuzz_input *in); /* 32 bits */

/* One of `low` to `high`. */
int fuzz_range(struct fuzz_input *in, int low, int high);

/* A size from 1 to `most`, often at the edge of a vector or a block; seldom 0. */
int fuzz_extent(struct fuzz_input *in, int most);

/* The same, but no more than there is room for; *room is divided by it. */
int fuzz_take(struct fuzz_input *in, int most, int64_t *room);

/* An int: small, or at the ends of its range. */
int fuzz_int(struct fuzz_input *in);

/* A float: often 1, also 0, negative, tiny, huge, infinite or NaN. */
float fuzz_float(struct fuzz_input *in);

/* From the generator, which the first call of fuzz_seed starts: 32 bits, an integer, and a number
   in [low, high). */
void fuzz_seed(struct fuzz_input *in);
uint32_t fuzz_random(struct fuzz_input *in);
int fuzz_random_int(struct fuzz_input *in, int low, int high);
float fuzz_random_float(struct fuzz_input *in, float low, float high);

/* A finding: says what does not hold, and ends the process so that the fuzzer keeps the input. */
void fuzz_fail(const char *text, const char *file, int line) __attribute__((noreturn));

#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))

/* Called by fuzz_fail: says which call it was. Set by targets. */
extern void (*fuzz_describe)(void);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* MLUOP_TESTS_FUZZ_INPUT_H_ */

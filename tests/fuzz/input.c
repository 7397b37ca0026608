/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

void (*fuzz_describe)(void);

struct fuzz_input fuzz_input_of(const uint8_t *data, size_t size) {
  return (struct fuzz_input){.at = data, .left = size, .random = 1};
}

uint32_t fuzz_byte(struct fuzz_input *in) {
  if (in->left == 0) return 0;
  in->left--;
  return *in->at++;
}

uint32_t fuzz_word(struct fuzz_input *in) {
  uint32_t word = 0;
  for (int i = 0; i < 4; i++) word = word << 8 | fuzz_byte(in);
  return word;
}

int fuzz_range(struct fuzz_input *in, int low, int high) {
  const uint32_t count = (uint32_t)(high - low) + 1;
  const uint32_t bits = count <= 256 ? fuzz_byte(in) : fuzz_byte(in) << 8 | fuzz_byte(in);
  return low + (int)(bits % count);
}

int fuzz_extent(struct fuzz_input *in, int most) {
  static const int edges[] = {1,   2,    3,    4,    5,    7,    8,    9,     11,   13,  15,
                              16,  17,   19,   23,   31,   32,   33,   47,    48,   63,  64,
                              65,  96,   100,  127,  128,  129,  255,  256,   257,  300, 511,
                              513, 1000, 1024, 2047, 2049, 4095, 4096, 10007, 65537};
  const uint32_t choice = fuzz_byte(in);
  if (choice == 255) return 0;
  uint32_t fitting = 0;
  while (fitting < (uint32_t)COUNT(edges) && edges[fitting] <= most) fitting++;
  return edges[choice % fitting];
}

int fuzz_take(struct fuzz_input *in, int most, int64_t *room) {
  const int extent = fuzz_extent(in, *room < 1 ? 1 : *room < most ? (int)*room : most);
  if (extent > 0) *room /= extent;
  return extent;
}

int fuzz_int(struct fuzz_input *in) {
  static const int edges[] = {0,       -1,    INT_MAX, INT_MIN, INT_MAX - 1, 1 << 16,
                              1 << 30, -1000, 46341,   65535,   -(1 << 30)};
  const uint32_t choice = fuzz_byte(in);
  if (choice < (uint32_t)COUNT(edges)) return edges[choice];
  return choice < 128 ? (int)choice - COUNT(edges) : (int)fuzz_word(in);
}

float fuzz_float(struct fuzz_input *in) {
  static const float edges[] = {
      1,     0.5f,        0.25f,         0.0625f, 2,        0.1f,      0,        -1,
      1e-3f, 4,           1e-40f,        1e10f,   -1e10f,   3.4e38f,   -3.4e38f, -0.0f,
      0.3f,  16777216.0f, 2147483648.0f, 1e-30f,  INFINITY, -INFINITY, NAN,      7};
  return edges[fuzz_byte(in) % (uint32_t)COUNT(edges)];
}

void fuzz_seed(struct fuzz_input *in) {
  in->random = (fuzz_byte(in) << 8 | fuzz_byte(in)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

uint32_t fuzz_random(struct fuzz_input *in) {
  in->random = in->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(in->random >> 32);
}

int fuzz_random_int(struct fuzz_input *in, int low, int high) {
  return low + (int)(fuzz_random(in) % ((uint32_t)(high - low) + 1));
}

float fuzz_random_float(struct fuzz_input *in, float low, float high) {
  return low + (high - low) * (float)(fuzz_random(in) >> 8) / 16777216.0f;
}

void fuzz_fail(const char *text, const char *file, int line) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
  if (fuzz_describe != NULL) fuzz_describe();
  abort();
}

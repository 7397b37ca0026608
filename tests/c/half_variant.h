/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_HALF_VARIANT_H_
#define MLUOP_TESTS_HALF_VARIANT_H_

#include <stdint.h>

/* Loads and stores of one instruction set, each for `width` elements or the first n of them. */
struct half_variant {
  int width;
  void (*load)(const uint16_t *from, float *to);
  void (*store)(const float *from, uint16_t *to);
  void (*load_part)(const uint16_t *from, float *to, int64_t n);
  void (*store_part)(const float *from, uint16_t *to, int64_t n);
  void (*load_floats)(const float *from, float *to, int64_t n);
  void (*store_floats)(const float *from, float *to, int64_t n);
};

enum { HALF_MAX_WIDTH = 16 };

#endif /* MLUOP_TESTS_HALF_VARIANT_H_ */

// SPDX-License-Identifier: Apache-2.0
#ifndef MLUOP_TESTS_PLAIN_H_
#define MLUOP_TESTS_PLAIN_H_

/**
 * The formulas of the operators as plain loops over float32, one thread: what a compiler makes of
 * them is the least that the kernels must beat. As a library they stand in for it in bench.py,
 *
 *     cmake --preset dev && cmake --build --preset dev
 *     python benchmarks/bench.py --library build/dev/tests/c/libplain_loops.so \
 *         --library build/dev/libmluops.so --only forward --isa baseline --threads 1
 *
 * and the C tests compare the kernels of every instruction set with them. The operators defined
 * here take the place of the library's, whose other functions they use. Nothing is checked.
 */
#include <stdint.h>
#include <string.h>

#include "mlu_op.h"

typedef struct {
  int64_t n, h, w, c;
} shape_t;

static inline shape_t shape_of(mluOpTensorDescriptor_t desc) {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int dims = 0;
  int64_t size[8] = {0};
  mluOpGetTensorDescriptor_v2(desc, &layout, &dtype, &dims, size);
  const shape_t shape = {size[0], size[1], size[2], size[3]};
  return shape;
}

static inline float *zeros(const void *data, shape_t shape) {
  float *target = (float *)(uintptr_t)data;
  memset(target, 0, sizeof(float) * (size_t)(shape.n * shape.h * shape.w * shape.c));
  return target;
}

static inline float dot(const float *restrict a, const float *restrict b, int64_t count) {
  float sum = 0;
  for (int64_t c = 0; c < count; c++) sum += a[c] * b[c];
  return sum;
}

static inline void add_scaled(float *restrict target, float weight, const float *restrict source,
                              int64_t count) {
  for (int64_t c = 0; c < count; c++) target[c] += weight * source[c];
}

/** The four pixels of a sample: their offsets in an image of interleaved channels, their weights,
 * and their rows and columns. */
typedef struct {
  int64_t at[4];
  float weight[4];
  float row[2], column[2];
} corners_t;

static inline int corners_of(shape_t map, float y, float x, corners_t *corners) {
  if (!(y >= -1 && y <= (float)map.h && x >= -1 && x <= (float)map.w)) return 0;
  y = y > 0 ? y : 0;
  x = x > 0 ? x : 0;
  int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= map.h - 1) y = (float)(y0 = y1 = map.h - 1);
  if (x0 >= map.w - 1) x = (float)(x0 = x1 = map.w - 1);
  const float ly = y - (float)y0, lx = x - (float)x0;
  const corners_t found = {{(y0 * map.w + x0) * map.c, (y0 * map.w + x1) * map.c,
                            (y1 * map.w + x0) * map.c, (y1 * map.w + x1) * map.c},
                           {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx},
                           {(float)y0, (float)y1},
                           {(float)x0, (float)x1}};
  *corners = found;
  return 1;
}

#endif  // MLUOP_TESTS_PLAIN_H_

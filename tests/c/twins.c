/* SPDX-License-Identifier: Apache-2.0 */
#include "twins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "mlu_op_cpu.h"

static uint32_t random_bits(void) {
  static uint64_t state = 20240229u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

int random_int(int low, int high) {
  return low + (int)(random_bits() % (uint32_t)(high - low + 1));
}

double random_real(double low, double high) {
  return low + (high - low) * (double)(random_bits() >> 7) / 16777216.0;
}

int random_channels(void) {
  static const int edges[] = {1, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 300};
  return edges[random_int(0, (int)(sizeof(edges) / sizeof(edges[0])) - 1)];
}

static mluOpTensorDescriptor_t describe(mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                        const int dims[4]) {
  int rank = 0;
  while (rank < 4 && dims[rank] > 0) rank++;
  mluOpTensorDescriptor_t desc = NULL;
  if (mluOpCreateTensorDescriptor(&desc) != MLUOP_STATUS_SUCCESS ||
      mluOpSetTensorDescriptor(desc, layout, dtype, rank, dims) != MLUOP_STATUS_SUCCESS) {
    fprintf(stderr, "no descriptor: %s\n", mluOpCpuGetLastErrorMessage());
    exit(1);
  }
  return desc;
}

static void *allocate(int64_t count, size_t size) {
  void *data = malloc((size_t)count * size);
  if (data == NULL) {
    fputs("out of memory\n", stderr);
    exit(1);
  }
  return data;
}

static struct twin make(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const int dims[4]) {
  const int half = dtype == MLUOP_DTYPE_HALF;
  struct twin twin = {.dtype = dtype};
  twin.desc = describe(layout, dtype, dims);
  twin.plain_desc = describe(layout, half ? MLUOP_DTYPE_FLOAT : dtype, dims);
  twin.count = (int64_t)mluOpGetTensorElementNum(twin.desc);
  twin.data = allocate(twin.count, half ? 2 : 4);
  twin.plain = allocate(twin.count, 4);
  return twin;
}

struct twin twin_new(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const int dims[4]) {
  struct twin twin = make(layout, dtype, dims);
  const int integers = dtype == MLUOP_DTYPE_INT32;
  for (int64_t i = 0; i < twin.count; i++) twin_set(&twin, i, integers ? 0 : random_real(-1, 1));
  return twin;
}

struct twin twin_output(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const int dims[4]) {
  struct twin twin = make(layout, dtype, dims);
  for (int64_t i = 0; i < twin.count; i++) {
    twin_set(&twin, i, 1000);
    if (dtype == MLUOP_DTYPE_INT32) continue;
    ((float *)twin.plain)[i] = -1000;
  }
  return twin;
}

void twin_free(struct twin *twin) {
  mluOpDestroyTensorDescriptor(twin->desc);
  mluOpDestroyTensorDescriptor(twin->plain_desc);
  free(twin->data);
  free(twin->plain);
}

void twin_set(struct twin *twin, int64_t i, double value) {
  if (twin->dtype == MLUOP_DTYPE_INT32) {
    ((int32_t *)twin->data)[i] = ((int32_t *)twin->plain)[i] = (int32_t)value;
  } else if (twin->dtype == MLUOP_DTYPE_HALF) {
    const uint16_t half = mluop_float_to_half((float)value);
    ((uint16_t *)twin->data)[i] = half;
    ((float *)twin->plain)[i] = mluop_half_to_float(half);
  } else {
    ((float *)twin->data)[i] = ((float *)twin->plain)[i] = (float)value;
  }
}

static double ours_at(const struct twin *twin, int64_t i) {
  if (twin->dtype == MLUOP_DTYPE_HALF) return mluop_half_to_float(((uint16_t *)twin->data)[i]);
  return ((float *)twin->data)[i];
}

int twin_same(const struct twin *twin) {
  if (twin->dtype != MLUOP_DTYPE_HALF)
    return memcmp(twin->data, twin->plain, (size_t)twin->count * 4) == 0;
  for (int64_t i = 0; i < twin->count; i++) {
    if (((uint16_t *)twin->data)[i] != mluop_float_to_half(((float *)twin->plain)[i])) return 0;
  }
  return 1;
}

int twin_near(const struct twin *twin, double limit) {
  double difference = 0, size = 0, squares = 0, size_squares = 0;
  for (int64_t i = 0; i < twin->count; i++) {
    const double expected = ((float *)twin->plain)[i], delta = ours_at(twin, i) - expected;
    difference += fabs(delta);
    size += fabs(expected);
    squares += delta * delta;
    size_squares += expected * expected;
  }
  /* Where values of the order of 1 cancel out, the loops' own rounding is all that is left. */
  const double noise = 1e-7, count = (double)twin->count;
  return difference <= limit * size + noise * count &&
         sqrt(squares) <= limit * sqrt(size_squares) + noise * sqrt(count);
}

int twin_close(const struct twin *twin) {
  return twin_near(twin, twin->dtype == MLUOP_DTYPE_HALF ? 3e-3 : 1e-5);
}

struct twin twin_nhwc(mluOpDataType_t dtype, int n, int h, int w, int c) {
  const int dims[] = {n, h, w, c};
  return twin_new(MLUOP_LAYOUT_NHWC, dtype, dims);
}

struct twin twin_nhwc_output(mluOpDataType_t dtype, int n, int h, int w, int c) {
  const int dims[] = {n, h, w, c};
  return twin_output(MLUOP_LAYOUT_NHWC, dtype, dims);
}

struct twin twin_array(mluOpDataType_t dtype, int a, int b, int c, int d) {
  const int dims[] = {a, b, c, d};
  return twin_new(MLUOP_LAYOUT_ARRAY, dtype, dims);
}

void twins_free(struct twin *const *twins, int count) {
  for (int i = 0; i < count; i++) twin_free(twins[i]);
}

void twin_set_boxes(struct twin *boxes, int row, int images, int h, int w) {
  for (int64_t i = 0; i < boxes->count; i++) {
    const int64_t column = i % row - (row - 4);
    const int extent = column % 2 == 0 ? w : h;
    const double at = random_real(-0.3 * extent, 1.3 * extent);
    twin_set(boxes, i, column < 0 ? random_int(0, images - 1) : at);
  }
}

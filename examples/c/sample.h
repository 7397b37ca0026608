/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLE_H_
#define SAMPLE_H_

/* What the examples share: checked calls, descriptors, copies to the device and back. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cnrt.h"
#include "mlu_op.h"

#define MLUOP_CHECK(...)                                                                \
  do {                                                                                  \
    const mluOpStatus_t status_ = (__VA_ARGS__);                                        \
    if (status_ != MLUOP_STATUS_SUCCESS) {                                              \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, mluOpGetErrorString(status_)); \
      exit(EXIT_FAILURE);                                                               \
    }                                                                                   \
  } while (0)

static inline void init_device(cnrtQueue_t *queue, mluOpHandle_t *handle) {
  int device = 0;
  CNRT_CHECK(cnrtGetDevice(&device));
  CNRT_CHECK(cnrtSetDevice(device));
  CNRT_CHECK(cnrtQueueCreate(queue));
  MLUOP_CHECK(mluOpCreate(handle));
  MLUOP_CHECK(mluOpSetQueue(*handle, *queue));
}

static inline void release_device(cnrtQueue_t queue, mluOpHandle_t handle) {
  CNRT_CHECK(cnrtQueueDestroy(queue));
  MLUOP_CHECK(mluOpDestroy(handle));
}

static inline mluOpTensorDescriptor_t make_desc(mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                                int dim_nb, const int *dims) {
  mluOpTensorDescriptor_t desc;
  MLUOP_CHECK(mluOpCreateTensorDescriptor(&desc));
  MLUOP_CHECK(mluOpSetTensorDescriptor(desc, layout, dtype, dim_nb, dims));
  return desc;
}

static inline void *device_alloc(size_t bytes) {
  void *device = NULL;
  CNRT_CHECK(cnrtMalloc(&device, bytes));
  return device;
}

static inline void *to_device(const void *host, size_t bytes) {
  void *device = device_alloc(bytes);
  CNRT_CHECK(cnrtMemcpy(device, host, bytes, CNRT_MEM_TRANS_DIR_HOST2DEV));
  return device;
}

static inline void to_host(void *host, const void *device, size_t bytes) {
  CNRT_CHECK(cnrtMemcpy(host, device, bytes, CNRT_MEM_TRANS_DIR_DEV2HOST));
}

/* Ends the program unless a result is right. */
static inline void expect(int right, const char *what) {
  if (!right) {
    fprintf(stderr, "wrong: %s\n", what);
    exit(EXIT_FAILURE);
  }
}

static inline void print_plane(const char *title, const float *values, int rows, int columns,
                               int step) {
  printf("%s\n", title);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) printf(" %5g", (double)values[(i * columns + j) * step]);
    printf("\n");
  }
}

#endif /* SAMPLE_H_ */

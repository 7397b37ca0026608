/* SPDX-License-Identifier: Apache-2.0 */
/* The least program that links the libraries and runs a kernel. */
#include <mlu_op.h>
#include <mlu_op_cpu.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const int dims_x[] = {1, 2, 3, 1}, dims_y[] = {1, 3, 1, 2};
  const float x[] = {0, 1, 2, 3, 4, 5}, expected[] = {0, 3, 1, 4, 2, 5};
  float y[6] = {0};
  void *y_dev = NULL;
  mluOpHandle_t handle;
  mluOpTensorDescriptor_t x_desc, y_desc;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return 1;
  if (mluOpCreateTensorDescriptor(&x_desc) != MLUOP_STATUS_SUCCESS) return 1;
  if (mluOpCreateTensorDescriptor(&y_desc) != MLUOP_STATUS_SUCCESS) return 1;
  mluOpSetTensorDescriptor(x_desc, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, 4, dims_x);
  mluOpSetTensorDescriptor(y_desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims_y);
  CNRT_CHECK(cnrtMalloc(&y_dev, sizeof(y)));
  const mluOpStatus_t status = mluOpCpuConvertLayout(handle, x_desc, x, y_desc, y_dev);
  CNRT_CHECK(cnrtMemcpy(y, y_dev, sizeof(y), CNRT_MEM_TRANS_DIR_DEV2HOST));
  CNRT_CHECK(cnrtFree(y_dev));
  printf("mluops %s, %s: %s\n", mluOpCpuGetVersion(), mluOpCpuGetIsaName(handle),
         mluOpGetErrorString(status));
  mluOpDestroyTensorDescriptor(x_desc);
  mluOpDestroyTensorDescriptor(y_desc);
  mluOpDestroy(handle);
  return memcmp(y, expected, sizeof(y)) == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The least program that links the libraries and runs a kernel. */
#include <mlu_op.h>
#include <mlu_op_cpu.h>
#include <stdio.h>

int main(void) {
  const int dims[] = {1, 1, 1, 1};
  const float x = 42.0f;
  float y = 0.0f;
  void *y_dev = NULL;
  mluOpHandle_t handle;
  mluOpTensorDescriptor_t desc;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return 1;
  if (mluOpCreateTensorDescriptor(&desc) != MLUOP_STATUS_SUCCESS) return 1;
  mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims);
  CNRT_CHECK(cnrtMalloc(&y_dev, sizeof(y)));
  const mluOpStatus_t status = mluOpPsamaskForward(handle, 0, desc, &x, 1, 1, desc, y_dev);
  CNRT_CHECK(cnrtMemcpy(&y, y_dev, sizeof(y), CNRT_MEM_TRANS_DIR_DEV2HOST));
  CNRT_CHECK(cnrtFree(y_dev));
  printf("mluops %s, %s: %s, y = %g\n", mluOpCpuGetVersion(), mluOpCpuGetIsaName(handle),
         mluOpGetErrorString(status), (double)y);
  mluOpDestroyTensorDescriptor(desc);
  mluOpDestroy(handle);
  return y == x ? 0 : 1;
}

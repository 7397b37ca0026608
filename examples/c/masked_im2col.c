/* SPDX-License-Identifier: Apache-2.0 */
/* Masked im2col: the windows of 3 x 3 around some pixels of a map, as the columns of a matrix. A
   convolution at these pixels alone is then the product with that matrix.
   Among what it prints: "    21    33    40" */
#include "sample.h"

enum { C = 2, H = 4, W = 5, KERNEL = 3, PAD = 1, POINTS = 3, ROWS = C * KERNEL * KERNEL };

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  float feature[C * H * W], columns[ROWS * POINTS];
  const int mask_h[POINTS] = {0, 2, 3}, mask_w[POINTS] = {0, 2, 4};
  for (int i = 0; i < C * H * W; i++) feature[i] = (float)(i + 1);

  const int feature_dims[] = {1, C, H, W}, index_dims[] = {POINTS}, col_dims[] = {ROWS, POINTS};
  mluOpTensorDescriptor_t feature_desc =
      make_desc(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, 4, feature_dims);
  mluOpTensorDescriptor_t index_desc =
      make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 1, index_dims);
  mluOpTensorDescriptor_t col_desc = make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, col_dims);
  void *feature_dev = to_device(feature, sizeof(feature));
  void *mask_h_dev = to_device(mask_h, sizeof(mask_h));
  void *mask_w_dev = to_device(mask_w, sizeof(mask_w));
  void *columns_dev = device_alloc(sizeof(columns));

  size_t workspace_size = 0;
  MLUOP_CHECK(mluOpGetMaskedIm2colForwardWorkspaceSize(handle, feature_desc, index_desc, index_desc,
                                                       KERNEL, KERNEL, col_desc, &workspace_size));
  void *workspace = device_alloc(workspace_size);
  MLUOP_CHECK(mluOpMaskedIm2colForward(handle, feature_desc, feature_dev, index_desc, mask_h_dev,
                                       index_desc, mask_w_dev, KERNEL, KERNEL, PAD, PAD, workspace,
                                       workspace_size, col_desc, columns_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(columns, columns_dev, sizeof(columns));
  print_plane("masked_im2col: a column for each point", columns, ROWS, POINTS, 1);

  for (int row = 0; row < ROWS; row++) {
    for (int m = 0; m < POINTS; m++) {
      const int h = mask_h[m] - PAD + row / KERNEL % KERNEL;
      const int w = mask_w[m] - PAD + row % KERNEL;
      const int inside = h >= 0 && h < H && w >= 0 && w < W;
      const int c = row / (KERNEL * KERNEL);
      const float expected = inside ? feature[(c * H + h) * W + w] : 0.0f;
      expect(columns[row * POINTS + m] == expected, "the columns");
    }
  }

  CNRT_CHECK(cnrtFree(feature_dev));
  CNRT_CHECK(cnrtFree(mask_h_dev));
  CNRT_CHECK(cnrtFree(mask_w_dev));
  CNRT_CHECK(cnrtFree(columns_dev));
  CNRT_CHECK(cnrtFree(workspace));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(feature_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(index_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(col_desc));
  release_device(queue, handle);
  printf("masked_im2col: ok\n");
  return 0;
}

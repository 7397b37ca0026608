/* SPDX-License-Identifier: Apache-2.0 */
/* Masked col2im: results that were computed at some pixels alone go back into a map.
   Among what it prints: "    30     0     0     0" */
#include "sample.h"

enum { C = 2, H = 3, W = 4, POINTS = 3 };

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  const float columns[C * POINTS] = {1, 2, 3, 10, 20, 30};
  const int mask_h[POINTS] = {0, 1, 2}, mask_w[POINTS] = {3, 1, 0};
  float image[C * H * W];

  const int col_dims[] = {C, POINTS}, index_dims[] = {POINTS}, image_dims[] = {1, C, H, W};
  mluOpTensorDescriptor_t col_desc = make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, col_dims);
  mluOpTensorDescriptor_t index_desc =
      make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 1, index_dims);
  mluOpTensorDescriptor_t image_desc =
      make_desc(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, 4, image_dims);
  void *columns_dev = to_device(columns, sizeof(columns));
  void *mask_h_dev = to_device(mask_h, sizeof(mask_h));
  void *mask_w_dev = to_device(mask_w, sizeof(mask_w));
  void *image_dev = device_alloc(sizeof(image));

  size_t workspace_size = 0;
  MLUOP_CHECK(mluOpGetMaskedCol2imForwardWorkspaceSize(handle, col_desc, index_desc, index_desc,
                                                       image_desc, &workspace_size));
  void *workspace = device_alloc(workspace_size);
  MLUOP_CHECK(mluOpMaskedCol2imForward(handle, col_desc, columns_dev, index_desc, mask_h_dev,
                                       index_desc, mask_w_dev, workspace_size, workspace,
                                       image_desc, image_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(image, image_dev, sizeof(image));
  for (int c = 0; c < C; c++) {
    print_plane("masked_col2im: a channel of the map", image + c * H * W, H, W, 1);
  }

  double sum = 0, expected = 0;
  for (int c = 0; c < C; c++) {
    for (int m = 0; m < POINTS; m++) {
      expected += columns[c * POINTS + m];
      expect(image[(c * H + mask_h[m]) * W + mask_w[m]] == columns[c * POINTS + m], "the points");
    }
  }
  for (int i = 0; i < C * H * W; i++) sum += image[i];
  expect(sum == expected, "the zeros elsewhere");

  CNRT_CHECK(cnrtFree(columns_dev));
  CNRT_CHECK(cnrtFree(mask_h_dev));
  CNRT_CHECK(cnrtFree(mask_w_dev));
  CNRT_CHECK(cnrtFree(image_dev));
  CNRT_CHECK(cnrtFree(workspace));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(col_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(index_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(image_desc));
  release_device(queue, handle);
  printf("masked_col2im: ok\n");
  return 0;
}

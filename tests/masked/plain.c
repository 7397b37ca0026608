// SPDX-License-Identifier: Apache-2.0
#include "plain.h"

mluOpStatus_t MLUOP_WIN_API mluOpMaskedIm2colForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void *feature,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void *mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void *mask_w_idx, const int kernel_h,
    const int kernel_w, const int pad_h, const int pad_w, void *workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t data_col_desc, void *data_col) {
  (void)handle, (void)mask_h_idx_desc, (void)mask_w_idx_desc;
  (void)workspace, (void)workspace_size;
  const shape_t map = shape_of(feature_desc); /* NCHW: n, channels, height, width */
  const shape_t columns = shape_of(data_col_desc);
  const int64_t height = map.w, width = map.c, area = (int64_t)kernel_h * kernel_w;
  for (int64_t row = 0; row < columns.n; row++) {
    const int64_t channel = row / area, tap = row % area;
    for (int64_t m = 0; m < columns.h; m++) {
      const int64_t y = ((const int32_t *)mask_h_idx)[m] - (int64_t)pad_h + tap / kernel_w;
      const int64_t x = ((const int32_t *)mask_w_idx)[m] - (int64_t)pad_w + tap % kernel_w;
      const int inside = y >= 0 && y < height && x >= 0 && x < width;
      ((float *)data_col)[row * columns.h + m] =
          inside ? ((const float *)feature)[(channel * height + y) * width + x] : 0;
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpMaskedCol2imForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const void *col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void *mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void *mask_w_idx,
    const size_t workspace_size, void *workspace, const mluOpTensorDescriptor_t im_desc, void *im) {
  (void)handle, (void)mask_h_idx_desc, (void)mask_w_idx_desc;
  (void)workspace, (void)workspace_size;
  const shape_t columns = shape_of(col_desc), map = shape_of(im_desc);
  float *target = zeros(im, map);
  for (int64_t channel = 0; channel < columns.n; channel++)
    for (int64_t m = 0; m < columns.h; m++) {
      const int64_t y = ((const int32_t *)mask_h_idx)[m], x = ((const int32_t *)mask_w_idx)[m];
      target[(channel * map.w + y) * map.c + x] = ((const float *)col)[channel * columns.h + m];
    }
  return MLUOP_STATUS_SUCCESS;
}

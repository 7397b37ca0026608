// SPDX-License-Identifier: Apache-2.0
#include "plain.h"

/** The start of border b of a box, and the step from one sample to the next. */
static void border_of(const float *box, int b, int pool_size, float start[2], float step[2]) {
  const float length_x = (box[2] - box[0]) / (float)pool_size;
  const float length_y = (box[3] - box[1]) / (float)pool_size;
  const int end = b >= 2 ? 2 : 0;
  start[0] = box[end];
  start[1] = box[end + 1];
  step[0] = b == 0 ? length_x : b == 2 ? -length_x : 0;
  step[1] = b == 1 ? length_y : b == 3 ? -length_y : 0;
}

static void border_forward(shape_t map, const float *image, float x, float y, int step,
                           float *restrict best, int32_t *restrict argmax) {
  const int64_t channels = map.c / 4;
  corners_t at;
  const int inside = corners_of(map, y, x, &at);
  if (!inside) memset(&at, 0, sizeof at);
  const float *v0 = image + at.at[0], *v1 = image + at.at[1], *v2 = image + at.at[2];
  const float *v3 = image + at.at[3];
  for (int64_t c = 0; c < channels; c++) {
    float value = at.weight[0] * v0[c] + at.weight[1] * v1[c] + at.weight[2] * v2[c];
    value += at.weight[3] * v3[c];
    value = inside ? value : 0;
    const int larger = step == 0 || value > best[c];
    best[c] = larger ? value : best[c];
    argmax[c] = larger ? step : argmax[c];
  }
}

mluOpStatus_t MLUOP_WIN_API mluOpBorderAlignForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes, const int32_t pool_size,
    const mluOpTensorDescriptor_t output_desc, void *output,
    const mluOpTensorDescriptor_t argmax_idx_desc, void *argmax_idx) {
  (void)handle, (void)boxes_desc, (void)output_desc, (void)argmax_idx_desc;
  const shape_t map = shape_of(input_desc);
  const int64_t channels = map.c / 4, pixels = map.h * map.w;
  for (int64_t row = 0; row < map.n * pixels * 4; row++) {
    const int b = (int)(row % 4);
    const float *image = (const float *)input + row / 4 / pixels * pixels * map.c + b * channels;
    float at[2], step[2];
    border_of((const float *)boxes + row / 4 * 4, b, pool_size, at, step);
    for (int i = 0; i <= pool_size; i++, at[0] += step[0], at[1] += step[1])
      border_forward(map, image, at[0], at[1], i, (float *)output + row * channels,
                     (int32_t *)argmax_idx + row * channels);
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void *argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input) {
  (void)handle, (void)grad_output_desc, (void)boxes_desc, (void)argmax_idx_desc;
  const shape_t map = shape_of(grad_input_desc);
  const int64_t channels = map.c / 4, pixels = map.h * map.w;
  float *target = zeros(grad_input, map);
  for (int64_t row = 0; row < map.n * pixels * 4; row++) {
    const int b = (int)(row % 4);
    float *image = target + row / 4 / pixels * pixels * map.c + b * channels;
    float start[2], step[2];
    border_of((const float *)boxes + row / 4 * 4, b, pool_size, start, step);
    for (int64_t c = 0; c < channels; c++) {
      const float i = (float)((const int32_t *)argmax_idx)[row * channels + c];
      corners_t at;
      if (!corners_of(map, start[1] + step[1] * i, start[0] + step[0] * i, &at)) continue;
      const float grad = ((const float *)grad_output)[row * channels + c];
      for (int corner = 0; corner < 4; corner++)
        if (at.weight[corner] != 0) image[at.at[corner] + c] += at.weight[corner] * grad;
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

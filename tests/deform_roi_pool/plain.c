// SPDX-License-Identifier: Apache-2.0
#include "plain.h"

typedef struct {
  shape_t map, bins;
  float scale, gamma;
  int ratio;
  const float *rois, *offset, *input, *grad_output;
  float *output, *grad_input, *grad_offset;
} pool_t;

static void pool_sample(const pool_t *t, int64_t image, int64_t bin, float count, float y, float x,
                        float *slope_x, float *slope_y) {
  corners_t at;
  if (!corners_of(t->map, y, x, &at)) return;
  const int64_t channels = t->map.c;
  for (int corner = 0; t->output != NULL && corner < 4; corner++)
    add_scaled(t->output + bin * channels, at.weight[corner] / count,
               t->input + image + at.at[corner], channels);
  if (t->grad_input == NULL) return;
  const float *grad = t->grad_output + bin * channels;
  for (int corner = 0; corner < 4; corner++)
    add_scaled(t->grad_input + image + at.at[corner], at.weight[corner] / count, grad, channels);
  if (t->grad_offset == NULL) return;
  float v[4];
  for (int corner = 0; corner < 4; corner++)
    v[corner] = dot(grad, t->input + image + at.at[corner], channels) / count;
  const float below = y - at.row[0], above = at.row[1] - y;
  const float right = x - at.column[0], left = at.column[1] - x;
  *slope_x += v[3] * below + v[1] * above - v[2] * below - v[0] * above;
  *slope_y += v[3] * right + v[2] * left - v[1] * right - v[0] * left;
}

static void pool_bin(const pool_t *t, int64_t r, int64_t ph, int64_t pw) {
  const float *roi = t->rois + 5 * r;
  const int64_t plane = t->bins.h * t->bins.w, place = ph * t->bins.w + pw;
  float x1 = roi[1] * t->scale - 0.5f, y1 = roi[2] * t->scale - 0.5f;
  const float width = roi[3] * t->scale - 0.5f - x1, height = roi[4] * t->scale - 0.5f - y1;
  const float bin_w = width / (float)t->bins.w, bin_h = height / (float)t->bins.h;
  const int grid_h = t->ratio > 0 ? t->ratio : (int)bin_h + (bin_h > (float)(int)bin_h);
  const int grid_w = t->ratio > 0 ? t->ratio : (int)bin_w + (bin_w > (float)(int)bin_w);
  const int grid = grid_h > 0 && grid_w > 0 ? grid_h * grid_w : 1;
  if (t->offset != NULL) {
    x1 += t->gamma * width * t->offset[2 * r * plane + place];
    y1 += t->gamma * height * t->offset[(2 * r + 1) * plane + place];
  }
  float slope_x = 0, slope_y = 0;
  for (int iy = 0; iy < grid_h; iy++) {
    for (int ix = 0; ix < grid_w; ix++) {
      const float y = y1 + (float)ph * bin_h + ((float)iy + 0.5f) * bin_h / (float)grid_h;
      const float x = x1 + (float)pw * bin_w + ((float)ix + 0.5f) * bin_w / (float)grid_w;
      pool_sample(t, (int64_t)roi[0] * t->map.h * t->map.w * t->map.c, r * plane + place,
                  (float)grid, y, x, &slope_x, &slope_y);
    }
  }
  if (t->grad_offset == NULL) return;
  t->grad_offset[2 * r * plane + place] = t->gamma * width * slope_x;
  t->grad_offset[(2 * r + 1) * plane + place] = t->gamma * height * slope_y;
}

static void pool_all(const pool_t *t) {
  for (int64_t r = 0; r < t->bins.n; r++)
    for (int64_t ph = 0; ph < t->bins.h; ph++)
      for (int64_t pw = 0; pw < t->bins.w; pw++) pool_bin(t, r, ph, pw);
}

mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t rois_desc, const void *rois,
    const mluOpTensorDescriptor_t offset_desc, const void *offset, const int pooled_height,
    const int pooled_width, const float spatial_scale, const int sampling_ratio, const float gamma,
    const mluOpTensorDescriptor_t output_desc, void *output) {
  (void)handle, (void)rois_desc, (void)offset_desc, (void)pooled_height, (void)pooled_width;
  pool_t pool = {shape_of(input_desc), shape_of(output_desc), spatial_scale,    gamma,
                 sampling_ratio,       .rois = rois,          .offset = offset, .input = input};
  pool.output = zeros(output, pool.bins);
  pool_all(&pool);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolBackward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc,
    const void *grad_output, const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t rois_desc, const void *rois,
    const mluOpTensorDescriptor_t offset_desc, const void *offset, const int pooled_height,
    const int pooled_width, const float spatial_scale, const int sampling_ratio, const float gamma,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void *grad_offset) {
  (void)handle, (void)rois_desc, (void)offset_desc, (void)pooled_height, (void)pooled_width;
  (void)grad_offset_desc;
  pool_t pool = {shape_of(input_desc),
                 shape_of(grad_output_desc),
                 spatial_scale,
                 gamma,
                 sampling_ratio,
                 .rois = rois,
                 .offset = offset,
                 .input = input,
                 .grad_output = grad_output,
                 .grad_offset = grad_offset};
  pool.grad_input = zeros(grad_input, shape_of(grad_input_desc));
  pool_all(&pool);
  return MLUOP_STATUS_SUCCESS;
}

// SPDX-License-Identifier: Apache-2.0
#include "plain.h"

#include <math.h>
#include <stdlib.h>

struct mluOpRoiAlignForwardStruct {
  float scale;
  int ratio, maximum, aligned;
};

typedef struct {
  struct mluOpRoiAlignForwardStruct how;
  shape_t map, bins;
  const float *boxes, *input, *grads, *given_x, *given_y;
  float *output, *argmax_x, *argmax_y, *grads_image;
} align_t;

typedef void take_sample(const align_t *t, int64_t bin, int64_t image, float y, float x, int first,
                         float count);

static int grid_of(float size, int ratio) {
  if (ratio > 0) return ratio;
  return size > 0 ? (int)ceilf(size) : 0;
}

static void sample_bin(const align_t *t, int64_t r, int64_t ph, int64_t pw, take_sample *take) {
  const float *box = t->boxes + 5 * r, shift = t->how.aligned ? 0.5f : 0.0f;
  const float x1 = box[1] * t->how.scale - shift, y1 = box[2] * t->how.scale - shift;
  float width = box[3] * t->how.scale - shift - x1, height = box[4] * t->how.scale - shift - y1;
  if (!t->how.aligned) {
    width = width > 1 ? width : 1;
    height = height > 1 ? height : 1;
  }
  const float bin_w = width / (float)t->bins.w, bin_h = height / (float)t->bins.h;
  const int grid_h = grid_of(bin_h, t->how.ratio), grid_w = grid_of(bin_w, t->how.ratio);
  const int64_t image = (int64_t)box[0] * t->map.h * t->map.w * t->map.c;
  const int64_t bin = (r * t->bins.h + ph) * t->bins.w + pw;
  for (int iy = 0; iy < grid_h; iy++) {
    for (int ix = 0; ix < grid_w; ix++) {
      const float y = y1 + (float)ph * bin_h + ((float)iy + 0.5f) * bin_h / (float)grid_h;
      const float x = x1 + (float)pw * bin_w + ((float)ix + 0.5f) * bin_w / (float)grid_w;
      take(t, bin, image, y, x, iy == 0 && ix == 0, (float)(grid_h * grid_w));
    }
  }
}

static void sample_all(const align_t *t, take_sample *take) {
  for (int64_t r = 0; r < t->bins.n; r++)
    for (int64_t ph = 0; ph < t->bins.h; ph++)
      for (int64_t pw = 0; pw < t->bins.w; pw++) sample_bin(t, r, ph, pw, take);
}

static void add_mean(const align_t *t, int64_t bin, int64_t image, float y, float x, int first,
                     float count) {
  (void)first;
  corners_t at;
  if (!corners_of(t->map, y, x, &at)) return;
  for (int corner = 0; corner < 4; corner++)
    add_scaled(t->output + bin * t->map.c, at.weight[corner] / count,
               t->input + image + at.at[corner], t->map.c);
}

static void spread_mean(const align_t *t, int64_t bin, int64_t image, float y, float x, int first,
                        float count) {
  (void)first;
  corners_t at;
  if (!corners_of(t->map, y, x, &at)) return;
  for (int corner = 0; corner < 4; corner++)
    add_scaled(t->grads_image + image + at.at[corner], at.weight[corner] / count,
               t->grads + bin * t->map.c, t->map.c);
}

static void take_maximum(const align_t *t, int64_t bin, int64_t image, float y, float x, int first,
                         float count) {
  (void)count;
  corners_t at;
  const int inside = corners_of(t->map, y, x, &at);
  if (!inside) memset(&at, 0, sizeof at);
  const float *v0 = t->input + image + at.at[0], *v1 = t->input + image + at.at[1];
  const float *v2 = t->input + image + at.at[2], *v3 = t->input + image + at.at[3];
  float *restrict best = t->output + bin * t->map.c;
  float *restrict best_x = t->argmax_x + bin * t->map.c;
  float *restrict best_y = t->argmax_y + bin * t->map.c;
  for (int64_t c = 0; c < t->map.c; c++) {
    float value = at.weight[0] * v0[c] + at.weight[1] * v1[c] + at.weight[2] * v2[c];
    value += at.weight[3] * v3[c];
    value = inside ? value : 0;
    const int larger = first || value > best[c];
    best[c] = larger ? value : best[c];
    best_x[c] = larger ? x : best_x[c];
    best_y[c] = larger ? y : best_y[c];
  }
}

static void spread_maximum(const align_t *t, int64_t bin) {
  const int64_t r = bin / (t->bins.h * t->bins.w);
  float *image = t->grads_image + (int64_t)t->boxes[5 * r] * t->map.h * t->map.w * t->map.c;
  for (int64_t i = bin * t->map.c; i < (bin + 1) * t->map.c; i++) {
    corners_t at;
    if (t->given_y[i] == -1 || !corners_of(t->map, t->given_y[i], t->given_x[i], &at)) continue;
    for (int corner = 0; corner < 4; corner++)
      image[at.at[corner] + i % t->map.c] += at.weight[corner] * t->grads[i];
  }
}

mluOpStatus_t MLUOP_WIN_API
mluOpCreateRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t *desc) {
  *desc = malloc(sizeof **desc);
  return *desc != NULL ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_ALLOC_FAILED;
}

mluOpStatus_t MLUOP_WIN_API
mluOpDestroyRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t desc) {
  free(desc);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpSetRoiAlignForwardDescriptor_v2(
    mluOpRoiAlignForwardDescriptor_t roialign_desc, const int pooled_height, const int pooled_width,
    const int sampling_ratio, const float spatial_scale, const int pool_mode, const bool aligned) {
  (void)pooled_height, (void)pooled_width;
  const struct mluOpRoiAlignForwardStruct how = {spatial_scale, sampling_ratio, pool_mode == 0,
                                                 aligned};
  *roialign_desc = how;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API
mluOpRoiAlignForward_v2(mluOpHandle_t handle, const mluOpRoiAlignForwardDescriptor_t roialign_desc,
                        const mluOpTensorDescriptor_t input_desc, const void *input,
                        const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                        const mluOpTensorDescriptor_t output_desc, void *output,
                        const mluOpTensorDescriptor_t argmax_x_desc, void *argmax_x,
                        const mluOpTensorDescriptor_t argmax_y_desc, void *argmax_y) {
  (void)handle, (void)boxes_desc, (void)argmax_x_desc, (void)argmax_y_desc;
  align_t t = {*roialign_desc, shape_of(input_desc), shape_of(output_desc), .boxes = boxes};
  t.input = input;
  t.output = zeros(output, t.bins);
  if (t.how.maximum) {
    t.argmax_x = argmax_x;
    t.argmax_y = argmax_y;
    for (int64_t i = 0; i < t.bins.n * t.bins.h * t.bins.w * t.bins.c; i++)
      t.argmax_x[i] = t.argmax_y[i] = -1;
  }
  sample_all(&t, t.how.maximum ? take_maximum : add_mean);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grads_desc, const void *grads,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_x_desc, const void *argmax_x,
    const mluOpTensorDescriptor_t argmax_y_desc, const void *argmax_y, const float spatial_scale,
    const int sampling_ratio, const bool aligned, const int pool_mode,
    const mluOpTensorDescriptor_t grads_image_desc, void *grads_image) {
  (void)handle, (void)boxes_desc, (void)argmax_x_desc, (void)argmax_y_desc;
  const struct mluOpRoiAlignForwardStruct how = {spatial_scale, sampling_ratio, pool_mode == 0,
                                                 aligned};
  align_t t = {how, shape_of(grads_image_desc), shape_of(grads_desc), .boxes = boxes};
  t.grads = grads;
  t.given_x = argmax_x;
  t.given_y = argmax_y;
  t.grads_image = zeros(grads_image, t.map);
  if (how.maximum) {
    for (int64_t bin = 0; bin < t.bins.n * t.bins.h * t.bins.w; bin++) spread_maximum(&t, bin);
  } else {
    sample_all(&t, spread_mean);
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward(
    mluOpHandle_t handle, const float spatial_scale, const int sampling_ratio, const bool aligned,
    const mluOpTensorDescriptor_t grads_desc, const void *grads,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t grads_image_desc, void *grads_image) {
  return mluOpRoiAlignBackward_v2(handle, grads_desc, grads, boxes_desc, boxes, NULL, NULL, NULL,
                                  NULL, spatial_scale, sampling_ratio, aligned, 1, grads_image_desc,
                                  grads_image);
}

// SPDX-License-Identifier: Apache-2.0
/**
 * The formulas of the arithmetic operators as plain loops over float32, one thread: what a compiler
 * makes of them is the least that the kernels must beat. It stands in for the library in bench.py,
 *
 *     cmake --build --preset dev
 *     python benchmarks/bench.py --library build/dev/tests/c/libplain_loops.so \
 *         --library build/dev/libmluops.so --only carafe --isa baseline --threads 1
 *
 * The functions defined here take the place of the library's; the others come from the library that
 * this one is linked to. Nothing is checked.
 */
#include <stdlib.h>
#include <string.h>

#include "mlu_op.h"

struct mluOpCarafeStruct {
  int kernel, groups, scale;
};

typedef struct {
  int64_t n, h, w, c;
} shape_t;

static shape_t shape_of(mluOpTensorDescriptor_t desc) {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int dims = 0;
  int64_t size[8] = {0};
  mluOpGetTensorDescriptor_v2(desc, &layout, &dtype, &dims, size);
  const shape_t shape = {size[0], size[1], size[2], size[3]};
  return shape;
}

static float *zeros(const void *data, shape_t shape) {
  float *target = (float *)(uintptr_t)data;
  memset(target, 0, sizeof(float) * (size_t)(shape.n * shape.h * shape.w * shape.c));
  return target;
}

static float dot(const float *restrict a, const float *restrict b, int64_t count) {
  float sum = 0;
  for (int64_t c = 0; c < count; c++) sum += a[c] * b[c];
  return sum;
}

static void add_scaled(float *restrict target, float weight, const float *restrict source,
                       int64_t count) {
  for (int64_t c = 0; c < count; c++) target[c] += weight * source[c];
}

// ----------------------------------------------------------------------------------- CARAFE

mluOpStatus_t MLUOP_WIN_API mluOpCreateCarafeDescriptor(mluOpCarafeDescriptor_t *carafe_desc) {
  *carafe_desc = calloc(1, sizeof **carafe_desc);
  return *carafe_desc == NULL ? MLUOP_STATUS_ALLOC_FAILED : MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc) {
  free(carafe_desc);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpSetCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc,
                                                     const int dimNb, const int kernel_size,
                                                     const int group_size, const int scale_factor) {
  (void)dimNb;
  carafe_desc->kernel = kernel_size;
  carafe_desc->groups = group_size;
  carafe_desc->scale = scale_factor;
  return MLUOP_STATUS_SUCCESS;
}

/** One tap of one output pixel and group: where its values and its weight are. */
typedef void carafe_visit_t(void *context, int64_t pixel, int64_t source, int64_t weight,
                            int64_t count);

static void carafe_walk(mluOpCarafeDescriptor_t desc, shape_t in, carafe_visit_t *visit,
                        void *context) {
  const int64_t k = desc->kernel, groups = desc->groups, s = desc->scale;
  const int64_t count = in.c / groups, height = in.h * s, width = in.w * s;
  for (int64_t row = 0; row < in.n * height; row++) {
    const int64_t n = row / height, p = row % height;
    for (int64_t q = 0; q < width; q++) {
      for (int64_t g = 0; g < groups; g++) {
        for (int64_t tap = 0; tap < k * k; tap++) {
          const int64_t i = p / s + tap / k - k / 2, j = q / s + tap % k - k / 2;
          if (i < 0 || i >= in.h || j < 0 || j >= in.w) continue;
          visit(context, (row * width + q) * in.c + g * count,
                ((n * in.h + i) * in.w + j) * in.c + g * count,
                ((row * width + q) * groups + g) * k * k + tap, count);
        }
      }
    }
  }
}

typedef struct {
  const float *input, *mask, *grad_output;
  float *output, *grad_input, *grad_mask;
} carafe_t;

static void carafe_add(void *context, int64_t pixel, int64_t source, int64_t weight,
                       int64_t count) {
  const carafe_t *t = context;
  add_scaled(t->output + pixel, t->mask[weight], t->input + source, count);
}

static void carafe_spread(void *context, int64_t pixel, int64_t source, int64_t weight,
                          int64_t count) {
  const carafe_t *t = context;
  add_scaled(t->grad_input + source, t->mask[weight], t->grad_output + pixel, count);
  t->grad_mask[weight] = dot(t->grad_output + pixel, t->input + source, count);
}

mluOpStatus_t MLUOP_WIN_API
mluOpCarafeForward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                   const mluOpTensorDescriptor_t input_desc, const void *input,
                   const mluOpTensorDescriptor_t mask_desc, const void *mask,
                   const mluOpTensorDescriptor_t output_desc, void *output) {
  (void)handle, (void)mask_desc;
  carafe_t tensors = {.input = input, .mask = mask};
  tensors.output = zeros(output, shape_of(output_desc));
  carafe_walk(carafe_desc, shape_of(input_desc), carafe_add, &tensors);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API
mluOpCarafeBackward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                    const mluOpTensorDescriptor_t input_desc, const void *input,
                    const mluOpTensorDescriptor_t mask_desc, const void *mask,
                    const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
                    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
                    const mluOpTensorDescriptor_t grad_mask_desc, void *grad_mask) {
  (void)handle, (void)mask_desc, (void)grad_output_desc;
  carafe_t tensors = {.input = input, .mask = mask, .grad_output = grad_output};
  tensors.grad_input = zeros(grad_input, shape_of(grad_input_desc));
  tensors.grad_mask = zeros(grad_mask, shape_of(grad_mask_desc));
  carafe_walk(carafe_desc, shape_of(input_desc), carafe_spread, &tensors);
  return MLUOP_STATUS_SUCCESS;
}

// -------------------------------------------------------------------------- bilinear samples

/** The four pixels of a sample: their offsets in an image of `channels`, and their weights. */
typedef struct {
  int64_t at[4];
  float weight[4];
} corners_t;

static int corners_of(shape_t map, float y, float x, corners_t *corners) {
  if (!(y >= -1 && y <= (float)map.h && x >= -1 && x <= (float)map.w)) return 0;
  y = y > 0 ? y : 0;
  x = x > 0 ? x : 0;
  int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= map.h - 1) y = (float)(y0 = y1 = map.h - 1);
  if (x0 >= map.w - 1) x = (float)(x0 = x1 = map.w - 1);
  const float ly = y - (float)y0, lx = x - (float)x0;
  const corners_t found = {{(y0 * map.w + x0) * map.c, (y0 * map.w + x1) * map.c,
                            (y1 * map.w + x0) * map.c, (y1 * map.w + x1) * map.c},
                           {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
  *corners = found;
  return 1;
}

// ------------------------------------------------------------------ deformable RoI pooling

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
  const float ly = y - (float)(int64_t)y, lx = x - (float)(int64_t)x;
  *slope_x += v[3] * ly + v[1] * (1 - ly) - v[2] * ly - v[0] * (1 - ly);
  *slope_y += v[3] * lx + v[2] * (1 - lx) - v[1] * lx - v[0] * (1 - lx);
}

static void pool_bin(const pool_t *t, int64_t r, int64_t ph, int64_t pw) {
  const float *roi = t->rois + 5 * r;
  const int64_t plane = t->bins.h * t->bins.w, place = ph * t->bins.w + pw;
  const float width = (roi[3] - roi[1]) * t->scale, height = (roi[4] - roi[2]) * t->scale;
  const float bin_w = width / (float)t->bins.w, bin_h = height / (float)t->bins.h;
  const int grid_h = t->ratio > 0 ? t->ratio : (int)bin_h + (bin_h > (float)(int)bin_h);
  const int grid_w = t->ratio > 0 ? t->ratio : (int)bin_w + (bin_w > (float)(int)bin_w);
  const int grid = grid_h > 0 && grid_w > 0 ? grid_h * grid_w : 1;
  float x1 = roi[1] * t->scale - 0.5f, y1 = roi[2] * t->scale - 0.5f;
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

static void pool_walk(const pool_t *t) {
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
  pool_walk(&pool);
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
  pool_walk(&pool);
  return MLUOP_STATUS_SUCCESS;
}

// ------------------------------------------------------------------------------ BorderAlign

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
        image[at.at[corner] + c] += at.weight[corner] * grad;
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

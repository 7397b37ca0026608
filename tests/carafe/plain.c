// SPDX-License-Identifier: Apache-2.0
#include "plain.h"

#include <stdlib.h>

struct mluOpCarafeStruct {
  int kernel, groups, scale;
};

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
typedef void carafe_tap_t(void *context, int64_t pixel, int64_t source, int64_t weight,
                          int64_t count);

static void carafe_walk(mluOpCarafeDescriptor_t desc, shape_t in, carafe_tap_t *visit,
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

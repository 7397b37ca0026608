// SPDX-License-Identifier: Apache-2.0
#include "plain.h"

#include <stdlib.h>

struct cnnlDCNStruct {
  int64_t pad[4], stride[2], dilation[2], deformable_groups, groups;
};

mluOpStatus_t MLUOP_WIN_API mluOpCreateDCNDescriptor(mluOpDCNDescriptor_t *dcn_desc) {
  *dcn_desc = calloc(1, sizeof **dcn_desc);
  return *dcn_desc == NULL ? MLUOP_STATUS_ALLOC_FAILED : MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyDCNDescriptor(mluOpDCNDescriptor_t dcn_desc) {
  free(dcn_desc);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpSetDCNDescriptor(mluOpDCNDescriptor_t dcn_desc, int dimNb,
                                                  const int pad[], const int stride[],
                                                  const int dilation[], int deformable_group,
                                                  int conv_group, int im2col_step,
                                                  const mluOpDataType_t compute_type) {
  (void)dimNb, (void)im2col_step, (void)compute_type;
  for (int i = 0; i < 4; i++) dcn_desc->pad[i] = pad[i];
  for (int i = 0; i < 2; i++) {
    dcn_desc->stride[i] = stride[i];
    dcn_desc->dilation[i] = dilation[i];
  }
  dcn_desc->deformable_groups = deformable_group;
  dcn_desc->groups = conv_group;
  return MLUOP_STATUS_SUCCESS;
}

typedef struct {
  mluOpDCNDescriptor_t desc;
  shape_t map, out, filter; /* filter: co, kh, kw, channels of a group */
  const float *input, *offset, *mask, *weights, *grad_output;
  float *output, *grad_input, *grad_offset, *grad_mask, *grad_filter;
} dcn_t;

static dcn_t dcn_of(mluOpDCNDescriptor_t desc, mluOpTensorDescriptor_t map,
                    mluOpTensorDescriptor_t out, mluOpTensorDescriptor_t filter) {
  const dcn_t dcn = {
      .desc = desc, .map = shape_of(map), .out = shape_of(out), .filter = shape_of(filter)};
  return dcn;
}

static float floor_of(float x) {
  const float truncated = (float)(int64_t)x;
  return truncated > x ? truncated - 1 : truncated;
}

/** What a tap samples: its corners in the tensor (-1: outside of the map) and their weights. */
typedef struct {
  int64_t at[4];
  float weight[4], lx, ly;
} place_t;

static int place_of(const dcn_t *t, int64_t n, float y, float x, place_t *place) {
  const int rows = y > -1 && (double)y < (double)t->map.h;
  if (!(rows && x > -1 && (double)x < (double)t->map.w)) return 0;
  const float fy = floor_of(y), fx = floor_of(x);
  const int64_t y0 = (int64_t)fy, x0 = (int64_t)fx;
  place->ly = y - fy;
  place->lx = x - fx;
  for (int k = 0; k < 4; k++) {
    const int64_t row = y0 + k / 2, column = x0 + k % 2;
    const int in = row >= 0 && row < t->map.h && column >= 0 && column < t->map.w;
    place->at[k] = in ? ((n * t->map.h + row) * t->map.w + column) * t->map.c : -1;
    place->weight[k] = (k / 2 ? place->ly : 1 - place->ly) * (k % 2 ? place->lx : 1 - place->lx);
  }
  return 1;
}

static float corner(const dcn_t *t, const place_t *place, int k, int64_t c) {
  return place->at[k] < 0 ? 0 : t->input[place->at[k] + c];
}

/** One channel of one tap, of which `value` was sampled, if it was inside. */
static void dcn_forward(const dcn_t *t, int64_t pixel, int64_t tap, int64_t c, float column) {
  const int64_t outputs = t->filter.n / t->desc->groups, group = c / t->filter.c;
  const int64_t taps = t->filter.h * t->filter.w;
  for (int64_t o = group * outputs; o < (group + 1) * outputs; o++) {
    const int64_t at = (o * taps + tap) * t->filter.c + c % t->filter.c;
    if (t->output != NULL) t->output[pixel * t->filter.n + o] += t->weights[at] * column;
    if (t->grad_filter != NULL)
      t->grad_filter[at] += t->grad_output[pixel * t->filter.n + o] * column;
  }
}

static void dcn_backward(const dcn_t *t, int64_t pixel, int64_t tap, int64_t c, int64_t sample,
                         const place_t *place, float value) {
  const int64_t outputs = t->filter.n / t->desc->groups, group = c / t->filter.c;
  const int64_t taps = t->filter.h * t->filter.w;
  const float mask = t->mask != NULL ? t->mask[sample] : 1;
  float grad = 0, v[4];
  for (int64_t o = group * outputs; o < (group + 1) * outputs; o++)
    grad += t->weights[(o * taps + tap) * t->filter.c + c % t->filter.c] *
            t->grad_output[pixel * t->filter.n + o];
  for (int k = 0; k < 4; k++) {
    v[k] = corner(t, place, k, c);
    if (place->at[k] >= 0 && place->weight[k] != 0)
      t->grad_input[place->at[k] + c] += place->weight[k] * mask * grad;
  }
  if (t->grad_mask != NULL) t->grad_mask[sample] += grad * value;
  t->grad_offset[2 * sample] +=
      mask * grad * ((1 - place->lx) * (v[2] - v[0]) + place->lx * (v[3] - v[1]));
  t->grad_offset[2 * sample + 1] +=
      mask * grad * ((1 - place->ly) * (v[1] - v[0]) + place->ly * (v[3] - v[2]));
}

static void dcn_tap(const dcn_t *t, int64_t n, int64_t p, int64_t q, int64_t tap) {
  const int64_t taps = t->filter.h * t->filter.w, i = tap / t->filter.w, j = tap % t->filter.w;
  const int64_t pixel = (n * t->out.h + p) * t->out.w + q;
  const int64_t channels = t->map.c / t->desc->deformable_groups;
  for (int64_t c = 0; c < t->map.c; c++) {
    const int64_t sample = (pixel * t->desc->deformable_groups + c / channels) * taps + tap;
    const int64_t row = p * t->desc->stride[0] - t->desc->pad[0] + i * t->desc->dilation[0];
    const int64_t column = q * t->desc->stride[1] - t->desc->pad[2] + j * t->desc->dilation[1];
    place_t place;
    float value = 0;
    const int inside = place_of(t, n, (float)row + t->offset[2 * sample],
                                (float)column + t->offset[2 * sample + 1], &place);
    for (int k = 0; inside && k < 4; k++)
      if (place.at[k] >= 0) value += place.weight[k] * corner(t, &place, k, c);
    if (t->grad_input != NULL) {
      if (inside) dcn_backward(t, pixel, tap, c, sample, &place, value);
    } else {
      dcn_forward(t, pixel, tap, c, inside && t->mask != NULL ? value * t->mask[sample] : value);
    }
  }
}

static void dcn_walk(const dcn_t *t) {
  for (int64_t n = 0; n < t->out.n; n++)
    for (int64_t p = 0; p < t->out.h; p++)
      for (int64_t q = 0; q < t->out.w; q++)
        for (int64_t tap = 0; tap < t->filter.h * t->filter.w; tap++) dcn_tap(t, n, p, q, tap);
}

mluOpStatus_t MLUOP_WIN_API
mluOpDCNForward(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                const mluOpTensorDescriptor_t input_desc, const void *input,
                const mluOpTensorDescriptor_t offset_desc, const void *offset,
                const mluOpTensorDescriptor_t mask_desc, const void *mask,
                const mluOpTensorDescriptor_t filter_desc, const void *filter,
                const mluOpTensorDescriptor_t bias_desc, const void *bias, void *workspace,
                size_t workspace_size, const mluOpTensorDescriptor_t output_desc, void *output) {
  (void)handle, (void)offset_desc, (void)mask_desc, (void)bias_desc, (void)workspace;
  (void)workspace_size;
  dcn_t dcn = dcn_of(dcn_desc, input_desc, output_desc, filter_desc);
  dcn.input = input;
  dcn.offset = offset;
  dcn.mask = mask;
  dcn.weights = filter;
  dcn.output = zeros(output, dcn.out);
  for (int64_t i = 0; bias != NULL && i < dcn.out.n * dcn.out.h * dcn.out.w * dcn.out.c; i++)
    dcn.output[i] = ((const float *)bias)[i % dcn.out.c];
  dcn_walk(&dcn);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardData(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t offset_desc, const void *offset,
    const mluOpTensorDescriptor_t mask_desc, const void *mask,
    const mluOpTensorDescriptor_t filter_desc, const void *filter,
    const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output, void *workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void *grad_offset,
    const mluOpTensorDescriptor_t grad_mask_desc, void *grad_mask) {
  (void)handle, (void)offset_desc, (void)mask_desc, (void)workspace, (void)workspace_size;
  dcn_t dcn = dcn_of(dcn_desc, input_desc, grad_output_desc, filter_desc);
  dcn.input = input;
  dcn.offset = offset;
  dcn.mask = mask;
  dcn.weights = filter;
  dcn.grad_output = grad_output;
  dcn.grad_input = zeros(grad_input, shape_of(grad_input_desc));
  dcn.grad_offset = zeros(grad_offset, shape_of(grad_offset_desc));
  if (grad_mask != NULL) dcn.grad_mask = zeros(grad_mask, shape_of(grad_mask_desc));
  dcn_walk(&dcn);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardWeight(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t offset_desc, const void *offset,
    const mluOpTensorDescriptor_t mask_desc, const void *mask,
    const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output, void *workspace,
    size_t workspace_size, const mluOpTensorDescriptor_t grad_filter_desc, void *grad_filter,
    const mluOpTensorDescriptor_t grad_bias_desc, void *grad_bias) {
  (void)handle, (void)offset_desc, (void)mask_desc, (void)workspace, (void)workspace_size;
  (void)grad_bias_desc;
  dcn_t dcn = dcn_of(dcn_desc, input_desc, grad_output_desc, grad_filter_desc);
  dcn.input = input;
  dcn.offset = offset;
  dcn.mask = mask;
  dcn.grad_output = grad_output;
  dcn.grad_filter = zeros(grad_filter, dcn.filter);
  dcn_walk(&dcn);
  float *sums = grad_bias;
  for (int64_t o = 0; sums != NULL && o < dcn.out.c; o++) sums[o] = 0;
  for (int64_t i = 0; sums != NULL && i < dcn.out.n * dcn.out.h * dcn.out.w * dcn.out.c; i++)
    sums[i % dcn.out.c] += dcn.grad_output[i];
  return MLUOP_STATUS_SUCCESS;
}

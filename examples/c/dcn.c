/* SPDX-License-Identifier: Apache-2.0 */
/* Deformable convolution: four taps on a map of four pixels, forward and all gradients.
   Among what it prints: "output 8.75" */
#include "sample.h"

enum { TAPS = 4 };

static mluOpTensorDescriptor_t nhwc(int n, int h, int w, int c) {
  const int dims[] = {n, h, w, c};
  return make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims);
}

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  const float input[TAPS] = {1, 2, 3, 4}, filter[TAPS] = {1, 2, 3, 4}, bias = 0.5f, grad = 2;
  const float offset[2 * TAPS] = {0.5f, 0.25f, 0, -0.5f, -1.5f, 0.5f, 0, 1}; /* y, x of each tap */
  const float mask[TAPS] = {1, 0.5f, 2, 3};
  const int one = 1;
  mluOpTensorDescriptor_t pixels = nhwc(1, 2, 2, 1), taps = nhwc(1, 1, 1, TAPS);
  mluOpTensorDescriptor_t moves = nhwc(1, 1, 1, 2 * TAPS), result = nhwc(1, 1, 1, 1);
  mluOpTensorDescriptor_t single = make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, &one);
  void *input_dev = to_device(input, sizeof(input)),
       *filter_dev = to_device(filter, sizeof(filter));
  void *offset_dev = to_device(offset, sizeof(offset)), *mask_dev = to_device(mask, sizeof(mask));
  void *bias_dev = to_device(&bias, sizeof(bias)), *grad_dev = to_device(&grad, sizeof(grad));
  void *output_dev = device_alloc(sizeof(float)), *grad_bias_dev = device_alloc(sizeof(float));
  void *grad_input_dev = device_alloc(sizeof(input)), *grad_mask_dev = device_alloc(sizeof(mask));
  void *grad_offset_dev = device_alloc(sizeof(offset));
  void *grad_filter_dev = device_alloc(sizeof(filter));

  const int pad[4] = {0}, stride[2] = {1, 1}, dilation[2] = {1, 1};
  mluOpDCNDescriptor_t dcn;
  MLUOP_CHECK(mluOpCreateDCNDescriptor(&dcn));
  MLUOP_CHECK(mluOpSetDCNDescriptor(dcn, 4, pad, stride, dilation, 1, 1, 1, MLUOP_DTYPE_FLOAT));
  size_t size = 0, most = 0;
  MLUOP_CHECK(mluOpGetDCNForwardWorkspaceSize(handle, dcn, pixels, moves, taps, pixels, single,
                                              result, &size));
  most = size;
  MLUOP_CHECK(mluOpGetDCNBakcwardDataWorkspaceSize(handle, dcn, pixels, moves, taps, pixels, result,
                                                   pixels, moves, taps, &size));
  most = size > most ? size : most;
  MLUOP_CHECK(mluOpGetDCNBackwardWeightWorkspaceSize(handle, dcn, pixels, moves, taps, result,
                                                     pixels, single, &size));
  most = size > most ? size : most;
  void *workspace = most > 0 ? device_alloc(most) : NULL;

  MLUOP_CHECK(mluOpDCNForward(handle, dcn, pixels, input_dev, moves, offset_dev, taps, mask_dev,
                              pixels, filter_dev, single, bias_dev, workspace, most, result,
                              output_dev));
  MLUOP_CHECK(mluOpDCNBackwardData(handle, dcn, pixels, input_dev, moves, offset_dev, taps,
                                   mask_dev, pixels, filter_dev, result, grad_dev, workspace, most,
                                   pixels, grad_input_dev, moves, grad_offset_dev, taps,
                                   grad_mask_dev));
  MLUOP_CHECK(mluOpDCNBackwardWeight(handle, dcn, pixels, input_dev, moves, offset_dev, taps,
                                     mask_dev, result, grad_dev, workspace, most, pixels,
                                     grad_filter_dev, single, grad_bias_dev));
  CNRT_CHECK(cnrtQueueSync(queue));

  float output, grad_bias, grad_input[TAPS], grad_filter[TAPS], grad_mask[TAPS];
  float grad_offset[2 * TAPS];
  to_host(&output, output_dev, sizeof(output));
  to_host(&grad_bias, grad_bias_dev, sizeof(grad_bias));
  to_host(grad_input, grad_input_dev, sizeof(grad_input));
  to_host(grad_filter, grad_filter_dev, sizeof(grad_filter));
  to_host(grad_mask, grad_mask_dev, sizeof(grad_mask));
  to_host(grad_offset, grad_offset_dev, sizeof(grad_offset));
  printf("output %g\n", (double)output);
  print_plane("grad_input", grad_input, 2, 2, 1);
  print_plane("grad_offset: y and x of each tap", grad_offset, TAPS, 2, 1);
  print_plane("grad_mask", grad_mask, 2, 2, 1);
  print_plane("grad_filter", grad_filter, 2, 2, 1);
  expect(output == 8.75f && grad_bias == 2, "dcn forward");
  expect(grad_input[0] == 4.75f && grad_input[3] == 0.25f, "dcn grad_input");
  expect(grad_offset[4] == 18 && grad_mask[1] == 6 && grad_filter[2] == 3, "dcn gradients");

  void *const memory[] = {input_dev,       filter_dev,    offset_dev,     mask_dev,  bias_dev,
                          grad_dev,        output_dev,    grad_bias_dev,  workspace, grad_input_dev,
                          grad_offset_dev, grad_mask_dev, grad_filter_dev};
  for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
    if (memory[i] != NULL) CNRT_CHECK(cnrtFree(memory[i]));
  }
  mluOpTensorDescriptor_t descs[] = {pixels, taps, moves, result, single};
  for (int i = 0; i < 5; i++) MLUOP_CHECK(mluOpDestroyTensorDescriptor(descs[i]));
  MLUOP_CHECK(mluOpDestroyDCNDescriptor(dcn));
  release_device(queue, handle);
  printf("dcn: ok\n");
  return 0;
}

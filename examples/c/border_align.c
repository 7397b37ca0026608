/* SPDX-License-Identifier: Apache-2.0 */
/* BorderAlign: the greatest value on each of the four borders of a box, and where the gradient of
   it belongs. Each border looks at channels of its own; here all four see the same map.
   Among what it prints: "    23    23    23    23" */
#include "sample.h"

enum { H = 3, W = 4, K = H * W, POOL_SIZE = 6 };
enum { TOP, LEFT, BOTTOM, RIGHT, BORDERS };

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  float input[K * BORDERS], boxes[K * 4], output[K * BORDERS], grad_input[K * BORDERS];
  int argmax_idx[K * BORDERS];
  for (int h = 0; h < H; h++) {
    for (int w = 0; w < W; w++) {
      for (int b = 0; b < BORDERS; b++) input[(h * W + w) * BORDERS + b] = (float)(10 * h + w);
    }
  }
  for (int k = 0; k < K; k++) { /* one box for each pixel: from it to the lower right corner */
    boxes[k * 4 + 0] = (float)(k % W);
    boxes[k * 4 + 1] = (float)(k / W);
    boxes[k * 4 + 2] = W - 1;
    boxes[k * 4 + 3] = H - 1;
  }

  const int map_dims[] = {1, H, W, BORDERS}, boxes_dims[] = {1, K, 4};
  const int output_dims[] = {1, K, BORDERS, 1};
  mluOpTensorDescriptor_t map_desc = make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, map_dims);
  mluOpTensorDescriptor_t boxes_desc =
      make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, boxes_dims);
  mluOpTensorDescriptor_t output_desc =
      make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, output_dims);
  mluOpTensorDescriptor_t argmax_desc =
      make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, 4, output_dims);
  void *input_dev = to_device(input, sizeof(input));
  void *boxes_dev = to_device(boxes, sizeof(boxes));
  void *output_dev = device_alloc(sizeof(output));
  void *argmax_dev = device_alloc(sizeof(argmax_idx));
  void *grad_input_dev = device_alloc(sizeof(grad_input));

  MLUOP_CHECK(mluOpBorderAlignForward(handle, map_desc, input_dev, boxes_desc, boxes_dev, POOL_SIZE,
                                      output_desc, output_dev, argmax_desc, argmax_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(output, output_dev, sizeof(output));
  to_host(argmax_idx, argmax_dev, sizeof(argmax_idx));
  print_plane("border_align: the greatest value on the top, by the box's corner", output + TOP, H,
              W, BORDERS);
  for (int k = 0; k < K; k++) {
    const float corner = 10 * (H - 1) + W - 1;
    expect(fabsf(output[k * BORDERS + TOP] - (float)(10 * (k / W) + W - 1)) < 1e-4f, "the top");
    expect(fabsf(output[k * BORDERS + BOTTOM] - corner) < 1e-4f, "the bottom");
    expect(fabsf(output[k * BORDERS + RIGHT] - corner) < 1e-4f, "the right");
  }

  for (int i = 0; i < K * BORDERS; i++) output[i] = 1.0f; /* now a gradient */
  CNRT_CHECK(cnrtMemcpy(output_dev, output, sizeof(output), CNRT_MEM_TRANS_DIR_HOST2DEV));
  MLUOP_CHECK(mluOpBorderAlignBackward(handle, output_desc, output_dev, boxes_desc, boxes_dev,
                                       argmax_desc, argmax_dev, POOL_SIZE, map_desc,
                                       grad_input_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(grad_input, grad_input_dev, sizeof(grad_input));
  print_plane("border_align: the gradient of the tops", grad_input + TOP, H, W, BORDERS);
  double sum = 0;
  for (int i = 0; i < K * BORDERS; i++) sum += grad_input[i];
  expect(fabs(sum - K * BORDERS) < 1e-3, "the sum of the gradient");

  CNRT_CHECK(cnrtFree(input_dev));
  CNRT_CHECK(cnrtFree(boxes_dev));
  CNRT_CHECK(cnrtFree(output_dev));
  CNRT_CHECK(cnrtFree(argmax_dev));
  CNRT_CHECK(cnrtFree(grad_input_dev));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(map_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(boxes_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(output_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(argmax_desc));
  release_device(queue, handle);
  printf("border_align: ok\n");
  return 0;
}

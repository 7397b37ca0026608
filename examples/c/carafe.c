/* SPDX-License-Identifier: Apache-2.0 */
/* CARAFE: an image of 2 x 3 pixels grows to 4 x 6, by weights that average each pixel with its
   right neighbour; then the gradient goes back.
   Among what it prints: "    14    14    18    18    10    10" */
#include "sample.h"

enum { H = 2, W = 3, SCALE = 2, KERNEL = 3, TAPS = KERNEL * KERNEL };
enum { INPUT = H * W, OUTPUT = SCALE * H * SCALE * W, MASK = OUTPUT * TAPS };
enum { CENTRE = TAPS / 2, RIGHT = TAPS / 2 + 1 };

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  float input[INPUT], mask[MASK] = {0}, output[OUTPUT], grad_input[INPUT];
  for (int i = 0; i < INPUT; i++) input[i] = (float)(4 * i);
  for (int i = 0; i < OUTPUT; i++) mask[i * TAPS + CENTRE] = mask[i * TAPS + RIGHT] = 0.5f;

  const int input_dims[] = {1, H, W, 1}, mask_dims[] = {1, SCALE * H, SCALE * W, TAPS};
  const int output_dims[] = {1, SCALE * H, SCALE * W, 1};
  mluOpTensorDescriptor_t input_desc =
      make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, input_dims);
  mluOpTensorDescriptor_t mask_desc = make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, mask_dims);
  mluOpTensorDescriptor_t output_desc =
      make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, output_dims);
  mluOpCarafeDescriptor_t carafe_desc;
  MLUOP_CHECK(mluOpCreateCarafeDescriptor(&carafe_desc));
  MLUOP_CHECK(mluOpSetCarafeDescriptor(carafe_desc, 4, KERNEL, 1, SCALE));

  void *input_dev = to_device(input, sizeof(input));
  void *mask_dev = to_device(mask, sizeof(mask));
  void *output_dev = device_alloc(sizeof(output));
  void *grad_input_dev = device_alloc(sizeof(input));
  void *grad_mask_dev = device_alloc(sizeof(mask));

  cnrtNotifier_t start, end;
  CNRT_CHECK(cnrtNotifierCreate(&start));
  CNRT_CHECK(cnrtNotifierCreate(&end));
  CNRT_CHECK(cnrtPlaceNotifier(start, queue));
  MLUOP_CHECK(mluOpCarafeForward(handle, carafe_desc, input_desc, input_dev, mask_desc, mask_dev,
                                 output_desc, output_dev));
  CNRT_CHECK(cnrtPlaceNotifier(end, queue));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(output, output_dev, sizeof(output));
  print_plane("carafe output", output, SCALE * H, SCALE * W, 1);
  for (int p = 0; p < SCALE * H; p++) {
    for (int q = 0; q < SCALE * W; q++) {
      const int i = p / SCALE * W + q / SCALE, at_rim = q / SCALE == W - 1;
      const float expected = 0.5f * input[i] + (at_rim ? 0.0f : 0.5f * input[i + 1]);
      expect(output[p * SCALE * W + q] == expected, "carafe output");
    }
  }

  /* The gradient of the sum of all outputs: the output buffer now holds ones. */
  for (int i = 0; i < OUTPUT; i++) output[i] = 1.0f;
  CNRT_CHECK(cnrtMemcpyAsync(output_dev, output, sizeof(output), queue, cnrtMemcpyHostToDev));
  MLUOP_CHECK(mluOpCarafeBackward(handle, carafe_desc, input_desc, input_dev, mask_desc, mask_dev,
                                  output_desc, output_dev, input_desc, grad_input_dev, mask_desc,
                                  grad_mask_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(grad_input, grad_input_dev, sizeof(grad_input));
  print_plane("carafe grad_input", grad_input, H, W, 1);
  for (int i = 0; i < INPUT; i++) {
    expect(grad_input[i] == (i % W == 0 ? 2.0f : 4.0f), "carafe grad_input");
  }
  float microseconds = -1;
  CNRT_CHECK(cnrtNotifierDuration(start, end, &microseconds));
  expect(microseconds >= 0, "the duration of carafe");
  fprintf(stderr, "carafe forward took %g us\n", (double)microseconds);

  CNRT_CHECK(cnrtNotifierDestroy(start));
  CNRT_CHECK(cnrtNotifierDestroy(end));
  CNRT_CHECK(cnrtFree(input_dev));
  CNRT_CHECK(cnrtFree(mask_dev));
  CNRT_CHECK(cnrtFree(output_dev));
  CNRT_CHECK(cnrtFree(grad_input_dev));
  CNRT_CHECK(cnrtFree(grad_mask_dev));
  MLUOP_CHECK(mluOpDestroyCarafeDescriptor(carafe_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(input_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(mask_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(output_desc));
  release_device(queue, handle);
  printf("carafe: ok\n");
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* PSAMask: what each pixel of a 2 x 3 map attends to, from masks of 3 x 3 around it, and back.
   Among what it prints: "    14    15    16    17    18    19" */
#include "sample.h"

enum { H = 2, W = 3, H_MASK = 3, W_MASK = 3, COLLECT = 0 };
enum { PIXELS = H * W, TAPS = H_MASK * W_MASK };

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  float x[PIXELS * TAPS], y[PIXELS * PIXELS], dx[PIXELS * TAPS];
  for (int i = 0; i < PIXELS * TAPS; i++) x[i] = (float)(10 * (i / TAPS) + i % TAPS + 1);

  const int x_dims[] = {1, H, W, TAPS}, y_dims[] = {1, H, W, PIXELS};
  mluOpTensorDescriptor_t x_desc = make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, x_dims);
  mluOpTensorDescriptor_t y_desc = make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, y_dims);
  void *x_dev = to_device(x, sizeof(x));
  void *y_dev = device_alloc(sizeof(y));
  void *dx_dev = device_alloc(sizeof(dx));

  MLUOP_CHECK(mluOpPsamaskForward(handle, COLLECT, x_desc, x_dev, H_MASK, W_MASK, y_desc, y_dev));
  MLUOP_CHECK(mluOpPsamaskBackward(handle, COLLECT, y_desc, y_dev, H_MASK, W_MASK, x_desc, dx_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(y, y_dev, sizeof(y));
  to_host(dx, dx_dev, sizeof(dx));
  print_plane("psamask: a row for each pixel, a column for each that it attends to", y, PIXELS,
              PIXELS, 1);

  for (int pixel = 0; pixel < PIXELS; pixel++) {
    for (int tap = 0; tap < TAPS; tap++) {
      const int row = pixel / W + tap / W_MASK - H_MASK / 2;
      const int column = pixel % W + tap % W_MASK - W_MASK / 2;
      const int inside = row >= 0 && row < H && column >= 0 && column < W;
      const float value = x[pixel * TAPS + tap];
      if (inside) expect(y[pixel * PIXELS + row * W + column] == value, "psamask y");
      expect(dx[pixel * TAPS + tap] == (inside ? value : 0.0f), "psamask dx");
    }
  }

  CNRT_CHECK(cnrtFree(x_dev));
  CNRT_CHECK(cnrtFree(y_dev));
  CNRT_CHECK(cnrtFree(dx_dev));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(x_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(y_desc));
  release_device(queue, handle);
  printf("psamask: ok\n");
  return 0;
}

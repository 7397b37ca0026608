/* SPDX-License-Identifier: Apache-2.0 */
/* RoIAlign: two bins of a region, their means and maxima, and the gradient of the means.
   Among what it prints: "  2.75     7" */
#include "sample.h"

enum { HEIGHT = 3, WIDTH = 4, BINS = 2, MAXIMUM = 0, MEAN = 1 };

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  const float map[HEIGHT * WIDTH] = {1, 2, 4, 8, 3, 5, 7, 9, 2, 0, 6, 1};
  const float box[5] = {0, 0, 0, 4, 2}; /* image, x1, y1, x2, y2 */
  const float grads[BINS] = {4, 8};
  const int map_dims[] = {1, HEIGHT, WIDTH, 1}, box_dims[] = {1, 5}, bin_dims[] = {1, 1, BINS, 1};
  mluOpTensorDescriptor_t map_desc = make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, map_dims);
  mluOpTensorDescriptor_t box_desc = make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, box_dims);
  mluOpTensorDescriptor_t bin_desc = make_desc(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, bin_dims);
  void *map_dev = to_device(map, sizeof(map)), *box_dev = to_device(box, sizeof(box));
  void *grads_dev = to_device(grads, sizeof(grads)), *bins_dev = device_alloc(sizeof(grads));
  void *x_dev = device_alloc(sizeof(grads)), *y_dev = device_alloc(sizeof(grads));
  void *of_map_dev = device_alloc(sizeof(map));

  mluOpRoiAlignForwardDescriptor_t desc;
  MLUOP_CHECK(mluOpCreateRoiAlignForwardDescriptor(&desc));
  MLUOP_CHECK(mluOpSetRoiAlignForwardDescriptor_v2(desc, 1, BINS, 2, 1.0f, MEAN, true));
  MLUOP_CHECK(mluOpRoiAlignForward_v2(handle, desc, map_desc, map_dev, box_desc, box_dev, bin_desc,
                                      bins_dev, NULL, NULL, NULL, NULL));
  CNRT_CHECK(cnrtQueueSync(queue));
  float bins[BINS], x[BINS], y[BINS], of_map[HEIGHT * WIDTH];
  to_host(bins, bins_dev, sizeof(bins));
  print_plane("means", bins, 1, BINS, 1);
  expect(bins[0] == 2.75f && bins[1] == 7.0f, "the means");

  MLUOP_CHECK(mluOpRoiAlignBackward(handle, 1.0f, 2, true, bin_desc, grads_dev, box_desc, box_dev,
                                    map_desc, of_map_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(of_map, of_map_dev, sizeof(of_map));
  print_plane("gradient of the means", of_map, HEIGHT, WIDTH, 1);
  expect(of_map[0] + of_map[1] + of_map[4] + of_map[5] == 4.0f, "the gradient of the first bin");

  MLUOP_CHECK(mluOpSetRoiAlignForwardDescriptor_v2(desc, 1, BINS, 2, 1.0f, MAXIMUM, true));
  MLUOP_CHECK(mluOpRoiAlignForward_v2(handle, desc, map_desc, map_dev, box_desc, box_dev, bin_desc,
                                      bins_dev, bin_desc, x_dev, bin_desc, y_dev));
  MLUOP_CHECK(mluOpRoiAlignBackward_v2(handle, bin_desc, grads_dev, box_desc, box_dev, bin_desc,
                                       x_dev, bin_desc, y_dev, 1.0f, 2, true, MAXIMUM, map_desc,
                                       of_map_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  to_host(bins, bins_dev, sizeof(bins));
  to_host(x, x_dev, sizeof(x));
  to_host(y, y_dev, sizeof(y));
  to_host(of_map, of_map_dev, sizeof(of_map));
  for (int i = 0; i < BINS; i++) {
    printf("maximum %g at (%g, %g)\n", (double)bins[i], (double)x[i], (double)y[i]);
  }
  expect(bins[0] == 5.0f && x[0] == 1.0f && y[0] == 1.0f, "the first maximum");
  expect(bins[1] == 9.0f && of_map[7] == 8.0f, "the second maximum and its gradient");

  void *const memory[] = {map_dev, box_dev, grads_dev, bins_dev, x_dev, y_dev, of_map_dev};
  for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++) CNRT_CHECK(cnrtFree(memory[i]));
  MLUOP_CHECK(mluOpDestroyRoiAlignForwardDescriptor(desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(map_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(box_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(bin_desc));
  release_device(queue, handle);
  printf("roi_align: ok\n");
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Nms: six boxes as a detector finds them, of which four are kept.
   Among what it prints: "box 4 with 0.875" */
#include "sample.h"

enum { N = 6 };

int main(void) {
  cnrtQueue_t queue;
  mluOpHandle_t handle;
  init_device(&queue, &handle);

  const float boxes[N * 4] = {0,  0, 10, 10, 0,  0, 10, 5,  10, 10, 0,  2,
                              12, 0, 20, 8,  12, 0, 20, 10, 30, 30, 30, 30};
  const float scores[N] = {0.5f, 0.75f, 0.5f, 0.5f, 0.875f, 0.25f};
  const int boxes_dims[] = {N, 4}, scores_dims[] = {N};
  mluOpTensorDescriptor_t boxes_desc =
      make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, boxes_dims);
  mluOpTensorDescriptor_t scores_desc =
      make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, scores_dims);
  mluOpTensorDescriptor_t kept_desc =
      make_desc(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 1, scores_dims);
  void *boxes_dev = to_device(boxes, sizeof(boxes));
  void *scores_dev = to_device(scores, sizeof(scores));
  void *kept_dev = device_alloc(N * sizeof(int));
  void *count_dev = device_alloc(sizeof(int));

  mluOpNmsDescriptor_t nms_desc;
  MLUOP_CHECK(mluOpCreateNmsDescriptor(&nms_desc));
  MLUOP_CHECK(mluOpSetNmsDescriptor(
      nms_desc, MLUOP_NMS_BOX_DIAGONAL, MLUOP_NMS_OUTPUT_TARGET_INDICES,
      MLUOP_NMS_ALGO_EXCLUDE_BOUNDARY, MLUOP_NMS_HARD_NMS, 0.5f, 0.0f, N, 0.0f, 0.0f, 0, false));
  size_t size = 0;
  MLUOP_CHECK(mluOpGetNmsWorkspaceSize(handle, nms_desc, boxes_desc, scores_desc, &size));
  void *workspace = size > 0 ? device_alloc(size) : NULL;
  MLUOP_CHECK(mluOpNms(handle, nms_desc, boxes_desc, boxes_dev, scores_desc, scores_dev, workspace,
                       size, kept_desc, kept_dev, count_dev));
  CNRT_CHECK(cnrtQueueSync(queue));
  int kept[N], count = 0;
  to_host(kept, kept_dev, sizeof(kept));
  to_host(&count, count_dev, sizeof(count));
  for (int i = 0; i < count; i++) printf("box %d with %g\n", kept[i], (double)scores[kept[i]]);
  expect(count == 4, "nms count");
  expect(kept[0] == 4 && kept[1] == 1 && kept[2] == 0 && kept[3] == 5, "nms kept");

  if (workspace != NULL) CNRT_CHECK(cnrtFree(workspace));
  CNRT_CHECK(cnrtFree(boxes_dev));
  CNRT_CHECK(cnrtFree(scores_dev));
  CNRT_CHECK(cnrtFree(kept_dev));
  CNRT_CHECK(cnrtFree(count_dev));
  MLUOP_CHECK(mluOpDestroyNmsDescriptor(nms_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(boxes_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(scores_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(kept_desc));
  release_device(queue, handle);
  printf("nms: ok\n");
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

enum { CLASSES = 24, BOXES = 100 }; /* of a wide call */

static mluOpStatus_t create(void **object) {
  mluOpNmsDescriptor_t made = NULL;
  const mluOpStatus_t status = mluOpCreateNmsDescriptor(&made);
  *object = made;
  return status;
}

static mluOpStatus_t destroy(void *object) { return mluOpDestroyNmsDescriptor(object); }

static mluOpStatus_t set(mluOpNmsDescriptor_t desc, mluOpNmsOutputMode_t mode, float threshold,
                         int limit, float least, float offset) {
  return mluOpSetNmsDescriptor(desc, MLUOP_NMS_BOX_DIAGONAL, mode, MLUOP_NMS_ALGO_INCLUDE_BOUNDARY,
                               MLUOP_NMS_HARD_NMS, threshold, 0.5f, limit, least, offset, 0, false);
}

static void make_nms(struct call *call) {
  const int n = call->wide ? BOXES : 1, classes = call->wide ? CLASSES : 1;
  call->failed |= create(&call->object) != MLUOP_STATUS_SUCCESS ||
                  set(call->object, MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS, 0.5f, n, -2.0f, 0) !=
                      MLUOP_STATUS_SUCCESS;
  const struct spec rows = {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {n * classes, 3}, 2};
  call_fill_boxes(call_input(call, (struct spec)ARRAY3(1, n, 4)), 4, 10.0f);
  call_input(call, (struct spec)ARRAY3(1, classes, n));
  call_output(call, rows);
  call_output(call, (struct spec)INDICES(1));
}

static mluOpStatus_t run_nms(mluOpHandle_t handle, struct call *call) {
  return mluOpNms(handle, call->object, DP(0), DP(1), NULL, 0, DP(2), P(3));
}

const struct family_calls family_nms = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpNms", make_nms, run_nms}},
};

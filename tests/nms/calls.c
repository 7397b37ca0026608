/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

PLAIN(CreateNmsDescriptor);
PLAIN(SetNmsDescriptor);
PLAIN(DestroyNmsDescriptor);
PLAIN(Nms);

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

/* Scores with many ties; boxes of a few sizes, some upside down, some equal. */
static void nms_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int n = random_int(1, 300), limit = random_int(0, n + 1);
  const float threshold = (float)random_int(-1, 21) / 20.0f, offset = (float)random_int(0, 1);
  const float least = (float)random_int(-2, 4) / 8.0f;
  struct twin boxes = twin_array(dtype, n, 4, 0, 0), scores = twin_array(dtype, n, 0, 0, 0);
  struct twin kept = twin_array(MLUOP_DTYPE_INT32, n, 0, 0, 0);
  for (int i = 0; i < 2 * n; i++) {
    const int at = i / 2 * 4 + i % 2, end = random_int(0, 40), size = random_int(1, 20);
    twin_set(&boxes, at, end);
    twin_set(&boxes, at + 2, random_int(0, 4) == 0 ? end - size : end + size);
  }
  for (int i = 0; i < n; i++) twin_set(&scores, i, random_int(0, 64) / 64.0);
  mluOpNmsDescriptor_t desc, plain_desc;
  OK(mluOpCreateNmsDescriptor(&desc));
  OK(set(desc, MLUOP_NMS_OUTPUT_TARGET_INDICES, threshold, limit, least, offset));
  OK(plainCreateNmsDescriptor(&plain_desc));
  OK(plainSetNmsDescriptor(plain_desc, MLUOP_NMS_BOX_DIAGONAL, MLUOP_NMS_OUTPUT_TARGET_INDICES,
                           MLUOP_NMS_ALGO_INCLUDE_BOUNDARY, MLUOP_NMS_HARD_NMS, threshold, 0.5f,
                           limit, least, offset, 0, false));
  int32_t count = -1, plain_count = -1;
  OK(mluOpNms(handle, desc, OURS(boxes), OURS(scores), NULL, 0, OURS(kept), &count));
  OK(plainNms(handle, plain_desc, THEIRS(boxes), THEIRS(scores), NULL, 0, THEIRS(kept),
              &plain_count));
  CHECK(count == plain_count);
  const int32_t *ours = kept.data, *theirs = kept.plain;
  for (int32_t i = 0; i < plain_count && i < n; i++) CHECK(ours[i] == theirs[i]);
  OK(mluOpDestroyNmsDescriptor(desc));
  OK(plainDestroyNmsDescriptor(plain_desc));
  TWINS_FREE(&boxes, &scores, &kept);
}

const struct family_calls family_nms = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpNms", make_nms, run_nms}},
    .values = {nms_values},
};

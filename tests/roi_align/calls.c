/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

enum { MAXIMUM, MEAN };

static mluOpStatus_t create(void **object) {
  mluOpRoiAlignForwardDescriptor_t made = NULL;
  const mluOpStatus_t status = mluOpCreateRoiAlignForwardDescriptor(&made);
  *object = made;
  return status;
}

static mluOpStatus_t destroy(void *object) { return mluOpDestroyRoiAlignForwardDescriptor(object); }

/* Tensors: boxes, what is read, argmax_x and argmax_y for maxima, and what is written. */
static void make_roi_align(struct call *call, int backward, int mode) {
  const int h = call->wide ? 32 : 1, c = call->wide ? 64 : 1, rois = call->wide ? 40 : 1;
  const int pooled = call->wide ? 7 : 1;
  const struct spec map = NHWC(1, h, h, c), bins = NHWC(rois, pooled, pooled, c);
  if (!backward) {
    call->failed |= create(&call->object) != MLUOP_STATUS_SUCCESS ||
                    mluOpSetRoiAlignForwardDescriptor_v2(call->object, pooled, pooled, 2, 1.0f,
                                                         mode, true) != MLUOP_STATUS_SUCCESS;
  }
  call_fill_boxes(call_input(call, (struct spec)ARRAY2(rois, 5)), 5, (float)h);
  call_input(call, backward ? bins : map);
  if (mode == MAXIMUM) {
    call_add(call, bins, !backward);
    call_add(call, bins, !backward);
  }
  call_output(call, backward ? map : bins);
}

static void make_forward(struct call *call) { make_roi_align(call, 0, MAXIMUM); }
static void make_backward(struct call *call) { make_roi_align(call, 1, MEAN); }
static void make_backward_v2(struct call *call) { make_roi_align(call, 1, MAXIMUM); }

static mluOpStatus_t run_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpRoiAlignForward_v2(handle, call->object, DP(1), DP(0), DP(4), DP(2), DP(3));
}

static mluOpStatus_t run_backward(mluOpHandle_t handle, struct call *call) {
  return mluOpRoiAlignBackward(handle, 1.0f, 2, true, DP(1), DP(0), DP(2));
}

static mluOpStatus_t run_backward_v2(mluOpHandle_t handle, struct call *call) {
  return mluOpRoiAlignBackward_v2(handle, DP(1), DP(0), DP(2), DP(3), 1.0f, 2, true, MAXIMUM,
                                  DP(4));
}

const struct family_calls family_roi_align = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpRoiAlignForward_v2", make_forward, run_forward},
              {"mluOpRoiAlignBackward", make_backward, run_backward},
              {"mluOpRoiAlignBackward_v2", make_backward_v2, run_backward_v2}},
};

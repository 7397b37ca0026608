/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

static void make_deform_roi_pool(struct call *call, int backward) {
  const int h = call->wide ? 32 : 1, c = call->wide ? 64 : 1, rois = call->wide ? 40 : 1;
  const int pooled = call->wide ? 7 : 1;
  const struct spec map = NHWC(1, h, h, c), bins = NHWC(rois, pooled, pooled, c);
  const struct spec offset = ARRAY4(rois, 2, pooled, pooled), boxes = ARRAY2(rois, 5);
  if (backward) call_input(call, bins);
  call_input(call, map);
  call_fill_boxes(call_input(call, boxes), 5, (float)h);
  call_input(call, offset);
  call_output(call, backward ? map : bins);
  if (backward) call_output(call, offset);
}

static void make_deform_roi_pool_forward(struct call *call) { make_deform_roi_pool(call, 0); }
static void make_deform_roi_pool_backward(struct call *call) { make_deform_roi_pool(call, 1); }

static mluOpStatus_t deform_roi_pool_forward(mluOpHandle_t handle, struct call *call) {
  const int pooled = call->wide ? 7 : 1;
  return mluOpDeformRoiPoolForward(handle, DP(0), DP(1), DP(2), pooled, pooled, 1.0f, 2, 0.1f,
                                   DP(3));
}

static mluOpStatus_t deform_roi_pool_backward(mluOpHandle_t handle, struct call *call) {
  const int pooled = call->wide ? 7 : 1;
  return mluOpDeformRoiPoolBackward(handle, DP(0), DP(1), DP(2), DP(3), pooled, pooled, 1.0f, 2,
                                    0.1f, DP(4), DP(5));
}

const struct family_calls family_deform_roi_pool = {
    .calls = {{"mluOpDeformRoiPoolForward", make_deform_roi_pool_forward, deform_roi_pool_forward},
              {"mluOpDeformRoiPoolBackward", make_deform_roi_pool_backward,
               deform_roi_pool_backward}},
};

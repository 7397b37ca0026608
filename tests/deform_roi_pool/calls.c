/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

PLAIN(DeformRoiPoolForward);
PLAIN(DeformRoiPoolBackward);

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

static void deform_roi_pool_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int n = random_int(1, 2), h = random_int(1, 20), w = random_int(1, 20);
  const int c = random_channels(), r = random_int(1, 9), ph = random_int(1, 4);
  const int pw = random_int(1, 4), ratio = random_int(0, 3);
  const float scale = random_int(0, 1) ? 1.0f : 0.5f, gamma = 0.3f;
  struct twin input = twin_nhwc(dtype, n, h, w, c), rois = twin_array(dtype, r, 5, 0, 0);
  struct twin offset = twin_array(dtype, r, 2, ph, pw);
  struct twin output = twin_nhwc_output(dtype, r, ph, pw, c);
  struct twin grad = twin_nhwc(dtype, r, ph, pw, c);
  struct twin grad_input = twin_nhwc_output(dtype, n, h, w, c);
  const int offsets[] = {r, 2, ph, pw};
  struct twin grad_offset = twin_output(MLUOP_LAYOUT_ARRAY, dtype, offsets);
  twin_set_boxes(&rois, 5, n, h, w);
  OK(mluOpDeformRoiPoolForward(handle, OURS(input), OURS(rois), OURS(offset), ph, pw, scale, ratio,
                               gamma, OURS(output)));
  OK(plainDeformRoiPoolForward(handle, THEIRS(input), THEIRS(rois), THEIRS(offset), ph, pw, scale,
                               ratio, gamma, THEIRS(output)));
  CHECK(twin_close(&output));
  OK(mluOpDeformRoiPoolBackward(handle, OURS(grad), OURS(input), OURS(rois), OURS(offset), ph, pw,
                                scale, ratio, gamma, OURS(grad_input), OURS(grad_offset)));
  OK(plainDeformRoiPoolBackward(handle, THEIRS(grad), THEIRS(input), THEIRS(rois), THEIRS(offset),
                                ph, pw, scale, ratio, gamma, THEIRS(grad_input),
                                THEIRS(grad_offset)));
  CHECK(twin_close(&grad_input));
  CHECK(twin_close(&grad_offset));
  TWINS_FREE(&input, &rois, &offset, &output, &grad, &grad_input, &grad_offset);
}

const struct family_calls family_deform_roi_pool = {
    .calls = {{"mluOpDeformRoiPoolForward", make_deform_roi_pool_forward, deform_roi_pool_forward},
              {"mluOpDeformRoiPoolBackward", make_deform_roi_pool_backward,
               deform_roi_pool_backward}},
    .values = {deform_roi_pool_values},
};

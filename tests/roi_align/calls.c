/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

PLAIN(CreateRoiAlignForwardDescriptor);
PLAIN(SetRoiAlignForwardDescriptor_v2);
PLAIN(DestroyRoiAlignForwardDescriptor);
PLAIN(RoiAlignForward_v2);
PLAIN(RoiAlignBackward);
PLAIN(RoiAlignBackward_v2);

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

static void roi_align_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int n = random_int(1, 2), h = random_int(1, 20), w = random_int(1, 20);
  const int c = random_channels(), r = random_int(1, 9), ph = random_int(1, 4);
  const int pw = random_int(1, 4), ratio = random_int(0, 3), mode = random_int(0, 1);
  const float scale = random_int(0, 1) ? 1.0f : 0.5f;
  const bool aligned = random_int(0, 1) != 0;
  struct twin input = twin_nhwc(dtype, n, h, w, c), boxes = twin_array(dtype, r, 5, 0, 0);
  struct twin output = twin_nhwc_output(dtype, r, ph, pw, c);
  struct twin x = twin_nhwc_output(dtype, r, ph, pw, c), y = twin_nhwc_output(dtype, r, ph, pw, c);
  struct twin grads = twin_nhwc(dtype, r, ph, pw, c);
  struct twin grads_image = twin_nhwc_output(dtype, n, h, w, c);
  twin_set_boxes(&boxes, 5, n, h, w);
  mluOpRoiAlignForwardDescriptor_t desc, plain_desc;
  OK(mluOpCreateRoiAlignForwardDescriptor(&desc));
  OK(mluOpSetRoiAlignForwardDescriptor_v2(desc, ph, pw, ratio, scale, mode, aligned));
  OK(plainCreateRoiAlignForwardDescriptor(&plain_desc));
  OK(plainSetRoiAlignForwardDescriptor_v2(plain_desc, ph, pw, ratio, scale, mode, aligned));
  OK(mluOpRoiAlignForward_v2(handle, desc, OURS(input), OURS(boxes), OURS(output), OURS(x),
                             OURS(y)));
  OK(plainRoiAlignForward_v2(handle, plain_desc, THEIRS(input), THEIRS(boxes), THEIRS(output),
                             THEIRS(x), THEIRS(y)));
  CHECK(mode == MAXIMUM && dtype == MLUOP_DTYPE_FLOAT ? twin_same(&output) : twin_close(&output));
  if (mode == MAXIMUM && dtype == MLUOP_DTYPE_FLOAT) CHECK(twin_same(&x) && twin_same(&y));
  /* Both add at the same points, which are rounded for half. */
  for (int64_t i = 0; i < x.count; i++) {
    twin_set(&x, i, random_real(-2, w + 1));
    twin_set(&y, i, random_int(0, 9) == 0 ? -1 : random_real(-2, h + 1));
  }
  OK(mluOpRoiAlignBackward_v2(handle, OURS(grads), OURS(boxes), OURS(x), OURS(y), scale, ratio,
                              aligned, mode, OURS(grads_image)));
  OK(plainRoiAlignBackward_v2(handle, THEIRS(grads), THEIRS(boxes), THEIRS(x), THEIRS(y), scale,
                              ratio, aligned, mode, THEIRS(grads_image)));
  CHECK(twin_close(&grads_image));
  OK(mluOpRoiAlignBackward(handle, scale, ratio, aligned, OURS(grads), OURS(boxes),
                           OURS(grads_image)));
  OK(plainRoiAlignBackward(handle, scale, ratio, aligned, THEIRS(grads), THEIRS(boxes),
                           THEIRS(grads_image)));
  CHECK(twin_close(&grads_image));
  OK(mluOpDestroyRoiAlignForwardDescriptor(desc));
  OK(plainDestroyRoiAlignForwardDescriptor(plain_desc));
  TWINS_FREE(&input, &boxes, &output, &x, &y, &grads, &grads_image);
}

const struct family_calls family_roi_align = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpRoiAlignForward_v2", make_forward, run_forward},
              {"mluOpRoiAlignBackward", make_backward, run_backward},
              {"mluOpRoiAlignBackward_v2", make_backward_v2, run_backward_v2}},
    .values = {roi_align_values},
};

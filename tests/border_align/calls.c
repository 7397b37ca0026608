/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

enum { BORDER_POOL = 4 };

static void make_border_align(struct call *call, int backward) {
  const int h = call->wide ? 24 : 1, c = call->wide ? 32 : 1, k = h * h;
  const struct spec map = NHWC(1, h, h, 4 * c), result = NHWC(1, k, 4, c);
  const struct spec argmax = {MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, k, 4, c}, 4};
  const struct spec boxes = ARRAY3(1, k, 4);
  call_input(call, backward ? result : map);
  call_fill_boxes(call_input(call, boxes), 4, (float)h);
  if (backward) {
    const struct tensor *indices = call_input(call, argmax);
    for (size_t i = 0; indices->data != NULL && i < indices->bytes / 4; i++) {
      ((int32_t *)indices->data)[i] = (int32_t)(i % (BORDER_POOL + 1));
    }
    call_output(call, map);
  } else {
    call_output(call, result);
    call_output(call, argmax);
  }
}

static void make_border_align_forward(struct call *call) { make_border_align(call, 0); }
static void make_border_align_backward(struct call *call) { make_border_align(call, 1); }

static mluOpStatus_t border_align_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpBorderAlignForward(handle, DP(0), DP(1), BORDER_POOL, DP(2), DP(3));
}

static mluOpStatus_t border_align_backward(mluOpHandle_t handle, struct call *call) {
  return mluOpBorderAlignBackward(handle, DP(0), DP(1), DP(2), BORDER_POOL, DP(3));
}

const struct family_calls family_border_align = {
    .calls = {{"mluOpBorderAlignForward", make_border_align_forward, border_align_forward},
              {"mluOpBorderAlignBackward", make_border_align_backward, border_align_backward}},
};

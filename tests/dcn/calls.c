/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

static mluOpStatus_t create(void **object) {
  mluOpDCNDescriptor_t made = NULL;
  const mluOpStatus_t status = mluOpCreateDCNDescriptor(&made);
  *object = made;
  return status;
}

static mluOpStatus_t destroy(void *object) { return mluOpDestroyDCNDescriptor(object); }

enum { OPERATOR_FORWARD, OPERATOR_DATA, OPERATOR_WEIGHT };

/* 3 x 3 taps with padding 1, or one tap of one pixel. */
static void make_dcn(struct call *call, int operator_) {
  const int n = call->wide ? 2 : 1, h = call->wide ? 24 : 1, c = call->wide ? 32 : 1;
  const int k = call->wide ? 3 : 1, padding = call->wide;
  const int pad[] = {padding, padding, padding, padding}, one[] = {1, 1};
  const struct spec map = NHWC(n, h, h, c), offset = NHWC(n, h, h, k * k * 2);
  const struct spec mask = NHWC(n, h, h, k * k), filter = NHWC(c, k, k, c);
  const struct spec bias = {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {c}, 1};
  call->failed |= create(&call->object) != MLUOP_STATUS_SUCCESS ||
                  mluOpSetDCNDescriptor(call->object, 4, pad, one, one, 1, 1, 1,
                                        MLUOP_DTYPE_FLOAT) != MLUOP_STATUS_SUCCESS;
  call_input(call, map);
  call_input(call, offset);
  call_input(call, mask);
  call_input(call, operator_ == OPERATOR_WEIGHT ? map : filter);
  if (operator_ != OPERATOR_WEIGHT) call_input(call, operator_ == OPERATOR_FORWARD ? bias : map);
  if (operator_ == OPERATOR_WEIGHT) {
    call_output(call, filter);
    call_output(call, bias);
  } else {
    call_output(call, map);
    if (operator_ == OPERATOR_DATA) call_output(call, offset);
    if (operator_ == OPERATOR_DATA) call_output(call, mask);
  }
}

static void make_forward(struct call *call) { make_dcn(call, OPERATOR_FORWARD); }
static void make_backward_data(struct call *call) { make_dcn(call, OPERATOR_DATA); }
static void make_backward_weight(struct call *call) { make_dcn(call, OPERATOR_WEIGHT); }

static mluOpStatus_t run_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpDCNForward(handle, call->object, DP(0), DP(1), DP(2), DP(3), DP(4), NULL, 0, DP(5));
}

static mluOpStatus_t run_backward_data(mluOpHandle_t handle, struct call *call) {
  return mluOpDCNBackwardData(handle, call->object, DP(0), DP(1), DP(2), DP(3), DP(4), NULL, 0,
                              DP(5), DP(6), DP(7));
}

static mluOpStatus_t run_backward_weight(mluOpHandle_t handle, struct call *call) {
  return mluOpDCNBackwardWeight(handle, call->object, DP(0), DP(1), DP(2), DP(3), NULL, 0, DP(4),
                                DP(5));
}

const struct family_calls family_dcn = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpDCNForward", make_forward, run_forward},
              {"mluOpDCNBackwardData", make_backward_data, run_backward_data},
              {"mluOpDCNBackwardWeight", make_backward_weight, run_backward_weight}},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include "mlu_op_cpu.h"

enum { PSA_MASK = 11 };

static void make_psamask(struct call *call, int backward) {
  const int h = call->wide ? 24 : 1, mask = call->wide ? PSA_MASK * PSA_MASK : 1;
  const struct spec masks = NHWC(1, h, h, mask), spread = NHWC(1, h, h, h * h);
  call_input(call, backward ? spread : masks);
  call_output(call, backward ? masks : spread);
}

static void make_psamask_forward(struct call *call) { make_psamask(call, 0); }
static void make_psamask_backward(struct call *call) { make_psamask(call, 1); }

static mluOpStatus_t psamask_forward(mluOpHandle_t handle, struct call *call) {
  const int mask = call->wide ? PSA_MASK : 1;
  return mluOpPsamaskForward(handle, 1, DP(0), mask, mask, DP(1));
}

static mluOpStatus_t psamask_backward(mluOpHandle_t handle, struct call *call) {
  const int mask = call->wide ? PSA_MASK : 1;
  return mluOpPsamaskBackward(handle, 0, DP(0), mask, mask, DP(1));
}

static void make_psamask_nchw(struct call *call, int backward) {
  const int h = call->wide ? 24 : 1, mask = call->wide ? PSA_MASK * PSA_MASK : 1;
  const struct spec masks = NCHW(1, mask, h, h), spread = NCHW(1, h * h, h, h);
  call_input(call, backward ? spread : masks);
  call_output(call, backward ? masks : spread);
}

static void make_psamask_nchw_forward(struct call *call) { make_psamask_nchw(call, 0); }
static void make_psamask_nchw_backward(struct call *call) { make_psamask_nchw(call, 1); }

static mluOpStatus_t psamask_nchw_forward(mluOpHandle_t handle, struct call *call) {
  const int mask = call->wide ? PSA_MASK : 1;
  return mluOpCpuPsamaskNchwForward(handle, 1, DP(0), mask, mask, DP(1));
}

static mluOpStatus_t psamask_nchw_backward(mluOpHandle_t handle, struct call *call) {
  const int mask = call->wide ? PSA_MASK : 1;
  return mluOpCpuPsamaskNchwBackward(handle, 0, DP(0), mask, mask, DP(1));
}

const struct family_calls family_psamask = {
    .calls = {{"mluOpPsamaskForward", make_psamask_forward, psamask_forward},
              {"mluOpPsamaskBackward", make_psamask_backward, psamask_backward},
              {"mluOpCpuPsamaskNchwForward", make_psamask_nchw_forward, psamask_nchw_forward},
              {"mluOpCpuPsamaskNchwBackward", make_psamask_nchw_backward, psamask_nchw_backward}},
};

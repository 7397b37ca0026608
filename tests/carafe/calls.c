/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include "mlu_op_cpu.h"

static mluOpStatus_t create(void **object) {
  mluOpCarafeDescriptor_t made = NULL;
  const mluOpStatus_t status = mluOpCreateCarafeDescriptor(&made);
  *object = made;
  return status;
}

static mluOpStatus_t destroy(void *object) { return mluOpDestroyCarafeDescriptor(object); }

enum direction { FORWARD, FORWARD_NCHW, BACKWARD };

static void make_carafe(struct call *call, enum direction direction) {
  const int h = call->wide ? 16 : 1, c = call->wide ? 64 : 1, k = call->wide ? 5 : 1;
  const int s = call->wide ? 2 : 1;
  call->failed |= create(&call->object) != MLUOP_STATUS_SUCCESS ||
                  mluOpSetCarafeDescriptor(call->object, 4, k, 1, s) != MLUOP_STATUS_SUCCESS;
  const struct spec small = NHWC(1, h, h, c), large = NHWC(1, s * h, s * h, c);
  const struct spec mask = NHWC(1, s * h, s * h, k * k);
  call_input(call, small);
  call_input(call, mask);
  const struct spec planes = NCHW(1, c, s * h, s * h);
  call_add(call, direction == FORWARD_NCHW ? planes : large, direction != BACKWARD);
  if (direction == BACKWARD) {
    call_output(call, small);
    call_output(call, mask);
  }
}

static void make_carafe_forward(struct call *call) { make_carafe(call, FORWARD); }
static void make_carafe_nchw(struct call *call) { make_carafe(call, FORWARD_NCHW); }
static void make_carafe_backward(struct call *call) { make_carafe(call, BACKWARD); }

static mluOpStatus_t carafe_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpCarafeForward(handle, call->object, DP(0), DP(1), DP(2));
}

static mluOpStatus_t carafe_nchw(mluOpHandle_t handle, struct call *call) {
  return mluOpCpuCarafeNchwForward(handle, call->object, DP(0), DP(1), DP(2));
}

static mluOpStatus_t carafe_backward(mluOpHandle_t handle, struct call *call) {
  return mluOpCarafeBackward(handle, call->object, DP(0), DP(1), DP(2), DP(3), DP(4));
}

const struct family_calls family_carafe = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpCarafeForward", make_carafe_forward, carafe_forward},
              {"mluOpCpuCarafeNchwForward", make_carafe_nchw, carafe_nchw},
              {"mluOpCarafeBackward", make_carafe_backward, carafe_backward}},
};

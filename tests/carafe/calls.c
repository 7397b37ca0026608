/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

PLAIN(CreateCarafeDescriptor);
PLAIN(SetCarafeDescriptor);
PLAIN(DestroyCarafeDescriptor);
PLAIN(CarafeForward);
PLAIN(CarafeBackward);

static mluOpStatus_t create(void **object) {
  mluOpCarafeDescriptor_t made = NULL;
  const mluOpStatus_t status = mluOpCreateCarafeDescriptor(&made);
  *object = made;
  return status;
}

static mluOpStatus_t destroy(void *object) { return mluOpDestroyCarafeDescriptor(object); }

static void make_carafe(struct call *call, int backward) {
  const int h = call->wide ? 16 : 1, c = call->wide ? 64 : 1, k = call->wide ? 5 : 1;
  const int s = call->wide ? 2 : 1;
  call->failed |= create(&call->object) != MLUOP_STATUS_SUCCESS ||
                  mluOpSetCarafeDescriptor(call->object, 4, k, 1, s) != MLUOP_STATUS_SUCCESS;
  const struct spec small = NHWC(1, h, h, c), large = NHWC(1, s * h, s * h, c);
  const struct spec mask = NHWC(1, s * h, s * h, k * k);
  call_input(call, small);
  call_input(call, mask);
  call_add(call, large, !backward);
  if (backward) {
    call_output(call, small);
    call_output(call, mask);
  }
}

static void make_carafe_forward(struct call *call) { make_carafe(call, 0); }
static void make_carafe_backward(struct call *call) { make_carafe(call, 1); }

static mluOpStatus_t carafe_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpCarafeForward(handle, call->object, DP(0), DP(1), DP(2));
}

static mluOpStatus_t carafe_backward(mluOpHandle_t handle, struct call *call) {
  return mluOpCarafeBackward(handle, call->object, DP(0), DP(1), DP(2), DP(3), DP(4));
}

static void carafe_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int kind = random_int(0, 4), many_groups = kind == 0, few_channels = kind == 1;
  const int n = random_int(1, 2), h = random_int(1, 7);
  const int w = few_channels ? random_int(16, 20) : random_int(1, 9);
  const int groups = many_groups ? random_int(8, 20) : random_int(1, 3);
  const int c = groups * (kind < 2 ? random_int(1, 17) : random_channels());
  const int k = 2 * random_int(0, 3) + 1, s = random_int(1, 3);
  struct twin input = twin_nhwc(dtype, n, h, w, c);
  struct twin mask = twin_nhwc(dtype, n, s * h, s * w, groups * k * k);
  struct twin output = twin_nhwc_output(dtype, n, s * h, s * w, c);
  struct twin grad = twin_nhwc(dtype, n, s * h, s * w, c);
  struct twin grad_input = twin_nhwc_output(dtype, n, h, w, c);
  struct twin grad_mask = twin_nhwc_output(dtype, n, s * h, s * w, groups * k * k);
  mluOpCarafeDescriptor_t desc, plain_desc;
  OK(mluOpCreateCarafeDescriptor(&desc));
  OK(mluOpSetCarafeDescriptor(desc, 4, k, groups, s));
  OK(plainCreateCarafeDescriptor(&plain_desc));
  OK(plainSetCarafeDescriptor(plain_desc, 4, k, groups, s));
  OK(mluOpCarafeForward(handle, desc, OURS(input), OURS(mask), OURS(output)));
  OK(plainCarafeForward(handle, plain_desc, THEIRS(input), THEIRS(mask), THEIRS(output)));
  CHECK(twin_close(&output));
  OK(mluOpCarafeBackward(handle, desc, OURS(input), OURS(mask), OURS(grad), OURS(grad_input),
                         OURS(grad_mask)));
  OK(plainCarafeBackward(handle, plain_desc, THEIRS(input), THEIRS(mask), THEIRS(grad),
                         THEIRS(grad_input), THEIRS(grad_mask)));
  CHECK(twin_close(&grad_input));
  CHECK(twin_close(&grad_mask));
  OK(mluOpDestroyCarafeDescriptor(desc));
  OK(plainDestroyCarafeDescriptor(plain_desc));
  TWINS_FREE(&input, &mask, &output, &grad, &grad_input, &grad_mask);
}

const struct family_calls family_carafe = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpCarafeForward", make_carafe_forward, carafe_forward},
              {"mluOpCarafeBackward", make_carafe_backward, carafe_backward}},
    .values = {carafe_values},
};

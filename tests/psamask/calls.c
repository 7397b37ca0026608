/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

PLAIN(PsamaskForward);
PLAIN(PsamaskBackward);

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

static void psamask_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  if (dtype != MLUOP_DTYPE_FLOAT) return;
  const int n = random_int(1, 2), h = random_int(1, 20), w = random_int(1, 40);
  const int rows = random_int(1, 2 * h), columns = random_int(1, 2 * w), type = random_int(0, 1);
  struct twin x = twin_nhwc(dtype, n, h, w, rows * columns);
  struct twin y = twin_nhwc_output(dtype, n, h, w, h * w);
  struct twin dy = twin_nhwc(dtype, n, h, w, h * w);
  struct twin dx = twin_nhwc_output(dtype, n, h, w, rows * columns);
  OK(mluOpPsamaskForward(handle, type, OURS(x), rows, columns, OURS(y)));
  OK(plainPsamaskForward(handle, type, THEIRS(x), rows, columns, THEIRS(y)));
  CHECK(twin_same(&y));
  OK(mluOpPsamaskBackward(handle, type, OURS(dy), rows, columns, OURS(dx)));
  OK(plainPsamaskBackward(handle, type, THEIRS(dy), rows, columns, THEIRS(dx)));
  CHECK(twin_same(&dx));
  TWINS_FREE(&x, &y, &dy, &dx);
}

const struct family_calls family_psamask = {
    .calls = {{"mluOpPsamaskForward", make_psamask_forward, psamask_forward},
              {"mluOpPsamaskBackward", make_psamask_backward, psamask_backward}},
    .values = {psamask_values},
};

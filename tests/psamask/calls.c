/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include "mlu_op_cpu.h"

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

/* In NCHW, beside the plain loop of NHWC: what goes in and comes out is converted. */
static void psamask_nchw_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  if (dtype != MLUOP_DTYPE_FLOAT) return;
  const int n = random_int(1, 2), h = random_int(1, 20), w = random_int(1, 40);
  const int rows = random_int(1, 2 * h), columns = random_int(1, 2 * w), type = random_int(0, 1);
  for (int backward = 0; backward <= 1; backward++) {
    const int from = backward ? h * w : rows * columns, to = backward ? rows * columns : h * w;
    struct twin x = twin_nhwc(dtype, n, h, w, from), y = twin_nhwc_output(dtype, n, h, w, to);
    struct twin source = twin_new(MLUOP_LAYOUT_NCHW, dtype, (int[4]){n, from, h, w});
    struct twin target = twin_output(MLUOP_LAYOUT_NCHW, dtype, (int[4]){n, to, h, w});
    OK(mluOpCpuConvertLayout(handle, OURS(x), OURS(source)));
    if (backward) {
      OK(mluOpCpuPsamaskNchwBackward(handle, type, OURS(source), rows, columns, OURS(target)));
      OK(plainPsamaskBackward(handle, type, THEIRS(x), rows, columns, THEIRS(y)));
    } else {
      OK(mluOpCpuPsamaskNchwForward(handle, type, OURS(source), rows, columns, OURS(target)));
      OK(plainPsamaskForward(handle, type, THEIRS(x), rows, columns, THEIRS(y)));
    }
    OK(mluOpCpuConvertLayout(handle, OURS(target), OURS(y)));
    CHECK(twin_same(&y));
    TWINS_FREE(&x, &y, &source, &target);
  }
}

const struct family_calls family_psamask = {
    .calls = {{"mluOpPsamaskForward", make_psamask_forward, psamask_forward},
              {"mluOpPsamaskBackward", make_psamask_backward, psamask_backward},
              {"mluOpCpuPsamaskNchwForward", make_psamask_nchw_forward, psamask_nchw_forward},
              {"mluOpCpuPsamaskNchwBackward", make_psamask_nchw_backward, psamask_nchw_backward}},
    .values = {psamask_values, psamask_nchw_values},
};

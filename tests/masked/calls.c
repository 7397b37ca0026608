/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

/* Each position of the map once, in an order that is not sorted. */
static void fill_positions(struct call *call, int first, int h, int w, int count) {
  int32_t *rows = P(first), *columns = P(first + 1);
  if (rows == NULL || columns == NULL) return;
  for (int m = 0; m < count; m++) {
    const int at = (int)((int64_t)m * 7 % (h * w));
    rows[m] = at / w;
    columns[m] = at % w;
  }
}

static void make_masked_im2col(struct call *call) {
  const int h = call->wide ? 48 : 1, c = call->wide ? 32 : 1, k = call->wide ? 3 : 1;
  const int count = call->wide ? 1000 : 1;
  const struct spec map = NCHW(1, c, h, h), columns = ARRAY2(c * k * k, count);
  const struct spec indices = INDICES(count);
  call_input(call, map);
  call_input(call, indices);
  call_input(call, indices);
  call_output(call, columns);
  fill_positions(call, 1, h, h, count);
}

static mluOpStatus_t masked_im2col_forward(mluOpHandle_t handle, struct call *call) {
  const int k = call->wide ? 3 : 1;
  size_t bytes;
  const mluOpStatus_t status =
      mluOpGetMaskedIm2colForwardWorkspaceSize(handle, D(0), D(1), D(2), k, k, D(3), &bytes);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (bytes > CALL_MAX_WORKSPACE) return MLUOP_STATUS_INTERNAL_ERROR;
  return mluOpMaskedIm2colForward(handle, DP(0), DP(1), DP(2), k, k, k / 2, k / 2, call->workspace,
                                  bytes, DP(3));
}

static void make_masked_col2im(struct call *call) {
  const int h = call->wide ? 48 : 1, c = call->wide ? 200 : 1, count = call->wide ? 1000 : 1;
  const struct spec map = NCHW(1, c, h, h), columns = ARRAY2(c, count);
  const struct spec indices = INDICES(count);
  call_input(call, columns);
  call_input(call, indices);
  call_input(call, indices);
  call_output(call, map);
  fill_positions(call, 1, h, h, count);
}

static mluOpStatus_t masked_col2im_forward(mluOpHandle_t handle, struct call *call) {
  size_t bytes;
  const mluOpStatus_t status =
      mluOpGetMaskedCol2imForwardWorkspaceSize(handle, D(0), D(1), D(2), D(3), &bytes);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (bytes > CALL_MAX_WORKSPACE) return MLUOP_STATUS_INTERNAL_ERROR;
  return mluOpMaskedCol2imForward(handle, DP(0), DP(1), DP(2), bytes, call->workspace, DP(3));
}

const struct family_calls family_masked = {
    .calls = {{"mluOpMaskedIm2colForward", make_masked_im2col, masked_im2col_forward},
              {"mluOpMaskedCol2imForward", make_masked_col2im, masked_col2im_forward}},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

PLAIN(MaskedIm2colForward);
PLAIN(MaskedCol2imForward);

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

static void masked_im2col_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int c = random_int(1, 9), h = random_int(1, 20), w = random_int(1, 40);
  const int m = random_int(1, 200), kh = random_int(1, 3), kw = random_int(1, 4);
  const int feature_dims[] = {1, c, h, w}, column_dims[] = {c * kh * kw, m, 0, 0};
  struct twin feature = twin_new(MLUOP_LAYOUT_NCHW, dtype, feature_dims);
  struct twin ys = twin_array(MLUOP_DTYPE_INT32, m, 0, 0, 0);
  struct twin xs = twin_array(MLUOP_DTYPE_INT32, m, 0, 0, 0);
  struct twin columns = twin_output(MLUOP_LAYOUT_ARRAY, dtype, column_dims);
  const int runs = random_int(0, 1);
  for (int i = 0, at = 0; i < m; i++, at += runs ? random_int(1, 2) : random_int(0, 50)) {
    twin_set(&ys, i, at / w - 1);
    twin_set(&xs, i, at % w - 1);
  }
  OK(mluOpMaskedIm2colForward(handle, OURS(feature), OURS(ys), OURS(xs), kh, kw, 1, 0, NULL, 0,
                              OURS(columns)));
  OK(plainMaskedIm2colForward(handle, THEIRS(feature), THEIRS(ys), THEIRS(xs), kh, kw, 1, 0, NULL,
                              0, THEIRS(columns)));
  CHECK(twin_same(&columns));
  TWINS_FREE(&feature, &ys, &xs, &columns);
}

static void masked_col2im_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int c = random_int(1, 9), h = random_int(1, 20), w = random_int(1, 40);
  const int m = random_int(1, 200);
  const int image_dims[] = {1, c, h, w};
  struct twin columns = twin_array(dtype, c, m, 0, 0);
  struct twin ys = twin_array(MLUOP_DTYPE_INT32, m, 0, 0, 0);
  struct twin xs = twin_array(MLUOP_DTYPE_INT32, m, 0, 0, 0);
  struct twin image = twin_output(MLUOP_LAYOUT_NCHW, dtype, image_dims);
  const int sorted = random_int(0, 1);
  for (int i = 0, at = 0; i < m; i++, at = (at + (sorted ? 1 : random_int(0, 99))) % (h * w)) {
    twin_set(&ys, i, at / w);
    twin_set(&xs, i, at % w);
  }
  OK(mluOpMaskedCol2imForward(handle, OURS(columns), OURS(ys), OURS(xs), 0, NULL, OURS(image)));
  OK(plainMaskedCol2imForward(handle, THEIRS(columns), THEIRS(ys), THEIRS(xs), 0, NULL,
                              THEIRS(image)));
  CHECK(twin_same(&image));
  TWINS_FREE(&columns, &ys, &xs, &image);
}

const struct family_calls family_masked = {
    .calls = {{"mluOpMaskedIm2colForward", make_masked_im2col, masked_im2col_forward},
              {"mluOpMaskedCol2imForward", make_masked_col2im, masked_col2im_forward}},
    .values = {masked_im2col_values, masked_col2im_values},
};

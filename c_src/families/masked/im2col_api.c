/* SPDX-License-Identifier: Apache-2.0 */
#include "families/masked/api.h"
#include "families/masked/kernels.h"

/* Positions that are few for a row, those that are many enough, and those that are many. */
enum { SHORT_ROW = 48, FLAT_ROW = 1 << 12, LONG_ROW = 1 << 14 };

/* Whether a position is in a row above that of the one before it. */
static bool go_back(const struct masked_args *args) {
  int64_t m = 1;
  while (m < args->M && args->mask_h_idx[m] >= args->mask_h_idx[m - 1]) m++;
  return m < args->M;
}

/* Short rows become one: those of all taps of `channels` channels. It has as many positions as
   there are elements in all of them, each at the place of one tap. Those off the map get an index
   off the map. */
static void join_rows(struct masked_args *args, int64_t channels, int32_t *h_idx, int32_t *w_idx) {
  int32_t held_h[SHORT_ROW], held_w[SHORT_ROW]; /* read once, see hold_indices */
  memcpy(held_h, args->mask_h_idx, (size_t)args->M * sizeof(*held_h));
  memcpy(held_w, args->mask_w_idx, (size_t)args->M * sizeof(*held_w));
  const int64_t taps = args->window.kernel_h * args->window.kernel_w;
  int64_t at = 0;
  for (int64_t row = 0; row < channels * taps; row++) {
    const int64_t top = row / taps * args->H, tap = row % taps;
    for (int64_t m = 0; m < args->M; m++, at++) {
      const int64_t h = held_h[m] - args->window.pad_h + tap / args->window.kernel_w;
      const int64_t w = held_w[m] - args->window.pad_w + tap % args->window.kernel_w;
      const bool inside = h >= 0 && h < args->H && w >= 0 && w < args->W;
      h_idx[at] = inside ? (int32_t)(top + h) : -1;
      w_idx[at] = inside ? (int32_t)w : 0;
    }
  }
  args->mask_h_idx = h_idx;
  args->mask_w_idx = w_idx;
  args->M = at;
  args->C /= channels;
  args->H *= channels;
  args->window = (struct masked_window){1, 1, 0, 0};
}

/* Where that pays, and there is memory for it. */
static bool join_short_rows(mluOpHandle_t handle, struct masked_args *args) {
  const int64_t taps = args->window.kernel_h * args->window.kernel_w,
                vector = 64 / args->element_size;
  if (args->M > SHORT_ROW || taps > FLAT_ROW / args->M || args->C < CHANNELS_PER_THREAD) {
    return false;
  }
  int64_t channels = 1;
  while (channels * taps * args->M < vector && args->C % (2 * channels) == 0) channels *= 2;
  if (channels * taps == 1) return false;
  const int64_t count = channels * taps * args->M;
  int32_t *indices = mluop_scratch(handle, 2 * (size_t)count * sizeof(*indices));
  if (indices != NULL) join_rows(args, channels, indices, indices + count);
  return indices != NULL;
}

mluOpStatus_t mluOpGetMaskedIm2colForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const int kernel_h, const int kernel_w, const mluOpTensorDescriptor_t data_col_desc,
    size_t *workspace_size) {
  struct mluop_call call = {
      .api = "mluOpGetMaskedIm2colForwardWorkspaceSize",
      .handle = handle,
      .objects = {{.name = "workspace_size", .pointer = workspace_size}},
      .tensors = {[SOURCE] = {.name = "feature", .desc = feature_desc},
                  [MASK_H_IDX] = {.name = "mask_h_idx", .desc = mask_h_idx_desc},
                  [MASK_W_IDX] = {.name = "mask_w_idx", .desc = mask_w_idx_desc},
                  [TARGET] = {.name = "data_col", .desc = data_col_desc}},
      .scalars = {mluop_integer("kernel_h", kernel_h), mluop_integer("kernel_w", kernel_w)}};
  mluOpStatus_t status;
  if (!masked_rules_hold(&call, true, &status)) return status;
  *workspace_size = 0;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpMaskedIm2colForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void *feature,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void *mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void *mask_w_idx, const int kernel_h,
    const int kernel_w, const int pad_h, const int pad_w, void *workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t data_col_desc, void *data_col) {
  struct mluop_call call = {
      .api = "mluOpMaskedIm2colForward",
      .gen_case = "masked_im2col_forward masked_im2col_forward_param",
      .handle = handle,
      .tensors = {[SOURCE] = {"feature", feature_desc, feature, .output = false},
                  [MASK_H_IDX] = {"mask_h_idx", mask_h_idx_desc, mask_h_idx, .output = false},
                  [MASK_W_IDX] = {"mask_w_idx", mask_w_idx_desc, mask_w_idx, .output = false},
                  [TARGET] = {"data_col", data_col_desc, data_col, .output = true}},
      .scalars = {mluop_integer("kernel_h", kernel_h), mluop_integer("kernel_w", kernel_w),
                  mluop_integer("pad_h", pad_h), mluop_integer("pad_w", pad_w)},
      .workspace = workspace,
      .workspace_size = workspace_size};
  mluOpStatus_t status;
  if (!masked_rules_hold(&call, true, &status)) return status;
  if (mluop_extent(&call, 'M') == 0) return SUCCESS;
  if (!mluop_contract_holds(&call, data_rules, &status)) return status;
  struct masked_args args = masked_args_of(&call);
  args.window = (struct masked_window){kernel_h, kernel_w, pad_h, pad_w};
  if (!join_short_rows(handle, &args) && !hold_indices(handle, &args)) {
    return mluop_no_scratch(&call);
  }
  const int64_t bytes = args.M * args.element_size;
  const int64_t feature_bytes = args.C * args.H * args.W * args.element_size;
  args.plan.row = args.M;
  args.plan.blocks = mluop_div_up(bytes, MASKED_BLOCK_BYTES);
  /* Planes beyond the caches had better be read one after the other if positions go back. */
  const bool can = args.M > LONG_ROW && args.C >= mluop_num_threads(handle);
  if (can && mluop_exceeds_caches(handle, feature_bytes) && go_back(&args)) {
    args.plan.share = MASKED_PLANES;
  }
  const int64_t taps = args.window.kernel_h * args.window.kernel_w;
  masked_run(handle, &args, masked_im2col_forward, bytes * taps * BYTE_COST);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "families/masked/api.h"
#include "families/masked/kernels.h"

/* Without positions, im becomes zero and nothing else is needed. */
static const struct mluop_rule no_position_rules[] = {
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_BIT(TARGET)},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* Leaves a message if one of the indices is bad. */
static bool indices_below(const struct mluop_call *call, int tensor, const int32_t *indices,
                          char extent) {
  const uint32_t last = (uint32_t)(mluop_extent(call, extent) - 1);
  const int64_t count = mluop_extent(call, 'M');
  int64_t m = 0;
  while (m < count && (uint32_t)indices[m] <= last) m++;
  if (m == count) return true;
  mluop_fail(BAD_PARAM, call->api,
             "%s[%" PRId64 "] is %" PRId32 ", expected 0 to %" PRIu32 " (%c-1)",
             call->tensors[tensor].name, m, indices[m], last, extent);
  return false;
}

/* Finds the places of all positions, and what else is true of them. */
static uint32_t locate(mluOpHandle_t handle, struct masked_args *args) {
  uint32_t seen = 0;
  args->plan.seen = &seen;
  const struct mluop_job job = {.kernel = masked_col2im_locate[handle->isa],
                                .args = args,
                                .count = args->M,
                                .grain = mluop_grain(POSITION_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
  return seen;
}

mluOpStatus_t mluOpGetMaskedCol2imForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const mluOpTensorDescriptor_t im_desc, size_t *workspace_size) {
  struct mluop_call call = {
      .api = "mluOpGetMaskedCol2imForwardWorkspaceSize",
      .handle = handle,
      .objects = {{.name = "workspace_size", .pointer = workspace_size}},
      .tensors = {[SOURCE] = {.name = "col", .desc = col_desc},
                  [MASK_H_IDX] = {.name = "mask_h_idx", .desc = mask_h_idx_desc},
                  [MASK_W_IDX] = {.name = "mask_w_idx", .desc = mask_w_idx_desc},
                  [TARGET] = {.name = "im", .desc = im_desc}}};
  mluOpStatus_t status;
  if (!masked_rules_hold(&call, false, &status)) return status;
  *workspace_size = 0;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpMaskedCol2imForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const void *col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void *mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void *mask_w_idx,
    const size_t workspace_size, void *workspace, const mluOpTensorDescriptor_t im_desc, void *im) {
  struct mluop_call call = {
      .api = "mluOpMaskedCol2imForward",
      .gen_case = "masked_col2im_forward",
      .handle = handle,
      .tensors = {[SOURCE] = {"col", col_desc, col, .output = false},
                  [MASK_H_IDX] = {"mask_h_idx", mask_h_idx_desc, mask_h_idx, .output = false},
                  [MASK_W_IDX] = {"mask_w_idx", mask_w_idx_desc, mask_w_idx, .output = false},
                  [TARGET] = {"im", im_desc, im, .output = true}},
      .workspace = workspace,
      .workspace_size = workspace_size};
  mluOpStatus_t status;
  if (!masked_rules_hold(&call, false, &status)) return status;
  const bool empty = mluop_extent(&call, 'M') == 0;
  if (!mluop_contract_holds(&call, empty ? no_position_rules : data_rules, &status)) return status;
  struct masked_args args = masked_args_of(&call);
  if (!hold_indices(handle, &args)) return mluop_no_scratch(&call);
  const uint32_t seen = locate(handle, &args);
  if (seen & MASKED_OUT_OF_MAP) {
    if (indices_below(&call, MASK_H_IDX, args.mask_h_idx, 'H')) {
      indices_below(&call, MASK_W_IDX, args.mask_w_idx, 'W');
    }
    return MLUOP_STATUS_BAD_PARAM;
  }
  const int64_t bytes = args.H * args.W * args.element_size;
  args.plan.row = args.H * args.W;
  args.plan.sorted = (seen & MASKED_UNORDERED) == 0;
  args.plan.blocks = args.plan.sorted ? mluop_div_up(bytes, MASKED_BLOCK_BYTES) : 1;
  args.plan.stream &= args.plan.sorted;
  masked_run(handle, &args, masked_col2im_forward, bytes * BYTE_COST);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}

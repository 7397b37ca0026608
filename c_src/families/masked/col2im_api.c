/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "families/masked/api.h"
#include "families/masked/col2im.h"
#include "families/masked/kernels.h"

enum { COL = 0, IM = 3 };

#define VALUES (MLUOP_BIT(COL) | MLUOP_BIT(IM))

/* Picoseconds of a byte of im, and of a position that is checked. */
enum { BYTE_COST = 153, POSITION_COST = 610 };

/* Channels of a thread that are worth describing every block again; if one element in so many has
   a column, all that counts is how a plane is cleared. */
enum { CHANNELS_PER_THREAD = 8, FEW_POSITIONS = 24 };

/* A col without rows needs no rule of its own: its shape says that im is empty. */
static const struct mluop_rule rules[] = {
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(COL), .value = 2},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = INDICES, .value = 1},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(IM), .value = 4},
    {.check = CHECK_LAYOUT,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(IM),
     .value = MLUOP_LAYOUT_NCHW},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(COL)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = VALUES, .value = COL},
    {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = INDICES, .value = MLUOP_DTYPE_INT32},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(COL), .text = "C M"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = INDICES, .text = "M"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(IM), .text = "1 C H W"},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(IM)},
    {.check = CHECK_END}};

static const struct mluop_rule data_rules[] = {
    {.check = CHECK_WORKSPACE, .status = BAD_PARAM},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* Without positions, im becomes zero and nothing else is needed. */
static const struct mluop_rule no_position_rules[] = {
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_BIT(IM)},
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

static void check_positions(mluOpHandle_t handle, const struct masked_col2im_args *args) {
  const struct mluop_job job = {.kernel = masked_col2im_check[handle->isa],
                                .args = args,
                                .count = args->call.M,
                                .grain = mluop_grain(POSITION_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
}

static bool are_sorted(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct masked_col2im_args *args = vargs;
  return (*args->seen & MASKED_COL2IM_UNORDERED) == 0;
}

static bool are_many(const void *vargs, mluOpHandle_t machine) {
  const struct masked_call *call = &((const struct masked_col2im_args *)vargs)->call;
  return call->M * FEW_POSITIONS >= call->H * call->W || call->C < mluop_num_threads(machine);
}

/* Channels, or blocks of them. */
static void share_out(const struct masked_col2im_args *args, struct mluop_job *job) {
  const int64_t parts = args->by_channel ? 1 : args->blocks;
  const int64_t plane_bytes = args->call.H * args->call.W * args->call.element_size;
  job->count = args->call.C * parts;
  const int64_t cost = plane_bytes / parts * BYTE_COST;
  job->grain = mluop_grain(cost);
  job->schedule = MLUOP_STATIC;
  job->unit = mluop_max(CHANNELS_PER_THREAD, mluop_unit(cost));
}

static void plan_sorted(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct masked_col2im_args *args = vargs;
  const int64_t plane_bytes = args->call.H * args->call.W * args->call.element_size;
  args->blocks = mluop_div_up(plane_bytes, MASKED_COL2IM_BLOCK_BYTES);
  args->by_channel = args->call.C >= CHANNELS_PER_THREAD * (int64_t)mluop_num_threads(machine);
  share_out(args, job);
}

static void plan_unordered(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  (void)machine;
  struct masked_col2im_args *args = vargs;
  args->by_channel = 1;
  share_out(args, job);
}

static const struct mluop_way ways[] = {
    {"sorted", are_sorted, are_many, plan_sorted, masked_col2im_sorted},
    {"unordered", NULL, NULL, plan_unordered, masked_col2im_unordered}};

mluOpStatus_t mluOpGetMaskedCol2imForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const mluOpTensorDescriptor_t im_desc, size_t *workspace_size) {
  struct mluop_call call = {
      .api = "mluOpGetMaskedCol2imForwardWorkspaceSize",
      .handle = handle,
      .objects = {{.name = "workspace_size", .pointer = workspace_size}},
      .tensors = {[COL] = {.name = "col", .desc = col_desc},
                  [MASK_H_IDX] = {.name = "mask_h_idx", .desc = mask_h_idx_desc},
                  [MASK_W_IDX] = {.name = "mask_w_idx", .desc = mask_w_idx_desc},
                  [IM] = {.name = "im", .desc = im_desc}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, query_null_rules, &status)) return status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
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
      .tensors = {[COL] = {"col", col_desc, col, .output = false},
                  [MASK_H_IDX] = {"mask_h_idx", mask_h_idx_desc, mask_h_idx, .output = false},
                  [MASK_W_IDX] = {"mask_w_idx", mask_w_idx_desc, mask_w_idx, .output = false},
                  [IM] = {"im", im_desc, im, .output = true}},
      .workspace = workspace,
      .workspace_size = workspace_size};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, null_rules, &status)) return status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  const bool empty = mluop_extent(&call, 'M') == 0;
  if (!mluop_contract_holds(&call, empty ? no_position_rules : data_rules, &status)) return status;
  uint32_t seen = 0;
  struct masked_col2im_args args = {.call = masked_call_of(&call, COL, IM), .seen = &seen};
  args.stream = mluop_exceeds_caches(handle, mluop_tensor_bytes(&call));
  if (!hold_indices(&call, &args.call, &status)) return status;
  check_positions(handle, &args);
  if (seen & MASKED_COL2IM_OUT_OF_MAP) {
    if (indices_below(&call, MASK_H_IDX, args.call.mask_h_idx, 'H')) {
      indices_below(&call, MASK_W_IDX, args.call.mask_w_idx, 'W');
    }
    return MLUOP_STATUS_BAD_PARAM;
  }
  struct mluop_job job = {.kernel = NULL};
  mluop_plan(handle, "masked_col2im_forward", ways, &args, &job);
  mluop_parallel_for(handle, &job);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/masked/api.h"
#include "families/masked/im2col.h"
#include "families/masked/kernels.h"

enum { FEATURE = 0, DATA_COL = 3 };

#define VALUES (MLUOP_BIT(FEATURE) | MLUOP_BIT(DATA_COL))

/* Picoseconds of a byte of data_col, also where each element is in another line of the feature;
   channels of a thread that are worth describing every block again. */
enum { BYTE_COST = 153, SPARSE_BYTE_COST = 1221, CHANNELS_PER_THREAD = 8 };

/* One position out of so many can be picked out of vectors; short rows cost as much as so many
   bytes for each of up to 4 positions; so many positions tell whether all are in disorder. */
enum { PICKED_FROM = 4, SHORT_ROW_BYTES = 24, SAMPLES = 64 };

/* Positions that are few for a row, those that are many enough, and those that are many. */
enum { SHORT_ROW = 48, FLAT_ROW = 1 << 12, LONG_ROW = 1 << 14 };

/* A data_col without rows needs no rule of its own: its shape says that the feature is empty. */
static const struct mluop_rule rules[] = {
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(FEATURE), .value = 4},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = INDICES, .value = 1},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(DATA_COL), .value = 2},
    {.check = CHECK_LAYOUT,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(FEATURE),
     .value = MLUOP_LAYOUT_NCHW},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(FEATURE)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = VALUES, .value = FEATURE},
    {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = INDICES, .value = MLUOP_DTYPE_INT32},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "kernel_h", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "kernel_w", .value = 1},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(FEATURE), .text = "1 C H W"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = INDICES, .text = "M"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(DATA_COL),
     .text = "C*kernel_h*kernel_w M"},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(FEATURE)},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = INDICES},
    {.check = CHECK_END}};

static const struct mluop_rule data_rules[] = {
    {.check = CHECK_WORKSPACE, .status = BAD_PARAM},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* Whether positions jump about, by a sample of them. */
static bool in_disorder(const struct masked_im2col_args *args) {
  const int64_t step = args->call.M / SAMPLES + 1;
  int64_t pairs = 0, descents = 0;
  for (int64_t m = 1; m < args->call.M; m += step, pairs++) {
    descents += args->call.mask_h_idx[m] < args->call.mask_h_idx[m - 1];
  }
  return descents * 4 > pairs;
}

/* A short row for each tap becomes one row: of as many positions as there are elements in all of
   them, each at the place of one tap. Those off the map get an index off the map. */
static void flatten(struct masked_im2col_args *args, int32_t *h_idx, int32_t *w_idx) {
  int32_t held_h[SHORT_ROW], held_w[SHORT_ROW]; /* read once, see hold_indices */
  memcpy(held_h, args->call.mask_h_idx, (size_t)args->call.M * sizeof(*held_h));
  memcpy(held_w, args->call.mask_w_idx, (size_t)args->call.M * sizeof(*held_w));
  int64_t at = 0;
  for (int64_t i = 0; i < args->kernel_h; i++) {
    for (int64_t j = 0; j < args->kernel_w; j++) {
      for (int64_t m = 0; m < args->call.M; m++, at++) {
        const int64_t h = held_h[m] - args->pad_h + i;
        const int64_t w = held_w[m] - args->pad_w + j;
        const bool inside = h >= 0 && h < args->call.H && w >= 0 && w < args->call.W;
        h_idx[at] = inside ? (int32_t)h : -1;
        w_idx[at] = inside ? (int32_t)w : 0;
      }
    }
  }
  args->call.mask_h_idx = h_idx;
  args->call.mask_w_idx = w_idx;
  args->call.M = at;
  args->kernel_h = args->kernel_w = 1;
  args->pad_h = args->pad_w = 0;
}

/* Where that pays, and there is memory for it. */
static bool flatten_short_rows(mluOpHandle_t handle, struct masked_im2col_args *args) {
  const int64_t taps = args->kernel_h * args->kernel_w;
  const bool worth = taps > 1 && args->call.M <= SHORT_ROW && args->call.C >= CHANNELS_PER_THREAD;
  if (!worth || taps > FLAT_ROW / args->call.M) return false;
  const int64_t count = taps * args->call.M;
  int32_t *indices = mluop_scratch(handle, 2 * (size_t)count * sizeof(*indices));
  if (indices != NULL) flatten(args, indices, indices + count);
  return indices != NULL;
}

static void run(mluOpHandle_t handle, struct masked_im2col_args *args) {
  const struct masked_call *call = &args->call;
  const int64_t plane = call->H * call->W, threads = mluop_num_threads(handle);
  const int64_t row_bytes = call->M * call->element_size;
  args->blocks = mluop_div_up(row_bytes, MASKED_IM2COL_BLOCK_BYTES);
  const bool sparse = call->M > 4 && call->M * PICKED_FROM < plane;
  int64_t cost = mluop_max(row_bytes, SHORT_ROW_BYTES * mluop_min(call->M, 4)), items = call->C;
  cost *= args->kernel_h * args->kernel_w;
  const int64_t feature_bytes = call->C * plane * call->element_size;
  /* Planes beyond the caches had better be read one after the other if positions jump about. */
  if (mluop_exceeds_caches(handle, feature_bytes) && call->M > LONG_ROW && call->C >= threads &&
      in_disorder(args)) {
    args->share = MASKED_IM2COL_PLANES;
  } else if (call->C >= CHANNELS_PER_THREAD * threads) {
    args->share = MASKED_IM2COL_CHANNELS;
  } else {
    items *= args->blocks;
    cost /= args->blocks;
  }
  cost *= sparse ? SPARSE_BYTE_COST : BYTE_COST;
  const struct mluop_job job = {.kernel = masked_im2col_forward[handle->isa],
                                .args = args,
                                .count = items,
                                .grain = mluop_grain(cost),
                                .schedule = MLUOP_STATIC,
                                .unit = mluop_max(CHANNELS_PER_THREAD, mluop_unit(cost))};
  mluop_parallel_for(handle, &job);
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
      .tensors = {[FEATURE] = {.name = "feature", .desc = feature_desc},
                  [MASK_H_IDX] = {.name = "mask_h_idx", .desc = mask_h_idx_desc},
                  [MASK_W_IDX] = {.name = "mask_w_idx", .desc = mask_w_idx_desc},
                  [DATA_COL] = {.name = "data_col", .desc = data_col_desc}},
      .scalars = {mluop_integer("kernel_h", kernel_h), mluop_integer("kernel_w", kernel_w)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, query_null_rules, &status)) return status;
  if (!mluop_contract_holds(&call, rules, &status) && status != SUCCESS) return status;
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
      .tensors = {[FEATURE] = {"feature", feature_desc, feature, .output = false},
                  [MASK_H_IDX] = {"mask_h_idx", mask_h_idx_desc, mask_h_idx, .output = false},
                  [MASK_W_IDX] = {"mask_w_idx", mask_w_idx_desc, mask_w_idx, .output = false},
                  [DATA_COL] = {"data_col", data_col_desc, data_col, .output = true}},
      .scalars = {mluop_integer("kernel_h", kernel_h), mluop_integer("kernel_w", kernel_w),
                  mluop_integer("pad_h", pad_h), mluop_integer("pad_w", pad_w)},
      .workspace = workspace,
      .workspace_size = workspace_size};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, null_rules, &status)) return status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  if (!mluop_contract_holds(&call, data_rules, &status)) return status;
  struct masked_im2col_args args = {.call = masked_call_of(&call, FEATURE, DATA_COL),
                                    .kernel_h = kernel_h,
                                    .kernel_w = kernel_w,
                                    .pad_h = pad_h,
                                    .pad_w = pad_w};
  args.stream = mluop_exceeds_caches(handle, mluop_tensor_bytes(&call));
  if (!flatten_short_rows(handle, &args) && !hold_indices(&call, &args.call, &status)) {
    return status;
  }
  run(handle, &args);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}

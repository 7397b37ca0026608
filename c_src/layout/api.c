/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"
#include "layout/kernels.h"

enum { INPUT, OUTPUT };

enum {
  BYTE_COST = 60,       /* in picoseconds */
  NEAR_BYTES = 1 << 21, /* so near that a prefetch costs more than the wait */
  LINE_BYTES = 64
};

static bool check_layouts(struct mluop_call *call, const struct mluop_rule *rule,
                          mluOpStatus_t *status) {
  const mluOpTensorLayout_t from = call->tensors[INPUT].desc->layout;
  const mluOpTensorLayout_t to = call->tensors[OUTPUT].desc->layout;
  const bool known = from == MLUOP_LAYOUT_NCHW || from == MLUOP_LAYOUT_NHWC;
  if (!known) {
    *status = mluop_fail(rule->status, call->api, "input: layout is %s, expected NCHW or NHWC",
                         mluop_layout_name(from));
    return false;
  }
  const mluOpTensorLayout_t other =
      from == MLUOP_LAYOUT_NCHW ? MLUOP_LAYOUT_NHWC : MLUOP_LAYOUT_NCHW;
  if (to == other) return true;
  *status = mluop_fail(rule->status, call->api, "output: layout is %s, expected %s, input being %s",
                       mluop_layout_name(to), mluop_layout_name(other), mluop_layout_name(from));
  return false;
}

static bool check_size(struct mluop_call *call, const struct mluop_rule *rule,
                       mluOpStatus_t *status) {
  const mluOpDataType_t dtype = call->tensors[INPUT].desc->dtype;
  const size_t size = mluop_dtype_size(dtype);
  if (size == 2 || size == 4) return true;
  *status = mluop_fail(rule->status, call->api,
                       "input: dtype is %s, expected one whose elements have 2 or 4 bytes",
                       mluop_dtype_name(dtype));
  return false;
}

static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = check_layouts},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = check_size},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .value = INPUT},
    {.check = CHECK_END}};

static const struct mluop_rule nchw_rules[] = {
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT), .text = "N C H W"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .text = "N H W C"},
    {.check = CHECK_END}};

static const struct mluop_rule nhwc_rules[] = {
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT), .text = "N H W C"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .text = "N C H W"},
    {.check = CHECK_END}};

static const struct mluop_rule data_rules[] = {
    {.check = CHECK_CONTIGUOUS, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

mluOpStatus_t mluOpCpuConvertLayout(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                    const void *input, const mluOpTensorDescriptor_t output_desc,
                                    void *output) {
  struct mluop_call call = {
      .api = "mluOpCpuConvertLayout",
      .handle = handle,
      .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                  [OUTPUT] = {"output", output_desc, output, .output = true}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  const bool from_nhwc = input_desc->layout == MLUOP_LAYOUT_NHWC;
  if (!mluop_contract_holds(&call, from_nhwc ? nhwc_rules : nchw_rules, &status)) return status;
  if (!mluop_contract_holds(&call, data_rules, &status)) return status;

  const int64_t pixels = mluop_extent(&call, 'H') * mluop_extent(&call, 'W');
  const int64_t channels = mluop_extent(&call, 'C');
  const int64_t moved = mluop_tensor_bytes(&call);
  struct layout_args args = {.from = input,
                             .to = output,
                             .rows = from_nhwc ? pixels : channels,
                             .columns = from_nhwc ? channels : pixels,
                             .size = (int)mluop_dtype_size(input_desc->dtype),
                             .prefetch = moved > NEAR_BYTES};
  args.row_tiles = mluop_max(1, args.rows / LAYOUT_TILE);
  args.column_tiles = mluop_max(1, args.columns / LAYOUT_TILE);
  args.stream = mluop_exceeds_caches(handle, moved) && args.rows * args.size % LINE_BYTES == 0;
  const int64_t count = mluop_extent(&call, 'N') * args.row_tiles * args.column_tiles;
  const struct mluop_job job = {.kernel = layout_convert[handle->isa],
                                .args = &args,
                                .count = count,
                                .grain = mluop_grain(moved / count * BYTE_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
  return MLUOP_STATUS_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/border_align.h"

#include <inttypes.h>

#include "core/contract.h"

/* input or grad_input; boxes; output or grad_output; argmax_idx */
enum { MAP, BOXES, ROWS, ARGMAX };

#define NHWC (MLUOP_BIT(MAP) | MLUOP_BIT(ROWS) | MLUOP_BIT(ARGMAX))

static bool argmax_in_range(struct mluop_call *call, const struct mluop_rule *rule,
                            mluOpStatus_t *status) {
  const struct mluop_tensor *argmax = &call->tensors[ARGMAX];
  const int32_t *values = argmax->data;
  const int64_t pool_size = call->scalars[0].value, C = mluop_extent(call, 'C');
  for (int64_t i = 0; i < argmax->desc->element_num; i++) {
    if (values[i] >= 0 && values[i] <= pool_size) continue;
    const int64_t row = i / (4 * C);
    const int64_t K = mluop_extent(call, 'H') * mluop_extent(call, 'W');
    *status = mluop_fail(rule->status, call->api,
                         "argmax_idx[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "] is %" PRId32
                         ", expected 0 to %" PRId64 " (pool_size)",
                         row / K, row % K, i / C % 4, i % C, values[i], pool_size);
    return false;
  }
  return true;
}

/* The order of the contract, for both directions. */
static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .value = 3},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = NHWC, .value = 4},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_SAME_DTYPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(BOXES) | MLUOP_BIT(ROWS),
     .value = MAP},
    {.check = CHECK_DTYPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(ARGMAX),
     .value = MLUOP_DTYPE_INT32},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = NHWC, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP), .text = "N H W 4*C"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .text = "N H*W 4"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(ROWS) | MLUOP_BIT(ARGMAX),
     .text = "N H*W 4 C"},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pool_size", .value = 1},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

static const struct mluop_rule argmax_rules[] = {
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = argmax_in_range},
    {.check = CHECK_END}};

static mluOpStatus_t run(const struct mluop_call *call, mluop_kernel *kernel,
                         struct border_align_args *args, int64_t count, int64_t floats) {
  args->N = mluop_extent(call, 'N');
  args->H = mluop_extent(call, 'H');
  args->W = mluop_extent(call, 'W');
  args->C = mluop_extent(call, 'C');
  args->K = args->H * args->W;
  args->pool_size = (int32_t)call->scalars[0].value;
  args->is_half = mluop_is_half(call, MAP);
  const size_t stride = (size_t)mluop_div_up(floats, 16) * 64;
  const size_t bytes = stride * (size_t)mluop_num_threads(call->handle);
  void *scratch = mluop_scratch(call->handle, bytes);
  if (scratch == NULL) return mluop_no_scratch(call, bytes);
  const struct mluop_job job = {.kernel = kernel,
                                .args = args,
                                .count = count,
                                .grain = 1,
                                .schedule = MLUOP_STATIC,
                                .scratch = scratch,
                                .scratch_stride = stride};
  mluop_parallel_for(call->handle, &job);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpBorderAlignForward(mluOpHandle_t handle,
                                      const mluOpTensorDescriptor_t input_desc, const void *input,
                                      const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                                      const int32_t pool_size,
                                      const mluOpTensorDescriptor_t output_desc, void *output,
                                      const mluOpTensorDescriptor_t argmax_idx_desc,
                                      void *argmax_idx) {
  struct mluop_call call = {
      .api = "mluOpBorderAlignForward",
      .handle = handle,
      .tensors = {[MAP] = {"input", input_desc, input, .output = false},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"output", output_desc, output, .output = true},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = true}},
      .scalars = {{"pool_size", pool_size}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  struct border_align_args args = {
      .map = input, .boxes = boxes, .output = output, .argmax = argmax_idx};
  return run(&call, handle->kernels->border_align_forward, &args,
             mluop_extent(&call, 'N') * mluop_extent(&call, 'H') * mluop_extent(&call, 'W'),
             mluop_extent(&call, 'C'));
}

mluOpStatus_t mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void *argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input) {
  struct mluop_call call = {
      .api = "mluOpBorderAlignBackward",
      .handle = handle,
      .tensors = {[MAP] = {"grad_input", grad_input_desc, grad_input, .output = true},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = false}},
      .scalars = {{"pool_size", pool_size}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  if (!mluop_contract_holds(&call, argmax_rules, &status)) return status;
  struct border_align_args args = {
      .grad_map = grad_input, .boxes = boxes, .grad = grad_output, .chosen = argmax_idx};
  return run(&call, handle->kernels->border_align_backward, &args, mluop_extent(&call, 'N') * 4,
             mluop_extent(&call, 'H') * mluop_extent(&call, 'W') * mluop_extent(&call, 'C'));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/contract.h"
#include "families/border_align/kernels.h"
#include "families/border_align/plan.h"

/* input or grad_input; output or grad_output; boxes; argmax_idx */
enum { MAP, ROWS, BOXES, ARGMAX };

#define NHWC (MLUOP_BIT(MAP) | MLUOP_BIT(ROWS) | MLUOP_BIT(ARGMAX))

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

/* Picoseconds of an element of argmax that is checked. */
enum { ELEMENT_COST = 305 };

static struct border_align_shape shape_of(const struct mluop_call *call) {
  const int64_t H = mluop_extent(call, 'H'), W = mluop_extent(call, 'W');
  return (struct border_align_shape){
      .N = mluop_extent(call, 'N'),
      .H = H,
      .W = W,
      .C = mluop_extent(call, 'C'),
      .K = H * W,
      .pool_size = (int32_t)mluop_integer_of(call, "pool_size"),
      .is_half = mluop_is_half(call, MAP),
      .boxes = call->tensors[BOXES].data,
  };
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
      .gen_case = "border_align_forward border_align_param",
      .handle = handle,
      .tensors = {[MAP] = {"input", input_desc, input, .output = false},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"output", output_desc, output, .output = true},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = true}},
      .scalars = {mluop_integer("pool_size", pool_size)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  struct border_align_args args = {
      .shape = shape_of(&call), .map = input, .rows_out = output, .argmax_out = argmax_idx};
  return mluop_end_call(&call, mluop_border_align_run_forward(&call, &args));
}

/* Leaves *first as it is if every argmax is a step. */
static void find_bad_argmax(mluOpHandle_t handle, struct border_align_args *args, int64_t *first) {
  const struct border_align_shape *shape = &args->shape;
  args->bad = first;
  const struct mluop_job job = {.kernel = border_align_check[handle->isa],
                                .args = args,
                                .count = shape->N * shape->K * 4 * shape->C,
                                .grain = mluop_grain(ELEMENT_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
}

static mluOpStatus_t fail_argmax(const struct mluop_call *call,
                                 const struct border_align_args *args, int64_t element) {
  const struct border_align_shape *shape = &args->shape;
  const int64_t c = element % shape->C, border = element / shape->C, box = border / 4;
  return mluop_fail(MLUOP_STATUS_BAD_PARAM, call->api,
                    "argmax_idx[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "] is %" PRId32
                    ", expected 0 to %" PRId32 " (pool_size)",
                    box / shape->K, box % shape->K, border % 4, c, args->argmax[element],
                    shape->pool_size);
}

mluOpStatus_t mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void *argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input) {
  struct mluop_call call = {
      .api = "mluOpBorderAlignBackward",
      .gen_case = "border_align_backward border_align_param",
      .handle = handle,
      .tensors = {[MAP] = {"grad_input", grad_input_desc, grad_input, .output = true},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = false}},
      .scalars = {mluop_integer("pool_size", pool_size)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  struct border_align_args args = {
      .shape = shape_of(&call), .map_out = grad_input, .rows = grad_output, .argmax = argmax_idx};
  const int64_t elements = args.shape.N * args.shape.K * 4 * args.shape.C;
  int64_t bad = elements;
  find_bad_argmax(handle, &args, &bad);
  if (bad < elements) return fail_argmax(&call, &args, bad);
  return mluop_end_call(&call, mluop_border_align_run_backward(&call, &args));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/plan.h"

enum { MASKS, SPREAD }; /* x or dx, of h_mask * w_mask planes; y or dy, of H * W planes */

static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MLUOP_LAYOUT_NCHW},
    {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MLUOP_DTYPE_FLOAT},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "psa_type", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "psa_type", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "h_mask", .value = 0},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "w_mask", .value = 0},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(MASKS),
     .text = "N h_mask*w_mask H W"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(SPREAD), .text = "N H*W H W"},
    {.check = CHECK_CONTIGUOUS, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_ELEMENTS, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_END}};

/* What follows differs in which tensor is the input. */
static const struct mluop_rule forward_data_rules[] = {
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(MASKS)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

static const struct mluop_rule backward_data_rules[] = {
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(SPREAD)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

static void run(const struct mluop_call *call, bool forward, const void *source, void *target) {
  mluOpHandle_t handle = call->handle;
  mluop_kernel *const *const all[2][2] = {
      {psamask_nchw_collect_backward, psamask_nchw_distribute_backward},
      {psamask_nchw_collect_forward, psamask_nchw_distribute_forward}};
  struct psamask_args args = psamask_args_of(call, source, target);
  const int64_t planes = forward ? args.W : args.w_mask;
  const int64_t moved = psamask_moved_bytes(&args, forward);
  struct mluop_job job = {
      .kernel = all[forward][mluop_integer_of(call, "psa_type")][handle->isa],
      .args = &args,
      .count = args.N * (forward ? args.H : args.h_mask) * args.H,
      .grain = mluop_grain(planes * args.W * (int64_t)sizeof(float) * BYTE_COST),
      .schedule = MLUOP_STATIC,
      .scratch_bytes = PSAMASK_NCHW_SCRATCH};
  if (planes == 0) return;
  args.prefetch = moved > NEAR_BYTES;
  const int64_t room = PSAMASK_NCHW_SCRATCH / (int64_t)sizeof(float) / planes;
  if (args.W + PSAMASK_NCHW_SPARE <= room && mluop_reserve(handle, 0, &job) != NULL) {
    args.stream = mluop_exceeds_caches(handle, moved);
  }
  mluop_parallel_for(handle, &job);
}

mluOpStatus_t mluOpCpuPsamaskNchwForward(mluOpHandle_t handle, const int psa_type,
                                         const mluOpTensorDescriptor_t x_desc, const void *x,
                                         const int h_mask, const int w_mask,
                                         const mluOpTensorDescriptor_t y_desc, void *y) {
  struct mluop_call call = {
      .api = "mluOpCpuPsamaskNchwForward",
      .gen_case = "cpu_psamask_nchw_forward psamask_forward_param",
      .handle = handle,
      .tensors = {[MASKS] = {"x", x_desc, x, .output = false},
                  [SPREAD] = {"y", y_desc, y, .output = true}},
      .scalars = {mluop_integer("psa_type", psa_type), mluop_integer("h_mask", h_mask),
                  mluop_integer("w_mask", w_mask)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  if (!mluop_contract_holds(&call, forward_data_rules, &status)) return status;
  run(&call, true, x, y);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}

mluOpStatus_t mluOpCpuPsamaskNchwBackward(mluOpHandle_t handle, const int psa_type,
                                          const mluOpTensorDescriptor_t dy_desc, const void *dy,
                                          const int h_mask, const int w_mask,
                                          const mluOpTensorDescriptor_t dx_desc, void *dx) {
  struct mluop_call call = {
      .api = "mluOpCpuPsamaskNchwBackward",
      .gen_case = "cpu_psamask_nchw_backward psamask_backward_param",
      .handle = handle,
      .tensors = {[MASKS] = {"dx", dx_desc, dx, .output = true},
                  [SPREAD] = {"dy", dy_desc, dy, .output = false}},
      .scalars = {mluop_integer("psa_type", psa_type), mluop_integer("h_mask", h_mask),
                  mluop_integer("w_mask", w_mask)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  if (!mluop_contract_holds(&call, backward_data_rules, &status)) return status;
  run(&call, false, dy, dx);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}

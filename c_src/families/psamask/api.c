/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/plan.h"

enum { MASKS, SPREAD }; /* x or dx, of h_mask * w_mask channels; y or dy, of H * W channels */

enum { LINES_BYTES = 5 << 20 /* from here on, whole lines are the better way to distribute */ };

static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MLUOP_DTYPE_FLOAT},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "psa_type", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "psa_type", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "h_mask", .value = 0},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "w_mask", .value = 0},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(MASKS),
     .text = "N H W h_mask*w_mask"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(SPREAD), .text = "N H W H*W"},
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
  mluop_kernel *const *const all[2][2] = {{psamask_collect_backward, psamask_distribute_backward},
                                          {psamask_collect_forward, psamask_distribute_forward}};
  struct psamask_args args = psamask_args_of(call, source, target);
  const int64_t row = forward ? args.H * args.W : args.h_mask * args.w_mask;
  if (row == 0) return;
  const bool distributes = mluop_integer_of(call, "psa_type") == 1;
  const int64_t moved = psamask_moved_bytes(&args, forward);
  /* Distribute moves square tiles: a large one that is half empty costs more than two small ones.
   */
  const int isa = mluop_isa_for_run(handle, forward && distributes ? args.W / 2 + 1 : 0);
  struct mluop_job job = {.kernel = all[forward][distributes][isa],
                          .args = &args,
                          .count = args.N * args.H * args.W,
                          .grain = mluop_grain(row * (int64_t)sizeof(float) * BYTE_COST),
                          .schedule = MLUOP_STATIC};
  args.prefetch = moved > NEAR_BYTES;
  if (mluop_exceeds_caches(handle, moved) || (forward && distributes && moved > LINES_BYTES)) {
    /* Without room to stream from, results take the way through the caches. */
    job.scratch_bytes = distributes ? PSAMASK_DISTRIBUTE_SCRATCH : PSAMASK_COLLECT_SCRATCH;
    args.stream = mluop_reserve(handle, 0, &job) != NULL;
  }
  mluop_parallel_for(handle, &job);
}

mluOpStatus_t mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                  const mluOpTensorDescriptor_t x_desc, const void *x,
                                  const int h_mask, const int w_mask,
                                  const mluOpTensorDescriptor_t y_desc, void *y) {
  struct mluop_call call = {
      .api = "mluOpPsamaskForward",
      .gen_case = "psamask_forward psamask_forward_param",
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

mluOpStatus_t mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                   const mluOpTensorDescriptor_t dy_desc, const void *dy,
                                   const int h_mask, const int w_mask,
                                   const mluOpTensorDescriptor_t dx_desc, void *dx) {
  struct mluop_call call = {
      .api = "mluOpPsamaskBackward",
      .gen_case = "psamask_backward psamask_backward_param",
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/psamask.h"

#include "core/contract.h"

enum { MASKS, SPREAD }; /* x or dx, of h_mask * w_mask channels; y or dy, of H * W channels */

/* Bytes that are worth a second thread. */
enum { BLOCK_BYTES = 1 << 18 };

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

static void set_scalars(struct mluop_call *call, int psa_type, int h_mask, int w_mask) {
  call->scalars[0] = (struct mluop_scalar){"psa_type", psa_type};
  call->scalars[1] = (struct mluop_scalar){"h_mask", h_mask};
  call->scalars[2] = (struct mluop_scalar){"w_mask", w_mask};
}

static void run(const struct mluop_call *call, mluop_kernel *collect, mluop_kernel *distribute,
                const void *source, void *target, int64_t row_elements) {
  if (row_elements == 0) return;
  mluOpHandle_t handle = call->handle;
  struct psamask_args args = {
      .source = source,
      .target = target,
      .N = mluop_extent(call, 'N'),
      .H = mluop_extent(call, 'H'),
      .W = mluop_extent(call, 'W'),
      .h_mask = call->scalars[1].value,
      .w_mask = call->scalars[2].value,
  };
  const bool distributes = call->scalars[0].value == 1;
  const int64_t row_bytes = row_elements * (int64_t)sizeof(float);
  const int64_t count = args.N * args.H * args.W;
  struct mluop_job job = {.kernel = distributes ? distribute : collect,
                          .args = &args,
                          .count = count,
                          .grain = mluop_grain(BLOCK_BYTES, row_bytes),
                          .schedule = MLUOP_STATIC};
  if ((size_t)(count * row_bytes) > handle->cache_bytes) {
    /* Without room to stream from, results take the way through the caches. */
    job.scratch_stride = distributes ? PSAMASK_DISTRIBUTE_SCRATCH : PSAMASK_COLLECT_SCRATCH;
    job.scratch = mluop_scratch(handle, (size_t)mluop_num_threads(handle) * job.scratch_stride);
    args.stream = job.scratch != NULL;
  }
  mluop_parallel_for(handle, &job);
}

mluOpStatus_t mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                  const mluOpTensorDescriptor_t x_desc, const void *x,
                                  const int h_mask, const int w_mask,
                                  const mluOpTensorDescriptor_t y_desc, void *y) {
  struct mluop_call call = {.api = "mluOpPsamaskForward",
                            .handle = handle,
                            .tensors = {[MASKS] = {"x", x_desc, x, .output = false},
                                        [SPREAD] = {"y", y_desc, y, .output = true}}};
  set_scalars(&call, psa_type, h_mask, w_mask);
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  if (!mluop_contract_holds(&call, forward_data_rules, &status)) return status;
  run(&call, handle->kernels->psamask_collect_forward, handle->kernels->psamask_distribute_forward,
      x, y, mluop_extent(&call, 'H') * mluop_extent(&call, 'W'));
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                   const mluOpTensorDescriptor_t dy_desc, const void *dy,
                                   const int h_mask, const int w_mask,
                                   const mluOpTensorDescriptor_t dx_desc, void *dx) {
  struct mluop_call call = {.api = "mluOpPsamaskBackward",
                            .handle = handle,
                            .tensors = {[MASKS] = {"dx", dx_desc, dx, .output = true},
                                        [SPREAD] = {"dy", dy_desc, dy, .output = false}}};
  set_scalars(&call, psa_type, h_mask, w_mask);
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  if (!mluop_contract_holds(&call, backward_data_rules, &status)) return status;
  run(&call, handle->kernels->psamask_collect_backward,
      handle->kernels->psamask_distribute_backward, dy, dx, (int64_t)h_mask * w_mask);
  return MLUOP_STATUS_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"
#include "families/toy/kernels.h"

enum { X, Y };

static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 2},
    {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MLUOP_DTYPE_FLOAT},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .text = "N C"},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(X)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

mluOpStatus_t mluOpToy(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void *x,
                       const float factor, const mluOpTensorDescriptor_t y_desc, void *y) {
  struct mluop_call call = {
      .api = "mluOpToy",
      .handle = handle,
      .tensors = {[X] = {"x", x_desc, x, .output = false}, [Y] = {"y", y_desc, y, .output = true}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  const struct toy_args args = {.x = x, .y = y, .factor = factor};
  const struct mluop_job job = {.kernel = toy_scale[handle->isa],
                                .args = &args,
                                .count = mluop_extent(&call, 'N') * mluop_extent(&call, 'C'),
                                .grain = 1 << 16,
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
  return MLUOP_STATUS_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/plan.h"
#include "layout/kernels.h"

/* The forward whose output is NCHW: nchw.h. */

enum { INPUT, MASK, OUTPUT };

static const struct mluop_rule nchw_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_ALL},
    {.check = CHECK_SET, .status = BAD_PARAM},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
    {.check = CHECK_LAYOUT,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(INPUT) | MLUOP_BIT(MASK),
     .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_LAYOUT,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(OUTPUT),
     .value = MLUOP_LAYOUT_NCHW},
    {.check = CHECK_CONTIGUOUS, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = INPUT},
    {.check = CHECK_MAX, .status = NOT_SUPPORTED, .text = "kernel_size", .value = 45},
    {.check = CHECK_MAX, .status = NOT_SUPPORTED, .text = "scale_factor", .value = 5},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(INPUT),
     .text = "N H W group_size|C"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(MASK),
     .text = "N scale_factor*H scale_factor*W group_size*kernel_size*kernel_size"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(OUTPUT),
     .text = "N C scale_factor*H scale_factor*W"},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

mluOpStatus_t mluOpCpuCarafeNchwForward(mluOpHandle_t handle,
                                        const mluOpCarafeDescriptor_t carafe_desc,
                                        const mluOpTensorDescriptor_t input_desc, const void *input,
                                        const mluOpTensorDescriptor_t mask_desc, const void *mask,
                                        const mluOpTensorDescriptor_t output_desc, void *output) {
  struct mluop_call call = {
      .api = "mluOpCpuCarafeNchwForward",
      .gen_case = "cpu_carafe_nchw_forward carafe_param",
      .handle = handle,
      .objects = {{.name = "carafe_desc", .pointer = carafe_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                  [MASK] = {"mask", mask_desc, mask, .output = false},
                  [OUTPUT] = {"output", output_desc, output, .output = true}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, nchw_rules, &status)) return status;
  struct layout_args planes = {.size = 0};
  struct carafe_args args = {
      .input = input, .mask = mask, .output = output, .plan.planes = &planes};
  return mluop_carafe_run(&call, &args);
}

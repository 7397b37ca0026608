/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"
#include "families/carafe/plan.h"
#include "layout/kernels.h"

struct mluOpCarafeStruct {
  struct mluop_parameters parameters;
};

#define MAP "N H W group_size|C"
#define SCALED "N scale_factor*H scale_factor*W C"
#define PLANES "N C scale_factor*H scale_factor*W"
#define MASKS "N scale_factor*H scale_factor*W group_size*kernel_size*kernel_size"

static const struct mluop_rule set_rules[] = {
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_EQUAL, .status = BAD_PARAM, .text = "dimNb", .value = 4},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "kernel_size", .value = 1},
    {.check = CHECK_ODD, .status = BAD_PARAM, .text = "kernel_size"},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "group_size", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "scale_factor", .value = 1},
    {.check = CHECK_END}};

enum { INPUT, MASK, OUTPUT };

#define GIVEN (MLUOP_BIT(INPUT) | MLUOP_BIT(MASK))

/* The input and the mask are NHWC; the output is, or NCHW. */
static bool forward_rules_hold(struct mluop_call *call, mluOpTensorLayout_t layout,
                               mluOpStatus_t *status) {
  const char *const shape = layout == MLUOP_LAYOUT_NCHW ? PLANES : SCALED;
  const struct mluop_rule forward_rules[] = {
      {.check = CHECK_HANDLE, .status = BAD_PARAM},
      {.check = CHECK_OBJECT, .status = BAD_PARAM},
      {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_ALL},
      {.check = CHECK_SET, .status = BAD_PARAM},
      {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
      {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = GIVEN, .value = MLUOP_LAYOUT_NHWC},
      {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .value = layout},
      {.check = CHECK_CONTIGUOUS, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT)},
      {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = INPUT},
      {.check = CHECK_MAX, .status = NOT_SUPPORTED, .text = "kernel_size", .value = 45},
      {.check = CHECK_MAX, .status = NOT_SUPPORTED, .text = "scale_factor", .value = 5},
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT), .text = MAP},
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(MASK), .text = MASKS},
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .text = shape},
      {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
      {.check = CHECK_OVERLAP, .status = BAD_PARAM},
      {.check = CHECK_END}};
  return mluop_contract_holds(call, forward_rules, status);
}

enum { GRAD_OUTPUT = 2, GRAD_INPUT, GRAD_MASK };

#define LIKE_INPUT (MLUOP_BIT(INPUT) | MLUOP_BIT(GRAD_INPUT))
#define LIKE_MASK (MLUOP_BIT(MASK) | MLUOP_BIT(GRAD_MASK))

static const struct mluop_rule backward_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_SET, .status = BAD_PARAM},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = LIKE_INPUT, .text = MAP},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = LIKE_MASK, .text = MASKS},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(GRAD_OUTPUT), .text = SCALED},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = INPUT},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_ALL},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_MAX, .status = NOT_SUPPORTED, .text = "kernel_size", .value = 137},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

mluOpStatus_t mluOpCreateCarafeDescriptor(mluOpCarafeDescriptor_t *carafe_desc) {
  mluOpStatus_t status;
  void *created =
      mluop_create_parameters("mluOpCreateCarafeDescriptor", "carafe_desc", carafe_desc, &status);
  if (created != NULL) *carafe_desc = created;
  return status;
}

mluOpStatus_t mluOpDestroyCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc) {
  return mluop_destroy_parameters("mluOpDestroyCarafeDescriptor", "carafe_desc", carafe_desc);
}

mluOpStatus_t mluOpSetCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc, const int dimNb,
                                       const int kernel_size, const int group_size,
                                       const int scale_factor) {
  struct mluop_call call = {
      .api = "mluOpSetCarafeDescriptor",
      .objects = {{.name = "carafe_desc", .pointer = carafe_desc}},
      .scalars = {mluop_integer("dimNb", dimNb), mluop_integer("kernel_size", kernel_size),
                  mluop_integer("group_size", group_size),
                  mluop_integer("scale_factor", scale_factor)}};
  mluOpStatus_t status;
  if (mluop_contract_holds(&call, set_rules, &status)) mluop_set_parameters(carafe_desc, &call);
  return status;
}

static enum carafe_tensors carafe_fit(const struct mluop_call *call) {
  const int64_t bytes = mluop_tensor_bytes(call);
  if (mluop_exceeds_caches(call->handle, bytes)) return CARAFE_EXCEED_CACHES;
  return mluop_exceeds_caches(call->handle, 2 * bytes) ? CARAFE_FILL_CACHES : CARAFE_IN_CACHES;
}

static mluOpStatus_t run(const struct mluop_call *call, struct carafe_args *args) {
  struct mluop_job job = {.kernel = NULL};
  args->N = mluop_extent(call, 'N');
  args->H = mluop_extent(call, 'H');
  args->W = mluop_extent(call, 'W');
  args->G = mluop_integer_of(call, "group_size");
  args->C = mluop_extent(call, 'C') / args->G;
  args->K = mluop_integer_of(call, "kernel_size");
  args->S = mluop_integer_of(call, "scale_factor");
  args->is_half = mluop_is_half(call, INPUT);
  args->plan.tensors = carafe_fit(call);
  mluop_carafe_plan(call->handle, args, &job);
  if (job.scratch_bytes > 0 && mluop_reserve(call->handle, 0, &job) == NULL) {
    return mluop_no_scratch(call);
  }
  mluop_parallel_for(call->handle, &job);
  return mluop_end_call(call, MLUOP_STATUS_SUCCESS);
}

static mluOpStatus_t run_forward(struct mluop_call *call, mluOpTensorLayout_t layout,
                                 const void *input, const void *mask, void *output) {
  mluOpStatus_t status;
  if (!forward_rules_hold(call, layout, &status)) return status;
  struct layout_args planes = {.size = 0};
  struct carafe_args args = {.input = input, .mask = mask, .output = output};
  if (layout == MLUOP_LAYOUT_NCHW) args.plan.planes = &planes;
  return run(call, &args);
}

mluOpStatus_t mluOpCarafeForward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                                 const mluOpTensorDescriptor_t input_desc, const void *input,
                                 const mluOpTensorDescriptor_t mask_desc, const void *mask,
                                 const mluOpTensorDescriptor_t output_desc, void *output) {
  struct mluop_call call = {
      .api = "mluOpCarafeForward",
      .gen_case = "carafe_forward carafe_param",
      .handle = handle,
      .objects = {{.name = "carafe_desc", .pointer = carafe_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                  [MASK] = {"mask", mask_desc, mask, .output = false},
                  [OUTPUT] = {"output", output_desc, output, .output = true}}};
  return run_forward(&call, MLUOP_LAYOUT_NHWC, input, mask, output);
}

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
  return run_forward(&call, MLUOP_LAYOUT_NCHW, input, mask, output);
}

mluOpStatus_t mluOpCarafeBackward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                                  const mluOpTensorDescriptor_t input_desc, const void *input,
                                  const mluOpTensorDescriptor_t mask_desc, const void *mask,
                                  const mluOpTensorDescriptor_t grad_output_desc,
                                  const void *grad_output,
                                  const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
                                  const mluOpTensorDescriptor_t grad_mask_desc, void *grad_mask) {
  struct mluop_call call = {
      .api = "mluOpCarafeBackward",
      .gen_case = "carafe_backward carafe_param",
      .handle = handle,
      .objects = {{.name = "carafe_desc", .pointer = carafe_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                  [MASK] = {"mask", mask_desc, mask, .output = false},
                  [GRAD_OUTPUT] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [GRAD_INPUT] = {"grad_input", grad_input_desc, grad_input, .output = true},
                  [GRAD_MASK] = {"grad_mask", grad_mask_desc, grad_mask, .output = true}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, backward_rules, &status)) return status;
  struct carafe_backward_args args = {.both = {.input = input, .mask = mask},
                                      .grad_output = grad_output,
                                      .grad_input = grad_input,
                                      .grad_mask = grad_mask};
  return run(&call, &args.both);
}

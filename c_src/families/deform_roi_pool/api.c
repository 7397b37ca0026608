/* SPDX-License-Identifier: Apache-2.0 */
#include "core/float_state.h"
#include "families/deform_roi_pool/kernels.h"
#include "shared/roi_pool/plan.h"

/* The tensors, forward and backward: POOLED is output or grad_output. */
enum { POOLED, INPUT, ROIS, OFFSET, GRAD_INPUT, GRAD_OFFSET };

/* Of those that a call has. */
#define INPUTS (MLUOP_BIT(INPUT) | MLUOP_BIT(GRAD_INPUT))
#define MAPS (INPUTS | MLUOP_BIT(POOLED))
#define VALUES (MAPS | MLUOP_BIT(ROIS))
#define OFFSETS (MLUOP_BIT(OFFSET) | MLUOP_BIT(GRAD_OFFSET))

/* ---------------------------------------------------------------------------------- checks */

/* Before any other rule about its dims: a map of no images, or one that was never set. */
static bool check_images(struct mluop_call *call, const struct mluop_rule *rule,
                         mluOpStatus_t *status) {
  const struct mluop_tensor *input = &call->tensors[INPUT];
  if (input->desc->dim_nb > 0 && input->desc->dims[0] > 0) return true;
  *status = mluop_fail(rule->status, call->api, "%s: %s, expected 1 image or more", input->name,
                       input->desc->dim_nb > 0 ? "dim 0 is 0" : "has no dims");
  return false;
}

static const struct mluop_rule forward_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = check_images},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(ROIS) | MLUOP_BIT(POOLED)},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MAPS, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MAPS, .value = 4},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = VALUES, .value = INPUT},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(ROIS), .value = 2},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(ROIS), .text = "R 5"},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pooled_height", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pooled_width", .value = 1},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = OFFSETS, .value = INPUT},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = OFFSETS, .value = 4},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = OFFSETS,
     .text = "R 2 pooled_height pooled_width"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = INPUTS, .text = "N H W C"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(POOLED),
     .text = "R pooled_height pooled_width C"},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_COMPLETE, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* The public library looks for empty tensors late here, and at what is optional early. */
static const struct mluop_rule backward_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MAPS, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MAPS, .value = 4},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = VALUES, .value = INPUT},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(ROIS), .value = 2},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(ROIS), .text = "R 5"},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pooled_height", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pooled_width", .value = 1},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = INPUTS, .text = "N H W C"},
    {.check = CHECK_COMPLETE, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_TOGETHER, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = OFFSET},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = OFFSETS, .value = INPUT},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = OFFSETS, .value = 4},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = OFFSETS,
     .text = "R 2 pooled_height pooled_width"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(POOLED),
     .text = "R pooled_height pooled_width C"},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(POOLED)},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = check_images},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(ROIS)},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* ----------------------------------------------------------------------------------- calls */

static struct roi_pool_args args_of(const struct mluop_call *call) {
  return (struct roi_pool_args){
      .shape = {.N = mluop_extent(call, 'N'),
                .H = mluop_extent(call, 'H'),
                .W = mluop_extent(call, 'W'),
                .C = mluop_extent(call, 'C'),
                .R = mluop_extent(call, 'R'),
                .pooled_h = mluop_integer_of(call, "pooled_height"),
                .pooled_w = mluop_integer_of(call, "pooled_width"),
                .sampling_ratio = mluop_integer_of(call, "sampling_ratio"),
                .spatial_scale = mluop_real_of(call, "spatial_scale"),
                .gamma = mluop_real_of(call, "gamma"),
                .is_aligned = true,
                .is_half = mluop_is_half(call, INPUT)},
      .data = {.input = call->tensors[INPUT].data,
               .rois_data = call->tensors[ROIS].data,
               .offset = call->tensors[OFFSET].data},
  };
}

mluOpStatus_t mluOpDeformRoiPoolForward(const mluOpHandle_t handle,
                                        const mluOpTensorDescriptor_t input_desc, const void *input,
                                        const mluOpTensorDescriptor_t rois_desc, const void *rois,
                                        const mluOpTensorDescriptor_t offset_desc,
                                        const void *offset, const int pooled_height,
                                        const int pooled_width, const float spatial_scale,
                                        const int sampling_ratio, const float gamma,
                                        const mluOpTensorDescriptor_t output_desc, void *output) {
  struct mluop_call call = {
      .api = "mluOpDeformRoiPoolForward",
      .gen_case = "deform_roi_pool_forward deform_roi_pool_forward_param",
      .handle = handle,
      .tensors = {[POOLED] = {"output", output_desc, output, .output = true},
                  [INPUT] = {"input", input_desc, input, .output = false},
                  [ROIS] = {"rois", rois_desc, rois, .output = false},
                  [OFFSET] = {"offset", offset_desc, offset, .optional = true}},
      .scalars = {mluop_integer("pooled_height", pooled_height),
                  mluop_integer("pooled_width", pooled_width),
                  mluop_integer("sampling_ratio", sampling_ratio),
                  mluop_real("spatial_scale", spatial_scale), mluop_real("gamma", gamma)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, forward_rules, &status)) return status;
  struct roi_pool_args args = args_of(&call);
  args.data.output = output;
  const struct mluop_float_state found = mluop_enter_floats();
  if (mluop_roi_pool_begin(&call, ROIS, &args, &status)) {
    mluop_roi_pool_run_bins(handle, &args, NULL);
  }
  mluop_leave_floats(found);
  return mluop_end_call(&call, status);
}

mluOpStatus_t mluOpDeformRoiPoolBackward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc,
    const void *grad_output, const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t rois_desc, const void *rois,
    const mluOpTensorDescriptor_t offset_desc, const void *offset, const int pooled_height,
    const int pooled_width, const float spatial_scale, const int sampling_ratio, const float gamma,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void *grad_offset) {
  struct mluop_call call = {
      .api = "mluOpDeformRoiPoolBackward",
      .gen_case = "deform_roi_pool_backward deform_roi_pool_backward_param",
      .handle = handle,
      .tensors = {[POOLED] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [INPUT] = {"input", input_desc, input, .output = false},
                  [ROIS] = {"rois", rois_desc, rois, .output = false},
                  [OFFSET] = {"offset", offset_desc, offset, .optional = true},
                  [GRAD_INPUT] = {"grad_input", grad_input_desc, grad_input, .output = true},
                  [GRAD_OFFSET] = {"grad_offset", grad_offset_desc, grad_offset, .output = true,
                                   .optional = true}},
      .scalars = {mluop_integer("pooled_height", pooled_height),
                  mluop_integer("pooled_width", pooled_width),
                  mluop_integer("sampling_ratio", sampling_ratio),
                  mluop_real("spatial_scale", spatial_scale), mluop_real("gamma", gamma)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, backward_rules, &status)) return status;
  struct roi_pool_args args = args_of(&call);
  args.data.grad_output = grad_output;
  args.data.grad_input = grad_input;
  args.data.grad_offset = grad_offset;
  const struct mluop_float_state found = mluop_enter_floats();
  if (mluop_roi_pool_begin(&call, ROIS, &args, &status)) {
    mluop_roi_pool_run_blocks(handle, &args, NULL);
    if (offset != NULL) mluop_roi_pool_run_bins(handle, &args, deform_roi_pool_grad_offset);
  }
  mluop_leave_floats(found);
  return mluop_end_call(&call, status);
}

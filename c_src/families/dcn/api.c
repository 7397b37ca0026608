/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/checks.h"
#include "families/dcn/run.h"

/* What the checks compute is no parameter. */
#define DCN_CASE_PARAMETERS "dcn_param ho= wo= C/conv_group="

static struct dcn_shape shape_of(const struct mluop_call *call) {
  const int *pad = mluop_integers_of(call, "pad");
  const int *stride = mluop_integers_of(call, "stride");
  const int *dilation = mluop_integers_of(call, "dilation");
  const int64_t *output = call->tensors[OUTPUT].desc->dims;
  return (struct dcn_shape){.N = mluop_extent(call, 'N'),
                            .H = mluop_extent(call, 'H'),
                            .W = mluop_extent(call, 'W'),
                            .C = mluop_extent(call, 'C'),
                            .ho = output[1],
                            .wo = output[2],
                            .co = output[3],
                            .kh = mluop_extent(call, 'I'),
                            .kw = mluop_extent(call, 'J'),
                            .pad_top = pad[0],
                            .pad_left = pad[2],
                            .stride_h = stride[0],
                            .stride_w = stride[1],
                            .dilation_h = dilation[0],
                            .dilation_w = dilation[1],
                            .deformable_groups = mluop_integer_of(call, "deformable_group"),
                            .groups = mluop_integer_of(call, "conv_group"),
                            .is_half = mluop_is_half(call, INPUT)};
}

typedef bool run_function(mluOpHandle_t handle, struct dcn_args *args);

static mluOpStatus_t run(struct mluop_call *call, const struct mluop_rule *factors,
                         const struct dcn_data *data, run_function *function) {
  mluOpStatus_t status;
  if (!dcn_call_holds(call, factors, &status)) return status;
  struct dcn_args args = {
      .shape = shape_of(call), .data = *data, .interrupt = &call->handle->interrupt};
  if (!function(call->handle, &args)) return mluop_no_scratch(call);
  return mluop_end_call(call, SUCCESS);
}

mluOpStatus_t mluOpGetDCNForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const mluOpTensorDescriptor_t offset_desc,
    const mluOpTensorDescriptor_t mask_desc, const mluOpTensorDescriptor_t filter_desc,
    const mluOpTensorDescriptor_t bias_desc, const mluOpTensorDescriptor_t output_desc,
    size_t *workspace_size) {
  struct mluop_call call = {
      .api = "mluOpGetDCNForwardWorkspaceSize",
      .handle = handle,
      .objects = {{"dcn_desc", dcn_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {.name = "input", .desc = input_desc},
                  [OFFSET] = {.name = "offset", .desc = offset_desc},
                  [MASK] = {.name = "mask", .desc = mask_desc, .optional = true},
                  [FILTER] = {.name = "filter", .desc = filter_desc},
                  [OUTPUT] = {.name = "output", .desc = output_desc},
                  [BIAS] = {.name = "bias", .desc = bias_desc, .optional = true}}};
  return dcn_query(&call, dcn_forward_factors, workspace_size);
}

mluOpStatus_t mluOpDCNForward(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                              const mluOpTensorDescriptor_t input_desc, const void *input,
                              const mluOpTensorDescriptor_t offset_desc, const void *offset,
                              const mluOpTensorDescriptor_t mask_desc, const void *mask,
                              const mluOpTensorDescriptor_t filter_desc, const void *filter,
                              const mluOpTensorDescriptor_t bias_desc, const void *bias,
                              void *workspace, size_t workspace_size,
                              const mluOpTensorDescriptor_t output_desc, void *output) {
  struct mluop_call call = {.api = "mluOpDCNForward",
                            .gen_case = "dcn_forward " DCN_CASE_PARAMETERS,
                            .handle = handle,
                            .objects = {{"dcn_desc", dcn_desc, .kind = MLUOP_PARAMETERS}},
                            .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                                        [OFFSET] = {"offset", offset_desc, offset, .output = false},
                                        [MASK] = {"mask", mask_desc, mask, .optional = true},
                                        [FILTER] = {"filter", filter_desc, filter, .output = false},
                                        [OUTPUT] = {"output", output_desc, output, .output = true},
                                        [BIAS] = {"bias", bias_desc, bias, .optional = true}},
                            .workspace = workspace,
                            .workspace_size = workspace_size};
  const struct dcn_data data = {.input = input,
                                .offset = offset,
                                .mask = mask,
                                .filter = filter,
                                .bias = bias,
                                .output = output};
  return run(&call, dcn_forward_factors, &data, dcn_run_forward);
}

mluOpStatus_t mluOpGetDCNBakcwardDataWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const mluOpTensorDescriptor_t offset_desc,
    const mluOpTensorDescriptor_t mask_desc, const mluOpTensorDescriptor_t filter_desc,
    const mluOpTensorDescriptor_t grad_output_desc, const mluOpTensorDescriptor_t grad_input_desc,
    const mluOpTensorDescriptor_t grad_offset_desc, const mluOpTensorDescriptor_t grad_mask_desc,
    size_t *workspace_size) {
  struct mluop_call call = {
      .api = "mluOpGetDCNBakcwardDataWorkspaceSize",
      .handle = handle,
      .objects = {{"dcn_desc", dcn_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {.name = "input", .desc = input_desc},
                  [OFFSET] = {.name = "offset", .desc = offset_desc},
                  [MASK] = {.name = "mask", .desc = mask_desc, .optional = true},
                  [FILTER] = {.name = "filter", .desc = filter_desc},
                  [OUTPUT] = {.name = "grad_output", .desc = grad_output_desc},
                  [BIAS] = {.name = "bias", .optional = true},
                  [GRAD_INPUT] = {.name = "grad_input", .desc = grad_input_desc},
                  [GRAD_OFFSET] = {.name = "grad_offset", .desc = grad_offset_desc},
                  [GRAD_MASK] = {.name = "grad_mask", .desc = grad_mask_desc, .optional = true}}};
  return dcn_query(&call, dcn_data_factors, workspace_size);
}

mluOpStatus_t mluOpDCNBackwardData(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                                   const mluOpTensorDescriptor_t input_desc, const void *input,
                                   const mluOpTensorDescriptor_t offset_desc, const void *offset,
                                   const mluOpTensorDescriptor_t mask_desc, const void *mask,
                                   const mluOpTensorDescriptor_t filter_desc, const void *filter,
                                   const mluOpTensorDescriptor_t grad_output_desc,
                                   const void *grad_output, void *workspace,
                                   const size_t workspace_size,
                                   const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
                                   const mluOpTensorDescriptor_t grad_offset_desc,
                                   void *grad_offset, const mluOpTensorDescriptor_t grad_mask_desc,
                                   void *grad_mask) {
  struct mluop_call call = {
      .api = "mluOpDCNBackwardData",
      .gen_case = "dcn_backward_data " DCN_CASE_PARAMETERS,
      .handle = handle,
      .objects = {{"dcn_desc", dcn_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                  [OFFSET] = {"offset", offset_desc, offset, .output = false},
                  [MASK] = {"mask", mask_desc, mask, .optional = true},
                  [FILTER] = {"filter", filter_desc, filter, .output = false},
                  [OUTPUT] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [BIAS] = {.name = "bias", .optional = true},
                  [GRAD_INPUT] = {"grad_input", grad_input_desc, grad_input, .output = true},
                  [GRAD_OFFSET] = {"grad_offset", grad_offset_desc, grad_offset, .output = true},
                  [GRAD_MASK] = {"grad_mask", grad_mask_desc, grad_mask, .output = true,
                                 .optional = true}},
      .workspace = workspace,
      .workspace_size = workspace_size};
  const struct dcn_data data = {.input = input,
                                .offset = offset,
                                .mask = mask,
                                .filter = filter,
                                .grad_output = grad_output,
                                .grad_input = grad_input,
                                .grad_offset = grad_offset,
                                .grad_mask = grad_mask};
  return run(&call, dcn_data_factors, &data, dcn_run_backward_data);
}

mluOpStatus_t mluOpGetDCNBackwardWeightWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const mluOpTensorDescriptor_t offset_desc,
    const mluOpTensorDescriptor_t mask_desc, const mluOpTensorDescriptor_t grad_output_desc,
    const mluOpTensorDescriptor_t grad_filter_desc, const mluOpTensorDescriptor_t grad_bias_desc,
    size_t *workspace_size) {
  struct mluop_call call = {
      .api = "mluOpGetDCNBackwardWeightWorkspaceSize",
      .handle = handle,
      .objects = {{"dcn_desc", dcn_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {.name = "input", .desc = input_desc},
                  [OFFSET] = {.name = "offset", .desc = offset_desc},
                  [MASK] = {.name = "mask", .desc = mask_desc, .optional = true},
                  [FILTER] = {.name = "grad_filter", .desc = grad_filter_desc},
                  [OUTPUT] = {.name = "grad_output", .desc = grad_output_desc},
                  [BIAS] = {.name = "grad_bias", .desc = grad_bias_desc, .optional = true}}};
  return dcn_query(&call, dcn_weight_factors, workspace_size);
}

mluOpStatus_t mluOpDCNBackwardWeight(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t offset_desc, const void *offset,
    const mluOpTensorDescriptor_t mask_desc, const void *mask,
    const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output, void *workspace,
    size_t workspace_size, const mluOpTensorDescriptor_t grad_filter_desc, void *grad_filter,
    const mluOpTensorDescriptor_t grad_bias_desc, void *grad_bias) {
  struct mluop_call call = {
      .api = "mluOpDCNBackwardWeight",
      .gen_case = "dcn_backward_weight " DCN_CASE_PARAMETERS,
      .handle = handle,
      .objects = {{"dcn_desc", dcn_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                  [OFFSET] = {"offset", offset_desc, offset, .output = false},
                  [MASK] = {"mask", mask_desc, mask, .optional = true},
                  [FILTER] = {"grad_filter", grad_filter_desc, grad_filter, .output = true},
                  [OUTPUT] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [BIAS] = {"grad_bias", grad_bias_desc, grad_bias, .output = true,
                            .optional = true}},
      .workspace = workspace,
      .workspace_size = workspace_size};
  const struct dcn_data data = {.input = input,
                                .offset = offset,
                                .mask = mask,
                                .grad_output = grad_output,
                                .grad_filter = grad_filter,
                                .grad_bias = grad_bias};
  return run(&call, dcn_weight_factors, &data, dcn_run_backward_weight);
}

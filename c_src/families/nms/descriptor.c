/* SPDX-License-Identifier: Apache-2.0 */
#include "families/nms/call.h"

struct mluOpNmsStruct {
  struct mluop_parameters parameters;
};

mluOpStatus_t mluOpCreateNmsDescriptor(mluOpNmsDescriptor_t *desc) {
  mluOpStatus_t status;
  void *made = mluop_create_parameters("mluOpCreateNmsDescriptor", "desc", desc, &status);
  if (made != NULL) *desc = made;
  return status;
}

mluOpStatus_t mluOpDestroyNmsDescriptor(mluOpNmsDescriptor_t desc) {
  return mluop_destroy_parameters("mluOpDestroyNmsDescriptor", "desc", desc);
}

static bool offset_holds(struct mluop_call *call, const struct mluop_rule *rule,
                         mluOpStatus_t *status) {
  const float offset = mluop_real_of(call, "offset");
  if (offset == 0.0f || offset == 1.0f) return true;
  *status = mluop_fail(rule->status, call->api, "offset is %g, expected 0 or 1", (double)offset);
  return false;
}

static const struct mluop_rule set_rules[] = {
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "box_mode", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "box_mode", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "output_mode", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "output_mode", .value = 3},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "algo", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "algo", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "method_mode", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "method_mode", .value = 2},
    {.check = CHECK_NUMBER, .status = BAD_PARAM, .text = "iou_threshold"},
    {.check = CHECK_NUMBER, .status = BAD_PARAM, .text = "soft_nms_sigma"},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "soft_nms_sigma", .value = 0},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "max_output_size", .value = 0},
    {.check = CHECK_NUMBER, .status = BAD_PARAM, .text = "confidence_threshold"},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = offset_holds},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "input_layout", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "input_layout", .value = 1},
    {.check = CHECK_END}};

mluOpStatus_t mluOpSetNmsDescriptor(
    mluOpNmsDescriptor_t nms_desc, const mluOpNmsBoxPointMode_t box_mode,
    const mluOpNmsOutputMode_t output_mode, const mluOpNmsAlgo_t algo,
    const mluOpNmsMethodMode_t method_mode, const float iou_threshold, const float soft_nms_sigma,
    const int max_output_size, const float confidence_threshold, const float offset,
    const int input_layout, const bool pad_to_max_output_size) {
  struct mluop_call call = {
      .api = "mluOpSetNmsDescriptor",
      .objects = {{.name = "nms_desc", .pointer = nms_desc}},
      .scalars = {
          mluop_integer("box_mode", (int)box_mode), mluop_integer("output_mode", (int)output_mode),
          mluop_integer("algo", (int)algo), mluop_integer("method_mode", (int)method_mode),
          mluop_real("iou_threshold", iou_threshold), mluop_real("soft_nms_sigma", soft_nms_sigma),
          mluop_integer("max_output_size", max_output_size),
          mluop_real("confidence_threshold", confidence_threshold), mluop_real("offset", offset),
          mluop_integer("input_layout", input_layout),
          mluop_integer("pad_to_max_output_size", pad_to_max_output_size)}};
  mluOpStatus_t status;
  if (mluop_contract_holds(&call, set_rules, &status)) mluop_set_parameters(nms_desc, &call);
  return status;
}

struct nms_rule nms_rule_of(const struct mluop_call *call) {
  const float sigma = mluop_real_of(call, "soft_nms_sigma");
  const bool boundary = mluop_integer_of(call, "algo") == MLUOP_NMS_ALGO_INCLUDE_BOUNDARY;
  struct nms_rule rule = {.method = NMS_HARD,
                          .iou_threshold = mluop_real_of(call, "iou_threshold"),
                          .confidence_threshold = mluop_real_of(call, "confidence_threshold"),
                          .sigma = sigma,
                          .extra = boundary ? mluop_real_of(call, "offset") : 0.0f,
                          .limit = mluop_integer_of(call, "max_output_size")};
  const int64_t method = mluop_integer_of(call, "method_mode");
  if (method == MLUOP_NMS_SOFT_NMS_LINEAR) rule.method = NMS_LINEAR;
  /* A Gaussian without width is a threshold. */
  if (method == MLUOP_NMS_SOFT_NMS_GAUSSIAN && sigma > 0.0f) rule.method = NMS_GAUSSIAN;
  return rule;
}

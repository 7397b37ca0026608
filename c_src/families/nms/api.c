/* SPDX-License-Identifier: Apache-2.0 */
#include "core/float_state.h"
#include "families/nms/call.h"
#include "families/nms/checks.h"

#define INPUTS (MLUOP_BIT(BOXES) | MLUOP_BIT(CONFIDENCE))
#define OPTIONAL (MLUOP_BIT(CONFIDENCE) | BY_LABEL)
#define BY_LABEL (MLUOP_BIT(LABELS) | MLUOP_BIT(SCORES))

/* Parameters that have another name in a case. */
#define CASE_PARAMETERS "nms_param output_mode=mode max_output_size=max_output_boxes"

/* output_size is one int32 without a descriptor of its own. */
static const struct mluOpTensorStruct one_int32 = {
    .layout = MLUOP_LAYOUT_ARRAY, .dtype = MLUOP_DTYPE_INT32, .element_num = 1};

static const struct mluop_rule null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES)},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_ALL & ~OPTIONAL},
    {.check = CHECK_END}};

static const struct mluop_rule input_rules[] = {
    {.check = CHECK_SET, .status = BAD_PARAM},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = nms_boxes_hold},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = nms_confidence_is_there},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = nms_confidence_holds},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES)},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = nms_confidence_dtype_holds},
    {.check = CHECK_END}};

static const struct mluop_rule output_rules[] = {
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = nms_output_dtype_holds},
    {.check = CHECK_FUNCTION, .status = NOT_SUPPORTED, .function = nms_mode_holds},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = nms_output_holds},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM, .value = 1 /* nor does the workspace */},
    {.check = CHECK_END}};

/* What mluOpCpuNmsByLabel asks for besides. */
static const struct mluop_rule label_rules[] = {
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = nms_one_set_holds},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT) | BY_LABEL, .value = 1},
    {.check = CHECK_DTYPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(LABELS),
     .value = MLUOP_DTYPE_INT32},
    {.check = CHECK_DTYPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(SCORES),
     .value = MLUOP_DTYPE_FLOAT},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(LABELS), .text = "N"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .text = "L"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(SCORES), .text = "L"},
    {.check = CHECK_END}};

static const struct mluop_rule query_null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES)},
    {.check = CHECK_END}};

static const struct mluop_rule query_rules[] = {
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = INPUTS}, {.check = CHECK_END}};

mluOpStatus_t mluOpGetNmsWorkspaceSize(mluOpHandle_t handle, mluOpNmsDescriptor_t nms_desc,
                                       const mluOpTensorDescriptor_t boxes_desc,
                                       const mluOpTensorDescriptor_t confidence_desc,
                                       size_t *size) {
  static const char api[] = "mluOpGetNmsWorkspaceSize";
  struct mluop_call call = {
      .api = api,
      .handle = handle,
      .objects = {{"nms_desc", nms_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {
          [BOXES] = {.name = "boxes", .desc = boxes_desc},
          [CONFIDENCE] = {.name = "confidence", .desc = confidence_desc, .optional = true}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, query_null_rules, &status)) return status;
  if (size == NULL) return mluop_null_argument(api, "size");
  if (!mluop_contract_holds(&call, input_rules, &status)) return status;
  if (!mluop_contract_holds(&call, query_rules, &status)) return status;
  *size = 0;
  return MLUOP_STATUS_SUCCESS;
}

static mluOpStatus_t run(const struct mluop_call *call, void *output, float *selected_scores,
                         int32_t *output_size) {
  const struct mluOpTensorStruct *confidence = call->tensors[CONFIDENCE].desc;
  const bool rotated = mluop_extent(call, 'V') == 7;
  struct nms_call job = {
      .form = {.n = mluop_extent(call, 'N'),
               .classes = mluop_extent(call, 'C'),
               .boxes_half = mluop_is_half(call, BOXES),
               .scores_half = confidence != NULL && confidence->dtype == MLUOP_DTYPE_HALF,
               .planes = mluop_integer_of(call, "input_layout") == 1,
               .centres = mluop_integer_of(call, "box_mode") == MLUOP_NMS_BOX_CENTER,
               .rotated = rotated},
      .images = mluop_extent(call, 'B'),
      .boxes = call->tensors[BOXES].data,
      .scores = call->tensors[CONFIDENCE].data,
      .labels = call->tensors[LABELS].data,
      .selected_scores = selected_scores,
      .mode = nms_mode(call),
      .padded = mluop_integer_of(call, "pad_to_max_output_size") ? nms_all_results(call) : 0,
      .plane = mluop_extent(call, 'L'),
      .output = output,
      .output_size = output_size};
  const struct mluop_float_state found = mluop_enter_floats();
  job.rule = nms_rule_of(call);
  if (rotated) job.rule.limit = job.form.n;
  const bool done = nms_run(call->handle, &job);
  mluop_leave_floats(found);
  if (!done) return mluop_no_scratch(call);
  return mluop_end_call(call, MLUOP_STATUS_SUCCESS);
}

mluOpStatus_t mluOpNms(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                       const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                       const mluOpTensorDescriptor_t confidence_desc, const void *confidence,
                       void *workspace, size_t workspace_size,
                       const mluOpTensorDescriptor_t output_desc, void *output, void *output_size) {
  struct mluOpTensorStruct size_desc = one_int32;
  struct mluop_call call = {
      .api = "mluOpNms",
      .gen_case = "nms " CASE_PARAMETERS,
      .handle = handle,
      .objects = {{"nms_desc", nms_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [CONFIDENCE] = {"confidence", confidence_desc, confidence, .optional = true},
                  [OUTPUT] = {"output", output_desc, output, .output = true},
                  [OUTPUT_SIZE] = {"output_size", &size_desc, output_size, .output = true}},
      .workspace = workspace,
      .workspace_size = workspace_size};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, null_rules, &status)) return status;
  if (!mluop_contract_holds(&call, input_rules, &status)) return status;
  if (!mluop_contract_holds(&call, output_rules, &status)) return status;
  return run(&call, output, NULL, output_size);
}

mluOpStatus_t mluOpCpuNmsByLabel(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                                 const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                                 const mluOpTensorDescriptor_t confidence_desc,
                                 const void *confidence, const mluOpTensorDescriptor_t labels_desc,
                                 const void *labels, const mluOpTensorDescriptor_t output_desc,
                                 void *output, const mluOpTensorDescriptor_t scores_desc,
                                 void *scores, void *output_size) {
  struct mluOpTensorStruct size_desc = one_int32;
  struct mluop_call call = {
      .api = "mluOpCpuNmsByLabel",
      .gen_case = "cpu_nms_by_label " CASE_PARAMETERS,
      .handle = handle,
      .objects = {{"nms_desc", nms_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [CONFIDENCE] = {"confidence", confidence_desc, confidence, .optional = true},
                  [OUTPUT] = {"output", output_desc, output, .output = true},
                  [OUTPUT_SIZE] = {"output_size", &size_desc, output_size, .output = true},
                  [LABELS] = {"labels", labels_desc, labels, .optional = true},
                  [SCORES] = {"scores", scores_desc, scores, .output = true, .optional = true}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, null_rules, &status)) return status;
  if (!mluop_contract_holds(&call, input_rules, &status)) return status;
  if (!mluop_contract_holds(&call, label_rules, &status)) return status;
  if (!mluop_contract_holds(&call, output_rules, &status)) return status;
  if (labels_desc == NULL) call.tensors[LABELS].data = NULL;
  return run(&call, output, scores_desc != NULL ? scores : NULL, output_size);
}

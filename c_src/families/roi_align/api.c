/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/float_state.h"
#include "families/roi_align/job.h"
#include "families/roi_align/kernels.h"
#include "shared/roi_pool/plan.h"

/* The tensors, forward and backward: MAP is input or grads_image, POOLED is output or grads. Those
   of argmax have a name where the maximum is wanted, and are not looked at otherwise. */
enum { POOLED, MAP, BOXES, ARGMAX_X, ARGMAX_Y };

#define LIKE_POOLED (MLUOP_BIT(POOLED) | MLUOP_BIT(ARGMAX_X) | MLUOP_BIT(ARGMAX_Y))

enum { MAXIMUM = 0, MEAN = 1 }; /* pool_mode */

/* Of the backwards, in a test case: the bins are those of grads. */
#define ROI_ALIGN_CASE_PARAMETERS "roi_align_backward_param pooled_height= pooled_width="

/* ---------------------------------------------------------------------------------- checks */

static const struct mluop_rule forward_null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP) | MLUOP_BIT(BOXES)},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(POOLED)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP) | MLUOP_BIT(BOXES)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_BIT(POOLED)},
    {.check = CHECK_END}};

static const struct mluop_rule backward_null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(POOLED)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_BIT(POOLED)},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES)},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pool_mode", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "pool_mode", .value = 1},
    {.check = CHECK_END}};

static const struct mluop_rule argmax_null_rules[] = {
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(ARGMAX_X)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_BIT(ARGMAX_X)},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_BIT(ARGMAX_Y)},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_BIT(ARGMAX_Y)},
    {.check = CHECK_END}};

static const struct mluop_rule set_rules[] = {{.check = CHECK_SET, .status = BAD_PARAM},
                                              {.check = CHECK_END}};

/* The sizes of bins are those of this tensor, in the backward the only place that has them. */
static bool has_bins(struct mluop_call *call, const struct mluop_rule *rule,
                     mluOpStatus_t *status) {
  const struct mluop_tensor *pooled = &call->tensors[POOLED];
  for (int i = 1; i <= 2; i++) {
    if (pooled->desc->dims[i] > 0) continue;
    *status = mluop_fail(rule->status, call->api, "%s: dim %d is 0, expected at least 1 (%s)",
                         pooled->name, i, i == 1 ? "pooled_height" : "pooled_width");
    return false;
  }
  return true;
}

static const struct mluop_rule kind_rules[] = {
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP) | LIKE_POOLED, .value = 4},
    {.check = CHECK_LAYOUT,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(MAP) | LIKE_POOLED,
     .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .value = 2},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MAP},
    {.check = CHECK_END}};

static const struct mluop_rule shape_rules[] = {
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .text = "R 5"},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = has_bins},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP), .text = "N H W C"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = LIKE_POOLED,
     .text = "R pooled_height pooled_width C"},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_END}};

/* Every sample may be another maximum: what bounds the time of a bin is this, or its size. */
static const struct mluop_rule sample_rules[] = {
    {.check = CHECK_MAX, .status = NOT_SUPPORTED, .text = "sampling_ratio", .value = 128},
    {.check = CHECK_END}};

static const struct mluop_rule forward_data_rules[] = {
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(POOLED)},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* Without boxes or channels there is nothing to write into a map without pixels. */
static bool map_is_there(struct mluop_call *call, const struct mluop_rule *rule,
                         mluOpStatus_t *status) {
  if (call->tensors[MAP].desc->element_num > 0) return true;
  const bool nothing = call->tensors[POOLED].desc->element_num == 0;
  *status = nothing ? SUCCESS
                    : mluop_fail(rule->status, call->api, "%s is empty, expected 1 element or more",
                                 call->tensors[MAP].name);
  return false;
}

static const struct mluop_rule backward_data_rules[] = {
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = map_is_there},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* ----------------------------------------------------------------------------------- calls */

static bool is_maximum(const struct mluop_call *call) {
  int64_t mode;
  return mluop_find_integer(call, "pool_mode", &mode) && mode == MAXIMUM;
}

static struct roi_pool_shape shape_of(const struct mluop_call *call) {
  return (struct roi_pool_shape){.N = mluop_extent(call, 'N'),
                                 .H = mluop_extent(call, 'H'),
                                 .W = mluop_extent(call, 'W'),
                                 .C = mluop_extent(call, 'C'),
                                 .R = mluop_extent(call, 'R'),
                                 .pooled_h = mluop_integer_of(call, "pooled_height"),
                                 .pooled_w = mluop_integer_of(call, "pooled_width"),
                                 .sampling_ratio = mluop_integer_of(call, "sampling_ratio"),
                                 .spatial_scale = mluop_real_of(call, "spatial_scale"),
                                 .is_aligned = mluop_integer_of(call, "aligned") != 0,
                                 .is_half = mluop_is_half(call, MAP)};
}

static mluOpStatus_t run_forward(const struct mluop_call *call, struct roi_align_args *args) {
  mluOpHandle_t handle = call->handle;
  const bool maximum = is_maximum(call);
  mluOpStatus_t status = SUCCESS;
  const struct mluop_float_state found = mluop_enter_floats();
  if (maximum) {
    args->pool.plan.own_bytes = roi_align_maximum_bytes(args->pool.shape.C);
    args->pool.plan.own_few = args->pool.shape.is_half ? 0 : ROI_ALIGN_FEW_FLOATS;
  }
  if (mluop_roi_pool_begin(call, BOXES, &args->pool, &status)) {
    mluop_roi_pool_run_bins(handle, &args->pool, maximum ? roi_align_maximum : NULL);
  }
  mluop_leave_floats(found);
  return mluop_end_call(call, status);
}

mluOpStatus_t mluOpRoiAlignForward_v2(mluOpHandle_t handle,
                                      const mluOpRoiAlignForwardDescriptor_t roialign_desc,
                                      const mluOpTensorDescriptor_t input_desc, const void *input,
                                      const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                                      const mluOpTensorDescriptor_t output_desc, void *output,
                                      const mluOpTensorDescriptor_t argmax_x_desc, void *argmax_x,
                                      const mluOpTensorDescriptor_t argmax_y_desc, void *argmax_y) {
  struct mluop_call call = {
      .api = "mluOpRoiAlignForward_v2",
      .gen_case = "roi_align_forward roialign_param",
      .handle = handle,
      .objects = {{"roialign_desc", roialign_desc, .kind = MLUOP_PARAMETERS}},
      .tensors = {[MAP] = {"input", input_desc, input, .output = false},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [POOLED] = {"output", output_desc, output, .output = true}}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, forward_null_rules, &status)) return status;
  struct roi_align_args args = {
      .pool.data = {.input = input, .rois_data = boxes, .output = output}};
  if (is_maximum(&call)) {
    call.tensors[ARGMAX_X] =
        (struct mluop_tensor){"argmax_x", argmax_x_desc, argmax_x, true, false};
    call.tensors[ARGMAX_Y] =
        (struct mluop_tensor){"argmax_y", argmax_y_desc, argmax_y, true, false};
    args.argmax_x = argmax_x;
    args.argmax_y = argmax_y;
    if (!mluop_contract_holds(&call, argmax_null_rules, &status)) return status;
  }
  if (!mluop_contract_holds(&call, set_rules, &status) ||
      !mluop_contract_holds(&call, kind_rules, &status) ||
      !mluop_contract_holds(&call, shape_rules, &status) ||
      (is_maximum(&call) && !mluop_contract_holds(&call, sample_rules, &status)) ||
      !mluop_contract_holds(&call, forward_data_rules, &status)) {
    return status;
  }
  args.pool.shape = shape_of(&call);
  return run_forward(&call, &args);
}

static mluOpStatus_t run_backward(const struct mluop_call *call, struct roi_align_args *args) {
  mluOpHandle_t handle = call->handle;
  if (args->pool.shape.R == 0) {
    const struct mluop_tensor *map = &call->tensors[MAP];
    memset(args->pool.data.grad_input, 0,
           (size_t)map->desc->element_num * mluop_dtype_size(map->desc->dtype));
    return mluop_end_call(call, SUCCESS);
  }
  const bool maximum = is_maximum(call);
  mluOpStatus_t status = SUCCESS;
  const struct mluop_float_state found = mluop_enter_floats();
  if (maximum) args->pool.plan.own_blocks = ROI_ALIGN_BLOCKS;
  if (mluop_roi_pool_begin(call, BOXES, &args->pool, &status)) {
    if (maximum) mluop_roi_pool_run_bins(handle, &args->pool, roi_align_reach);
    mluop_roi_pool_run_blocks(handle, &args->pool, maximum ? roi_align_scatter : NULL);
  }
  mluop_leave_floats(found);
  return mluop_end_call(call, status);
}

/* Both backwards. `call` has the tensors but those of argmax, and the scalars; `args` the pointers.
 */
static mluOpStatus_t backward(struct mluop_call *call, struct roi_align_args *args,
                              mluOpTensorDescriptor_t argmax_x_desc,
                              mluOpTensorDescriptor_t argmax_y_desc) {
  mluOpStatus_t status;
  if (!mluop_contract_holds(call, backward_null_rules, &status)) return status;
  if (is_maximum(call)) {
    call->tensors[ARGMAX_X] =
        (struct mluop_tensor){"argmax_x", argmax_x_desc, args->given_argmax_x, false, false};
    call->tensors[ARGMAX_Y] =
        (struct mluop_tensor){"argmax_y", argmax_y_desc, args->given_argmax_y, false, false};
    if (!mluop_contract_holds(call, argmax_null_rules, &status)) return status;
  }
  if (!mluop_contract_holds(call, kind_rules, &status)) return status;
  const struct mluOpTensorStruct *grads_desc = call->tensors[POOLED].desc;
  mluop_add_scalar(call, mluop_integer("pooled_height", grads_desc->dims[1]));
  mluop_add_scalar(call, mluop_integer("pooled_width", grads_desc->dims[2]));
  if (!mluop_contract_holds(call, shape_rules, &status) ||
      !mluop_contract_holds(call, backward_data_rules, &status)) {
    return status;
  }
  args->pool.shape = shape_of(call);
  return run_backward(call, args);
}

mluOpStatus_t mluOpRoiAlignBackward_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grads_desc, const void *grads,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_x_desc, const void *argmax_x,
    const mluOpTensorDescriptor_t argmax_y_desc, const void *argmax_y, const float spatial_scale,
    const int sampling_ratio, const bool aligned, const int pool_mode,
    const mluOpTensorDescriptor_t grads_image_desc, void *grads_image) {
  struct mluop_call call = {
      .api = "mluOpRoiAlignBackward_v2",
      .gen_case = "roi_align_backward " ROI_ALIGN_CASE_PARAMETERS,
      .handle = handle,
      .tensors = {[MAP] = {"grads_image", grads_image_desc, grads_image, .output = true},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [POOLED] = {"grads", grads_desc, grads, .output = false}},
      .scalars = {mluop_real("spatial_scale", spatial_scale),
                  mluop_integer("sampling_ratio", sampling_ratio),
                  mluop_integer("aligned", aligned), mluop_integer("pool_mode", pool_mode)}};
  struct roi_align_args args = {
      .pool.data = {.rois_data = boxes, .grad_output = grads, .grad_input = grads_image},
      .given_argmax_x = argmax_x,
      .given_argmax_y = argmax_y};
  return backward(&call, &args, argmax_x_desc, argmax_y_desc);
}

mluOpStatus_t mluOpRoiAlignBackward(mluOpHandle_t handle, const float spatial_scale,
                                    const int sampling_ratio, const bool aligned,
                                    const mluOpTensorDescriptor_t grads_desc, const void *grads,
                                    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                                    const mluOpTensorDescriptor_t grads_image_desc,
                                    void *grads_image) {
  struct mluop_call call = {
      .api = "mluOpRoiAlignBackward",
      .gen_case = "roi_align_backward " ROI_ALIGN_CASE_PARAMETERS,
      .handle = handle,
      .tensors = {[MAP] = {"grads_image", grads_image_desc, grads_image, .output = true},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [POOLED] = {"grads", grads_desc, grads, .output = false}},
      .scalars = {mluop_real("spatial_scale", spatial_scale),
                  mluop_integer("sampling_ratio", sampling_ratio),
                  mluop_integer("aligned", aligned), mluop_integer("pool_mode", MEAN)}};
  struct roi_align_args args = {
      .pool.data = {.rois_data = boxes, .grad_output = grads, .grad_input = grads_image}};
  return backward(&call, &args, NULL, NULL);
}

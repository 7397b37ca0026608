/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/checks.h"

#include <inttypes.h>

#define MAPS (MLUOP_ALL & ~MLUOP_BIT(BIAS))

/* The channels of a filter are known from here on. */
static bool name_group_channels(struct mluop_call *call, const struct mluop_rule *rule,
                                mluOpStatus_t *status) {
  (void)rule, (void)status;
  const int64_t groups = mluop_integer_of(call, "conv_group");
  mluop_add_scalar(call, mluop_integer("C/conv_group", mluop_extent(call, 'C') / groups));
  return true;
}

/* The pixels of an axis where a filter fits, 0 if there are none. */
static int64_t places(int64_t extent, int64_t padding, int64_t taps, int64_t dilation,
                      int64_t stride) {
  const uint64_t padded = (uint64_t)extent + (uint64_t)padding;
  uint64_t reach; /* of the filter, without its first tap */
  if (__builtin_mul_overflow((uint64_t)(taps - 1), (uint64_t)dilation, &reach)) return 0;
  return reach >= padded ? 0 : (int64_t)((padded - reach - 1) / (uint64_t)stride + 1);
}

/* The filter fits into the padded map; ho and wo are known from here on. */
static bool size_holds(struct mluop_call *call, const struct mluop_rule *rule,
                       mluOpStatus_t *status) {
  const int *pad = mluop_integers_of(call, "pad");
  const int *stride = mluop_integers_of(call, "stride");
  const int *dilation = mluop_integers_of(call, "dilation");
  const int64_t H = mluop_extent(call, 'H'), W = mluop_extent(call, 'W');
  const int64_t kh = mluop_extent(call, 'I'), kw = mluop_extent(call, 'J');
  const int64_t height = (int64_t)pad[0] + pad[1];
  const int64_t width = (int64_t)pad[2] + pad[3];
  const int64_t ho = places(H, height, kh, dilation[0], stride[0]);
  const int64_t wo = places(W, width, kw, dilation[1], stride[1]);
  mluop_add_scalar(call, mluop_integer("ho", ho));
  mluop_add_scalar(call, mluop_integer("wo", wo));
  if (ho > 0 && wo > 0) return true;
  *status = mluop_fail(rule->status, call->api,
                       "%s: dilated, its %" PRId64 " x %" PRId64
                       " taps are larger than the padded map of "
                       "%" PRIu64 " x %" PRIu64 " pixels",
                       call->tensors[FILTER].name, kh, kw, (uint64_t)H + (uint64_t)height,
                       (uint64_t)W + (uint64_t)width);
  return false;
}

/* The factors of the product are not asked for in another precision than their own. */
static bool precision_holds(struct mluop_call *call, const struct mluop_rule *rule,
                            mluOpStatus_t *status) {
  for (int i = 0; i < MLUOP_MAX_TENSORS; i++) {
    if ((rule->tensors & MLUOP_BIT(i)) == 0) continue;
    const struct mluOpTensorStruct *desc = call->tensors[i].desc;
    if (desc->onchip_dtype == MLUOP_DTYPE_INVALID || desc->onchip_dtype == desc->dtype) continue;
    *status = mluop_fail(rule->status, call->api, "%s: on-chip dtype is %s, expected %s or %s",
                         call->tensors[i].name, mluop_dtype_name(desc->onchip_dtype),
                         mluop_dtype_name(MLUOP_DTYPE_INVALID), mluop_dtype_name(desc->dtype));
    return false;
  }
  return true;
}

static const struct mluop_rule null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_WORKSPACE, .status = BAD_PARAM},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_SET, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_TOGETHER, .status = BAD_PARAM, .tensors = MLUOP_BIT(GRAD_MASK), .value = MASK},
    {.check = CHECK_END}};

static const struct mluop_rule tensor_rules[] = {
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MAPS, .value = 4},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(BIAS), .value = 1},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MAPS, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_LAYOUT,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(BIAS),
     .value = MLUOP_LAYOUT_ARRAY},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = INPUT},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(INPUT) | MLUOP_BIT(GRAD_INPUT),
     .text = "N H W C"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(INPUT),
     .text = "im2col_step|N H W deformable_group|C"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(INPUT),
     .text = "N H W conv_group|C"},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = name_group_channels},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(FILTER),
     .text = "conv_group|O I J C/conv_group"},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = size_holds},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(OFFSET) | MLUOP_BIT(GRAD_OFFSET),
     .text = "N ho wo deformable_group*I*J*2"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(MASK) | MLUOP_BIT(GRAD_MASK),
     .text = "N ho wo deformable_group*I*J"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(BIAS), .text = "O"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .text = "N ho wo O"},
    {.check = CHECK_END}};

const struct mluop_rule dcn_forward_factors[] = {{.check = CHECK_FUNCTION,
                                                  .status = NOT_SUPPORTED,
                                                  .tensors = MLUOP_BIT(INPUT) | MLUOP_BIT(FILTER),
                                                  .function = precision_holds},
                                                 {.check = CHECK_END}};

const struct mluop_rule dcn_data_factors[] = {{.check = CHECK_FUNCTION,
                                               .status = NOT_SUPPORTED,
                                               .tensors = MLUOP_BIT(FILTER) | MLUOP_BIT(OUTPUT),
                                               .function = precision_holds},
                                              {.check = CHECK_END}};

const struct mluop_rule dcn_weight_factors[] = {{.check = CHECK_FUNCTION,
                                                 .status = NOT_SUPPORTED,
                                                 .tensors = MLUOP_BIT(INPUT) | MLUOP_BIT(OUTPUT),
                                                 .function = precision_holds},
                                                {.check = CHECK_END}};

static const struct mluop_rule size_rules[] = {
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_END}};

static const struct mluop_rule data_rules[] = {
    {.check = CHECK_COMPLETE, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_GIVEN, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

static bool descriptors_hold(struct mluop_call *call, const struct mluop_rule *factors,
                             mluOpStatus_t *status) {
  return mluop_contract_holds(call, tensor_rules, status) &&
         mluop_contract_holds(call, factors, status) &&
         mluop_contract_holds(call, size_rules, status);
}

mluOpStatus_t dcn_query(struct mluop_call *call, const struct mluop_rule *factors,
                        size_t *workspace_size) {
  mluOpStatus_t status;
  if (!mluop_contract_holds(call, null_rules, &status)) return status;
  if (workspace_size == NULL) return mluop_null_argument(call->api, "workspace_size");
  if (descriptors_hold(call, factors, &status)) *workspace_size = 0;
  return status;
}

bool dcn_call_holds(struct mluop_call *call, const struct mluop_rule *factors,
                    mluOpStatus_t *status) {
  return mluop_contract_holds(call, null_rules, status) &&
         descriptors_hold(call, factors, status) && mluop_contract_holds(call, data_rules, status);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"

struct cnnlDCNStruct {
  struct mluop_parameters parameters;
};

mluOpStatus_t mluOpCreateDCNDescriptor(mluOpDCNDescriptor_t *dcn_desc) {
  mluOpStatus_t status;
  void *made = mluop_create_parameters("mluOpCreateDCNDescriptor", "dcn_desc", dcn_desc, &status);
  if (made != NULL) *dcn_desc = made;
  return status;
}

mluOpStatus_t mluOpDestroyDCNDescriptor(mluOpDCNDescriptor_t dcn_desc) {
  return mluop_destroy_parameters("mluOpDestroyDCNDescriptor", "dcn_desc", dcn_desc);
}

static bool compute_type_holds(struct mluop_call *call, const struct mluop_rule *rule,
                               mluOpStatus_t *status) {
  const mluOpDataType_t type = (mluOpDataType_t)mluop_integer_of(call, "compute_type");
  if (type == MLUOP_DTYPE_FLOAT) return true;
  *status = mluop_fail(rule->status, call->api, "compute_type is %s, expected %s",
                       mluop_dtype_name(type), mluop_dtype_name(MLUOP_DTYPE_FLOAT));
  return false;
}

static const struct mluop_rule set_rules[] = {
    {.check = CHECK_OBJECT, .status = BAD_PARAM, .text = "dcn_desc"},
    {.check = CHECK_EQUAL, .status = BAD_PARAM, .text = "dimNb", .value = 4},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pad", .value = 0},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "stride", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "dilation", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "deformable_group", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "conv_group", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "im2col_step", .value = 1},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = compute_type_holds},
    {.check = CHECK_END}};

mluOpStatus_t mluOpSetDCNDescriptor(mluOpDCNDescriptor_t dcn_desc, int dimNb, const int pad[],
                                    const int stride[], const int dilation[], int deformable_group,
                                    int conv_group, int im2col_step,
                                    const mluOpDataType_t compute_type) {
  /* With another dimNb the arrays may have other lengths: nothing of them is read. */
  const bool known = dimNb == 4;
  struct mluop_call call = {
      .api = "mluOpSetDCNDescriptor",
      .objects = {{.name = "dcn_desc", .pointer = dcn_desc},
                  {.name = "pad", .pointer = pad},
                  {.name = "stride", .pointer = stride},
                  {.name = "dilation", .pointer = dilation}},
      .scalars = {mluop_integer("dimNb", dimNb), mluop_integers("pad", known ? pad : NULL, 4),
                  mluop_integers("stride", known ? stride : NULL, 2),
                  mluop_integers("dilation", known ? dilation : NULL, 2),
                  mluop_integer("deformable_group", deformable_group),
                  mluop_integer("conv_group", conv_group),
                  mluop_integer("im2col_step", im2col_step),
                  mluop_integer("compute_type", (int)compute_type)}};
  mluOpStatus_t status;
  if (mluop_contract_holds(&call, set_rules, &status)) mluop_set_parameters(dcn_desc, &call);
  return status;
}

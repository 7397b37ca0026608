/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"

struct mluOpRoiAlignForwardStruct {
  struct mluop_parameters parameters;
};

mluOpStatus_t mluOpCreateRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t *desc) {
  mluOpStatus_t status;
  void *made =
      mluop_create_parameters("mluOpCreateRoiAlignForwardDescriptor", "desc", desc, &status);
  if (made != NULL) *desc = made;
  return status;
}

mluOpStatus_t mluOpDestroyRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t desc) {
  return mluop_destroy_parameters("mluOpDestroyRoiAlignForwardDescriptor", "desc", desc);
}

static const struct mluop_rule set_rules[] = {
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pooled_height", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pooled_width", .value = 1},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pool_mode", .value = 0},
    {.check = CHECK_MAX, .status = BAD_PARAM, .text = "pool_mode", .value = 1},
    {.check = CHECK_END}};

mluOpStatus_t mluOpSetRoiAlignForwardDescriptor_v2(mluOpRoiAlignForwardDescriptor_t roialign_desc,
                                                   const int pooled_height, const int pooled_width,
                                                   const int sampling_ratio,
                                                   const float spatial_scale, const int pool_mode,
                                                   const bool aligned) {
  struct mluop_call call = {
      .api = "mluOpSetRoiAlignForwardDescriptor_v2",
      .objects = {{.name = "roialign_desc", .pointer = roialign_desc}},
      .scalars = {mluop_integer("pooled_height", pooled_height),
                  mluop_integer("pooled_width", pooled_width),
                  mluop_integer("sampling_ratio", sampling_ratio),
                  mluop_real("spatial_scale", spatial_scale), mluop_integer("pool_mode", pool_mode),
                  mluop_integer("aligned", aligned)}};
  mluOpStatus_t status;
  if (mluop_contract_holds(&call, set_rules, &status)) mluop_set_parameters(roialign_desc, &call);
  return status;
}

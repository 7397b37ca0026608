/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

/* What a tensor descriptor says besides its shape. */

mluOpStatus_t mluOpSetTensorDescriptorPointerMode(mluOpTensorDescriptor_t desc,
                                                  mluOpPointerMode_t pointer_mode) {
  static const char api[] = "mluOpSetTensorDescriptorPointerMode";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (pointer_mode != MLUOP_POINTER_MODE_HOST && pointer_mode != MLUOP_POINTER_MODE_DEVICE) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "pointer_mode is %d, expected MLUOP_POINTER_MODE_HOST (0) or "
                      "MLUOP_POINTER_MODE_DEVICE (1)",
                      (int)pointer_mode);
  }
  desc->pointer_mode = pointer_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPointerMode(const mluOpTensorDescriptor_t desc,
                                                  mluOpPointerMode_t *pointer_mode) {
  static const char api[] = "mluOpGetTensorDescriptorPointerMode";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (pointer_mode == NULL) return mluop_null_argument(api, "pointer_mode");
  *pointer_mode = desc->pointer_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorOnchipDataType(mluOpTensorDescriptor_t desc,
                                                     mluOpDataType_t onchip_dtype) {
  static const char api[] = "mluOpSetTensorDescriptorOnchipDataType";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (!mluop_dtype_known(onchip_dtype)) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "onchip_dtype is %d, expected a value of mluOpDataType_t", (int)onchip_dtype);
  }
  desc->onchip_dtype = onchip_dtype;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorOnchipDataType(const mluOpTensorDescriptor_t desc,
                                                     mluOpDataType_t *onchip_dtype) {
  static const char api[] = "mluOpGetTensorDescriptorOnchipDataType";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (onchip_dtype == NULL) return mluop_null_argument(api, "onchip_dtype");
  *onchip_dtype = desc->onchip_dtype;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorPosition(mluOpTensorDescriptor_t desc, int position) {
  if (desc == NULL) return mluop_null_argument("mluOpSetTensorDescriptorPosition", "desc");
  desc->position = position;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorPositionAndScale(mluOpTensorDescriptor_t desc, int position,
                                                       float scale) {
  if (desc == NULL) return mluop_null_argument("mluOpSetTensorDescriptorPositionAndScale", "desc");
  desc->position = position;
  desc->scale = scale;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetTensorDescriptorPositionScaleAndOffset(mluOpTensorDescriptor_t desc,
                                                             int position, float scale,
                                                             int offset) {
  if (desc == NULL)
    return mluop_null_argument("mluOpSetTensorDescriptorPositionScaleAndOffset", "desc");
  desc->position = position;
  desc->scale = scale;
  desc->offset = offset;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPosition(const mluOpTensorDescriptor_t desc, int *position) {
  static const char api[] = "mluOpGetTensorDescriptorPosition";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (position == NULL) return mluop_null_argument(api, "position");
  *position = desc->position;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPositionAndScale(const mluOpTensorDescriptor_t desc,
                                                       int *position, float *scale) {
  static const char api[] = "mluOpGetTensorDescriptorPositionAndScale";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (position == NULL) return mluop_null_argument(api, "position");
  if (scale == NULL) return mluop_null_argument(api, "scale");
  *position = desc->position;
  *scale = desc->scale;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptorPositionScaleAndOffset(const mluOpTensorDescriptor_t desc,
                                                             int *position, float *scale,
                                                             int *offset) {
  static const char api[] = "mluOpGetTensorDescriptorPositionScaleAndOffset";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (position == NULL) return mluop_null_argument(api, "position");
  if (scale == NULL) return mluop_null_argument(api, "scale");
  if (offset == NULL) return mluop_null_argument(api, "offset");
  *position = desc->position;
  *scale = desc->scale;
  *offset = desc->offset;
  return MLUOP_STATUS_SUCCESS;
}

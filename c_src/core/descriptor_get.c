/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "internal.h"

/* Reading a tensor descriptor back. Nothing is stored unless everything can be. */

static bool numbers_fit(const int64_t *list, int n) {
  for (int i = 0; i < n; i++) {
    if (list[i] < INT_MIN || list[i] > INT_MAX) return false;
  }
  return true;
}

static void copy_numbers(const int64_t *list, int n, int *narrow_out, int64_t *wide_out) {
  for (int i = 0; i < n; i++) {
    if (narrow_out != NULL) narrow_out[i] = (int)list[i];
    if (wide_out != NULL) wide_out[i] = list[i];
  }
}

static mluOpStatus_t too_wide(const char *api, const char *name) {
  return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                    "%s does not fit into an int; use the _v2 form of this function", name);
}

static mluOpStatus_t get_descriptor(const char *api, const mluOpTensorDescriptor_t desc,
                                    mluOpTensorLayout_t *layout, mluOpDataType_t *dtype,
                                    int *dim_nb, int *narrow_dims, int64_t *wide_dims) {
  if (desc == NULL) return mluop_null_argument(api, "desc");
  if (narrow_dims != NULL && !numbers_fit(desc->dims, desc->dim_nb)) {
    return too_wide(api, "dimSize");
  }
  if (layout != NULL) *layout = desc->layout;
  if (dtype != NULL) *dtype = desc->dtype;
  if (dim_nb != NULL) *dim_nb = desc->dim_nb;
  copy_numbers(desc->dims, desc->dim_nb, narrow_dims, wide_dims);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetTensorDescriptor(const mluOpTensorDescriptor_t desc,
                                       mluOpTensorLayout_t *layout, mluOpDataType_t *dtype,
                                       int *dimNb, int dimSize[]) {
  return get_descriptor("mluOpGetTensorDescriptor", desc, layout, dtype, dimNb, dimSize, NULL);
}

mluOpStatus_t mluOpGetTensorDescriptor_v2(const mluOpTensorDescriptor_t desc,
                                          mluOpTensorLayout_t *layout, mluOpDataType_t *dtype,
                                          int *dimNb, int64_t dimSize[]) {
  return get_descriptor("mluOpGetTensorDescriptor_v2", desc, layout, dtype, dimNb, NULL, dimSize);
}

/* The Ex forms need every out-pointer. Returns the name of the first one that is NULL. */
static const char *missing_output(const void *layout, const void *dtype, const void *dim_nb,
                                  const void *dims, const void *strides) {
  if (layout == NULL) return "layout";
  if (dtype == NULL) return "dtype";
  if (dim_nb == NULL) return "dimNb";
  if (dims == NULL) return "dimSize";
  if (strides == NULL) return "dimStride";
  return NULL;
}

mluOpStatus_t mluOpGetTensorDescriptorEx(const mluOpTensorDescriptor_t desc,
                                         mluOpTensorLayout_t *layout, mluOpDataType_t *dtype,
                                         int *dimNb, int dimSize[], int dimStride[]) {
  static const char api[] = "mluOpGetTensorDescriptorEx";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  const char *missing = missing_output(layout, dtype, dimNb, dimSize, dimStride);
  if (missing != NULL) return mluop_null_argument(api, missing);
  if (!numbers_fit(desc->strides, desc->dim_nb)) return too_wide(api, "dimStride");
  const mluOpStatus_t status = get_descriptor(api, desc, layout, dtype, dimNb, dimSize, NULL);
  if (status == MLUOP_STATUS_SUCCESS) copy_numbers(desc->strides, desc->dim_nb, dimStride, NULL);
  return status;
}

mluOpStatus_t mluOpGetTensorDescriptorEx_v2(const mluOpTensorDescriptor_t desc,
                                            mluOpTensorLayout_t *layout, mluOpDataType_t *dtype,
                                            int *dimNb, int64_t dimSize[], int64_t dimStride[]) {
  static const char api[] = "mluOpGetTensorDescriptorEx_v2";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  const char *missing = missing_output(layout, dtype, dimNb, dimSize, dimStride);
  if (missing != NULL) return mluop_null_argument(api, missing);
  const mluOpStatus_t status = get_descriptor(api, desc, layout, dtype, dimNb, NULL, dimSize);
  if (status == MLUOP_STATUS_SUCCESS) copy_numbers(desc->strides, desc->dim_nb, NULL, dimStride);
  return status;
}

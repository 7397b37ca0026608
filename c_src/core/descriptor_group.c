/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

/* Groups: the same call for several descriptors. Each works on all or on none. */

static mluOpStatus_t check_group(const char *api, mluOpTensorDescriptor_t *group[], int n,
                                 bool created) {
  if (group == NULL) return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "group_descs is NULL");
  if (n <= 0) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "desc_num is %d, expected 1 or more", n);
  }
  for (int i = 0; i < n; i++) {
    if (group[i] == NULL) {
      return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "group_descs[%d] is NULL", i);
    }
    if (created && *group[i] == NULL) {
      return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "group_descs[%d] points to NULL", i);
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

/* No two places hold the same descriptor. */
static mluOpStatus_t check_distinct(const char *api, mluOpTensorDescriptor_t *group[], int n) {
  for (int i = 1; i < n; i++) {
    for (int j = 0; j < i; j++) {
      if (*group[i] != *group[j]) continue;
      return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                        "group_descs[%d] points to the same descriptor as group_descs[%d]", i, j);
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpCreateGroupTensorDescriptors(mluOpTensorDescriptor_t *group_descs[],
                                                const int desc_num) {
  mluOpStatus_t status =
      check_group("mluOpCreateGroupTensorDescriptors", group_descs, desc_num, false);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  for (int i = 0; i < desc_num; i++) {
    status = mluOpCreateTensorDescriptor(group_descs[i]);
    if (status != MLUOP_STATUS_SUCCESS) {
      while (i-- > 0) {
        mluOpDestroyTensorDescriptor(*group_descs[i]);
        *group_descs[i] = NULL;
      }
      return status;
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpDestroyGroupTensorDescriptors(mluOpTensorDescriptor_t *group_descs[],
                                                 const int desc_num) {
  static const char api[] = "mluOpDestroyGroupTensorDescriptors";
  mluOpStatus_t status = check_group(api, group_descs, desc_num, true);
  if (status == MLUOP_STATUS_SUCCESS) status = check_distinct(api, group_descs, desc_num);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  for (int i = 0; i < desc_num; i++) mluOpDestroyTensorDescriptor(*group_descs[i]);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetGroupTensorDescriptors(mluOpTensorDescriptor_t *group_descs[],
                                             const mluOpTensorLayout_t group_layout[],
                                             const mluOpDataType_t group_dtype[],
                                             const int group_dimNb[], const int group_dimSize[],
                                             const int desc_num) {
  static const char api[] = "mluOpSetGroupTensorDescriptors";
  mluOpStatus_t status = check_group(api, group_descs, desc_num, true);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (group_layout == NULL || group_dtype == NULL || group_dimNb == NULL || group_dimSize == NULL) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "group_layout, group_dtype, group_dimNb or group_dimSize is NULL");
  }
  const int *dims = group_dimSize;
  for (int i = 0; i < desc_num; i++) {
    status = mluop_prepare_descriptor(api, *group_descs[i], group_layout[i], group_dtype[i],
                                      group_dimNb[i], dims);
    if (status != MLUOP_STATUS_SUCCESS) return status;
    dims += group_dimNb[i];
  }
  dims = group_dimSize;
  for (int i = 0; i < desc_num; i++) {
    mluOpSetTensorDescriptor(*group_descs[i], group_layout[i], group_dtype[i], group_dimNb[i],
                             dims);
    dims += group_dimNb[i];
  }
  return MLUOP_STATUS_SUCCESS;
}

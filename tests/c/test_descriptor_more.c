/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor descriptor says besides its shape; groups of descriptors. */
#include <limits.h>
#include <string.h>

#include "check.h"
#include "core/internal.h"

static mluOpTensorDescriptor_t create(void) {
  mluOpTensorDescriptor_t desc = NULL;
  OK(mluOpCreateTensorDescriptor(&desc));
  return desc;
}

static void position_scale_and_offset(void) {
  mluOpTensorDescriptor_t desc = create();
  int position = 7, offset = 7;
  float scale = 7.0f;
  OK(mluOpSetTensorDescriptorPosition(desc, INT_MIN));
  OK(mluOpGetTensorDescriptorPosition(desc, &position));
  CHECK_EQ(INT_MIN, position);
  OK(mluOpSetTensorDescriptorPositionAndScale(desc, -2, 0.25f));
  OK(mluOpGetTensorDescriptorPositionAndScale(desc, &position, &scale));
  CHECK_EQ(-2, position);
  CHECK(scale == 0.25f);
  OK(mluOpSetTensorDescriptorPositionScaleAndOffset(desc, 3, -8.5f, INT_MAX));
  OK(mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &position, &scale, &offset));
  CHECK_EQ(3, position);
  CHECK(scale == -8.5f);
  CHECK_EQ(INT_MAX, offset);
  OK(mluOpSetTensorDescriptorPositionAndScale(desc, 4, 2.0f));
  OK(mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &position, &scale, &offset));
  CHECK_EQ(INT_MAX, offset);
  BAD(mluOpGetTensorDescriptorPosition(desc, NULL));
  BAD(mluOpGetTensorDescriptorPositionAndScale(desc, NULL, &scale));
  BAD(mluOpGetTensorDescriptorPositionAndScale(desc, &position, NULL));
  BAD(mluOpGetTensorDescriptorPositionScaleAndOffset(desc, NULL, &scale, &offset));
  BAD(mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &position, NULL, &offset));
  BAD_TEXT("[mluOpGetTensorDescriptorPositionScaleAndOffset] offset is NULL",
           mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &position, &scale, NULL));
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void pointer_mode_and_onchip_data_type(void) {
  mluOpTensorDescriptor_t desc = create();
  mluOpPointerMode_t mode;
  mluOpDataType_t dtype;
  OK(mluOpSetTensorDescriptorPointerMode(desc, MLUOP_POINTER_MODE_HOST));
  OK(mluOpGetTensorDescriptorPointerMode(desc, &mode));
  CHECK_EQ(MLUOP_POINTER_MODE_HOST, mode);
  OK(mluOpSetTensorDescriptorPointerMode(desc, MLUOP_POINTER_MODE_DEVICE));
  OK(mluOpGetTensorDescriptorPointerMode(desc, &mode));
  CHECK_EQ(MLUOP_POINTER_MODE_DEVICE, mode);
  OK(mluOpSetTensorDescriptorOnchipDataType(desc, MLUOP_DTYPE_INT31));
  OK(mluOpGetTensorDescriptorOnchipDataType(desc, &dtype));
  CHECK_EQ(MLUOP_DTYPE_INT31, dtype);
  BAD(mluOpGetTensorDescriptorPointerMode(desc, NULL));
  BAD(mluOpGetTensorDescriptorOnchipDataType(desc, NULL));
  BAD_TEXT(
      "[mluOpSetTensorDescriptorOnchipDataType] onchip_dtype is 10, expected a value of "
      "mluOpDataType_t",
      mluOpSetTensorDescriptorOnchipDataType(desc, (mluOpDataType_t)10));
  OK(mluOpDestroyTensorDescriptor(desc));
}

enum { GROUP = 3 };

static const mluOpTensorLayout_t layouts[GROUP] = {MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_NC,
                                                   MLUOP_LAYOUT_ARRAY};
static const mluOpDataType_t dtypes[GROUP] = {MLUOP_DTYPE_HALF, MLUOP_DTYPE_INT32,
                                              MLUOP_DTYPE_FLOAT};
static const int dim_nbs[GROUP] = {4, 2, 9};
static const int all_dims[] = {1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1, 1, 1, 7};

static void groups_are_made_set_and_destroyed(void) {
  mluOpTensorDescriptor_t descs[GROUP] = {NULL};
  mluOpTensorDescriptor_t *group[GROUP] = {&descs[0], &descs[1], &descs[2]};
  OK(mluOpCreateGroupTensorDescriptors(group, GROUP));
  OK(mluOpSetGroupTensorDescriptors(group, layouts, dtypes, dim_nbs, all_dims, GROUP));
  static const int counts[GROUP] = {24, 30, 7};
  for (int i = 0; i < GROUP; i++) {
    mluOpTensorLayout_t layout;
    mluOpDataType_t dtype;
    int n;
    OK(mluOpGetTensorDescriptor(descs[i], &layout, &dtype, &n, NULL));
    CHECK_EQ(layouts[i], layout);
    CHECK_EQ(dtypes[i], dtype);
    CHECK_EQ(dim_nbs[i], n);
    CHECK_EQ(counts[i], mluOpGetTensorElementNum(descs[i]));
  }
  OK(mluOpDestroyGroupTensorDescriptors(group, GROUP));
}

static void a_group_is_set_as_a_whole_or_not_at_all(void) {
  mluOpTensorDescriptor_t descs[GROUP] = {NULL};
  mluOpTensorDescriptor_t *group[GROUP] = {&descs[0], &descs[1], &descs[2]};
  OK(mluOpCreateGroupTensorDescriptors(group, GROUP));
  const int wrong_nbs[GROUP] = {4, 2, -1};
  int wrong_dims[sizeof(all_dims) / sizeof(all_dims[0])];
  memcpy(wrong_dims, all_dims, sizeof(all_dims));
  wrong_dims[14] = -7;
  const mluOpDataType_t wrong_dtypes[GROUP] = {MLUOP_DTYPE_HALF, MLUOP_DTYPE_INT32,
                                               (mluOpDataType_t)99};
  BAD(mluOpSetGroupTensorDescriptors(group, layouts, dtypes, wrong_nbs, all_dims, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(group, layouts, dtypes, dim_nbs, wrong_dims, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(group, layouts, wrong_dtypes, dim_nbs, all_dims, GROUP));
  for (int i = 0; i < GROUP; i++) {
    int n = -1;
    OK(mluOpGetTensorDescriptor(descs[i], NULL, NULL, &n, NULL));
    CHECK_EQ(0, n);
  }
  OK(mluOpDestroyGroupTensorDescriptors(group, GROUP));
}

static void group_arguments_are_checked(void) {
  mluOpTensorDescriptor_t descs[GROUP] = {NULL};
  mluOpTensorDescriptor_t *group[GROUP] = {&descs[0], &descs[1], &descs[2]};
  mluOpTensorDescriptor_t *gap[GROUP] = {&descs[0], NULL, &descs[2]};
  for (int n = -1; n <= 0; n++) {
    BAD(mluOpCreateGroupTensorDescriptors(group, n));
    BAD(mluOpDestroyGroupTensorDescriptors(group, n));
    BAD(mluOpSetGroupTensorDescriptors(group, layouts, dtypes, dim_nbs, all_dims, n));
  }
  BAD(mluOpCreateGroupTensorDescriptors(NULL, GROUP));
  BAD_TEXT("[mluOpCreateGroupTensorDescriptors] group_descs[1] is NULL",
           mluOpCreateGroupTensorDescriptors(gap, GROUP));
  CHECK(descs[0] == NULL && descs[2] == NULL);
  BAD(mluOpDestroyGroupTensorDescriptors(NULL, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(NULL, layouts, dtypes, dim_nbs, all_dims, GROUP));
  BAD_TEXT("[mluOpDestroyGroupTensorDescriptors] group_descs[0] points to NULL",
           mluOpDestroyGroupTensorDescriptors(group, GROUP));
  OK(mluOpCreateGroupTensorDescriptors(group, GROUP));
  BAD(mluOpDestroyGroupTensorDescriptors(gap, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(gap, layouts, dtypes, dim_nbs, all_dims, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(group, NULL, dtypes, dim_nbs, all_dims, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(group, layouts, NULL, dim_nbs, all_dims, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(group, layouts, dtypes, NULL, all_dims, GROUP));
  BAD(mluOpSetGroupTensorDescriptors(group, layouts, dtypes, dim_nbs, NULL, GROUP));
  mluOpTensorDescriptor_t copy = descs[0], *twice[GROUP] = {&descs[0], &descs[1], &copy};
  BAD_TEXT(
      "[mluOpDestroyGroupTensorDescriptors] group_descs[2] points to the same descriptor as "
      "group_descs[0]",
      mluOpDestroyGroupTensorDescriptors(twice, GROUP));
  OK(mluOpDestroyGroupTensorDescriptors(group, GROUP));
}

static int contiguous(int n, const int64_t *dims, const int64_t *strides) {
  mluOpTensorDescriptor_t desc = create();
  OK(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, n, dims, strides));
  const int result = mluop_tensor_contiguous(desc);
  OK(mluOpDestroyTensorDescriptor(desc));
  return result;
}

static void contiguous_means_packed_where_it_matters(void) {
  const int64_t dims[] = {2, 3, 4};
  CHECK(contiguous(3, dims, (const int64_t[]){12, 4, 1}));
  CHECK(!contiguous(3, dims, (const int64_t[]){24, 8, 2}));
  CHECK(!contiguous(3, dims, (const int64_t[]){1, 2, 6}));
  CHECK(!contiguous(3, dims, (const int64_t[]){13, 4, 1}));
  const int64_t with_ones[] = {1, 3, 1, 4};
  CHECK(contiguous(4, with_ones, (const int64_t[]){999, 4, -5, 1}));
  CHECK(!contiguous(4, with_ones, (const int64_t[]){12, 5, 4, 1}));
  const int64_t empty[] = {2, 0, 4};
  CHECK(contiguous(3, empty, (const int64_t[]){7, 7, 7}));
}

static const struct test tests[] = {
    TEST(position_scale_and_offset),         TEST(pointer_mode_and_onchip_data_type),
    TEST(groups_are_made_set_and_destroyed), TEST(a_group_is_set_as_a_whole_or_not_at_all),
    TEST(group_arguments_are_checked),       TEST(contiguous_means_packed_where_it_matters),
};
RUN_TESTS(tests)

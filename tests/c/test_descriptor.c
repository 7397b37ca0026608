/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of tensor descriptors: every way to set one and to read it back. */
#include <limits.h>
#include <string.h>

#include "check.h"
#include "mlu_op.h"
#include "mlu_op_cpu.h"

enum { MOST_DIMS = 40 };

/* Everything that can be read from a descriptor. */
struct state {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype, onchip;
  mluOpPointerMode_t mode;
  int dim_nb, position, offset;
  float scale;
  uint64_t count;
  int64_t dims[MOST_DIMS], strides[MOST_DIMS];
};

static struct state state_of(mluOpTensorDescriptor_t desc) {
  struct state state;
  memset(&state, 0, sizeof(state));
  OK(mluOpGetTensorDescriptorEx_v2(desc, &state.layout, &state.dtype, &state.dim_nb, state.dims,
                                   state.strides));
  OK(mluOpGetTensorDescriptorOnchipDataType(desc, &state.onchip));
  OK(mluOpGetTensorDescriptorPointerMode(desc, &state.mode));
  OK(mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &state.position, &state.scale,
                                                    &state.offset));
  state.count = mluOpGetTensorElementNum(desc);
  return state;
}

static mluOpTensorDescriptor_t create(void) {
  mluOpTensorDescriptor_t desc = NULL;
  OK(mluOpCreateTensorDescriptor(&desc));
  return desc;
}

/* A descriptor in a state that no default explains. */
static mluOpTensorDescriptor_t create_used(void) {
  mluOpTensorDescriptor_t desc = create();
  const int dims[] = {2, 3, 5}, strides[] = {30, 10, 2};
  OK(mluOpSetTensorDescriptorEx(desc, MLUOP_LAYOUT_NLC, MLUOP_DTYPE_INT16, 3, dims, strides));
  OK(mluOpSetTensorDescriptorPositionScaleAndOffset(desc, -3, 0.5f, 7));
  OK(mluOpSetTensorDescriptorOnchipDataType(desc, MLUOP_DTYPE_INT31));
  return desc;
}

#define UNCHANGED(desc, call)                            \
  do {                                                   \
    const struct state before = state_of(desc);          \
    BAD(call);                                           \
    const struct state after = state_of(desc);           \
    CHECK(memcmp(&before, &after, sizeof(before)) == 0); \
  } while (0)

static void check_default(mluOpTensorDescriptor_t desc) {
  const struct state state = state_of(desc);
  CHECK_EQ(MLUOP_LAYOUT_ARRAY, state.layout);
  CHECK_EQ(MLUOP_DTYPE_FLOAT, state.dtype);
  CHECK_EQ(MLUOP_DTYPE_INVALID, state.onchip);
  CHECK_EQ(MLUOP_POINTER_MODE_DEVICE, state.mode);
  CHECK_EQ(0, state.dim_nb);
  CHECK_EQ(0, state.count);
  CHECK_EQ(0, state.position);
  CHECK(state.scale == 1.0f);
  CHECK_EQ(0, state.offset);
}

static void a_new_or_reset_descriptor_is_empty(void) {
  mluOpTensorDescriptor_t desc = create();
  check_default(desc);
  OK(mluOpDestroyTensorDescriptor(desc));
  desc = create_used();
  int many[20];
  for (int i = 0; i < 20; i++) many[i] = 2;
  OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, 20, many));
  OK(mluOpSetTensorDescriptorPointerMode(desc, MLUOP_POINTER_MODE_HOST));
  OK(mluOpResetTensorDescriptor(desc));
  check_default(desc);
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void null_descriptors_are_refused(void) {
  const int dims[] = {1};
  const int64_t wide[] = {1};
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  mluOpPointerMode_t mode;
  int n, out[1];
  int64_t out_wide[1];
  float scale;
  BAD_TEXT("[mluOpCreateTensorDescriptor] desc is NULL", mluOpCreateTensorDescriptor(NULL));
  BAD_TEXT("[mluOpDestroyTensorDescriptor] desc is NULL", mluOpDestroyTensorDescriptor(NULL));
  BAD(mluOpResetTensorDescriptor(NULL));
  BAD(mluOpSetTensorDescriptor(NULL, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, dims));
  BAD(mluOpSetTensorDescriptor_v2(NULL, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, wide));
  BAD(mluOpSetTensorDescriptorEx(NULL, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, dims, dims));
  BAD(mluOpSetTensorDescriptorEx_v2(NULL, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, wide, wide));
  BAD(mluOpSetTensorDescriptorDim(NULL, 1, dims));
  BAD(mluOpSetTensorDescriptorDim_v2(NULL, 1, wide));
  BAD(mluOpSetTensorDescriptorPointerMode(NULL, MLUOP_POINTER_MODE_HOST));
  BAD(mluOpGetTensorDescriptorPointerMode(NULL, &mode));
  BAD(mluOpSetTensorDescriptorOnchipDataType(NULL, MLUOP_DTYPE_FLOAT));
  BAD(mluOpGetTensorDescriptorOnchipDataType(NULL, &dtype));
  BAD(mluOpSetTensorDescriptorPosition(NULL, 1));
  BAD(mluOpSetTensorDescriptorPositionAndScale(NULL, 1, 1.0f));
  BAD(mluOpSetTensorDescriptorPositionScaleAndOffset(NULL, 1, 1.0f, 1));
  BAD(mluOpGetTensorDescriptorPosition(NULL, &n));
  BAD(mluOpGetTensorDescriptorPositionAndScale(NULL, &n, &scale));
  BAD(mluOpGetTensorDescriptorPositionScaleAndOffset(NULL, &n, &scale, out));
  BAD(mluOpGetTensorDescriptor(NULL, &layout, &dtype, &n, out));
  BAD(mluOpGetTensorDescriptor_v2(NULL, &layout, &dtype, &n, out_wide));
  BAD(mluOpGetTensorDescriptorEx(NULL, &layout, &dtype, &n, out, out));
  BAD(mluOpGetTensorDescriptorEx_v2(NULL, &layout, &dtype, &n, out_wide, out_wide));
  CHECK_EQ(0, mluOpGetTensorElementNum(NULL));
}

static void setting_infers_packed_strides(void) {
  mluOpTensorDescriptor_t desc = create();
  const int dims[] = {2, 3, 1, 5};
  const int64_t wide[] = {2, 3, 1, 5}, strides[] = {15, 5, 5, 1};
  for (int form = 0; form < 4; form++) {
    OK(mluOpResetTensorDescriptor(desc));
    OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_INT8, 1, dims));
    if (form == 0) OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_INT8, 4, dims));
    if (form == 1) {
      OK(mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_INT8, 4, wide));
    }
    if (form == 2) OK(mluOpSetTensorDescriptorDim(desc, 4, dims));
    if (form == 3) OK(mluOpSetTensorDescriptorDim_v2(desc, 4, wide));
    const struct state state = state_of(desc);
    CHECK_EQ(MLUOP_LAYOUT_NCHW, state.layout);
    CHECK_EQ(MLUOP_DTYPE_INT8, state.dtype);
    CHECK_EQ(4, state.dim_nb);
    CHECK_EQ(30, state.count);
    CHECK(memcmp(state.dims, wide, sizeof(wide)) == 0);
    CHECK(memcmp(state.strides, strides, sizeof(strides)) == 0);
  }
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void strides_of_any_kind_read_back(void) {
  mluOpTensorDescriptor_t desc = create();
  const int dims[] = {4, 3, 2}, strides[] = {1, 0, -7};
  OK(mluOpSetTensorDescriptorEx(desc, MLUOP_LAYOUT_TNC, MLUOP_DTYPE_BOOL, 3, dims, strides));
  int dims_back[3], strides_back[3], n;
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  OK(mluOpGetTensorDescriptorEx(desc, &layout, &dtype, &n, dims_back, strides_back));
  CHECK_EQ(MLUOP_LAYOUT_TNC, layout);
  CHECK_EQ(MLUOP_DTYPE_BOOL, dtype);
  CHECK_EQ(3, n);
  CHECK(memcmp(dims, dims_back, sizeof(dims)) == 0);
  CHECK(memcmp(strides, strides_back, sizeof(strides)) == 0);
  CHECK_EQ(24, mluOpGetTensorElementNum(desc));

  const int64_t wide_dims[] = {3, 2}, wide_strides[] = {INT64_C(1) << 40, 1};
  OK(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_DOUBLE, 2, wide_dims,
                                   wide_strides));
  const struct state state = state_of(desc);
  CHECK(memcmp(state.strides, wide_strides, sizeof(wide_strides)) == 0);
  CHECK_EQ(6, state.count);
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void every_enumerator_is_accepted(void) {
  mluOpTensorDescriptor_t desc = create();
  const int dims[] = {1};
  for (int layout = -1; layout <= 11; layout++) {
    const int known = layout >= 0 && layout <= 10;
    CHECK_EQ(
        known ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM,
        mluOpSetTensorDescriptor(desc, (mluOpTensorLayout_t)layout, MLUOP_DTYPE_FLOAT, 1, dims));
  }
  for (int dtype = -1; dtype <= 18; dtype++) {
    const int known = dtype >= 0 && dtype <= 17 && dtype != 10;
    const int expected = known ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM;
    CHECK_EQ(expected,
             mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, (mluOpDataType_t)dtype, 1, dims));
    CHECK_EQ(expected, mluOpSetTensorDescriptorOnchipDataType(desc, (mluOpDataType_t)dtype));
  }
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void a_failed_set_changes_nothing(void) {
  mluOpTensorDescriptor_t desc = create_used();
  const mluOpTensorLayout_t layout = MLUOP_LAYOUT_NHWC;
  const mluOpDataType_t dtype = MLUOP_DTYPE_HALF;
  const int dims[] = {2, -1}, good[] = {2, 2};
  const int64_t wide[] = {INT64_C(1) << 32, INT64_C(1) << 31}, good_wide[] = {2, 2};
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, layout, dtype, 2, dims));
  CHECK_TEXT("[mluOpSetTensorDescriptor] dimSize[1] is -1, expected 0 or more",
             mluOpCpuGetLastErrorMessage());
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, layout, dtype, -1, good));
  CHECK_TEXT("[mluOpSetTensorDescriptor] dimNb is -1, expected 0 or more",
             mluOpCpuGetLastErrorMessage());
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, layout, dtype, INT_MIN, good));
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, layout, dtype, 2, NULL));
  CHECK_TEXT("[mluOpSetTensorDescriptor] dimSize is NULL", mluOpCpuGetLastErrorMessage());
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, (mluOpTensorLayout_t)11, dtype, 2, good));
  CHECK_TEXT("[mluOpSetTensorDescriptor] layout is 11, expected a value of mluOpTensorLayout_t",
             mluOpCpuGetLastErrorMessage());
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, layout, (mluOpDataType_t)10, 2, good));
  CHECK_TEXT("[mluOpSetTensorDescriptor] dtype is 10, expected a value of mluOpDataType_t",
             mluOpCpuGetLastErrorMessage());
  UNCHANGED(desc, mluOpSetTensorDescriptor_v2(desc, layout, dtype, 2, wide));
  CHECK_TEXT(
      "[mluOpSetTensorDescriptor_v2] dimSize[0] is 4294967296: the size of the tensor overflows 64 "
      "bits",
      mluOpCpuGetLastErrorMessage());
  UNCHANGED(desc, mluOpSetTensorDescriptor_v2(desc, layout, dtype, 2, NULL));
  UNCHANGED(desc, mluOpSetTensorDescriptorEx(desc, layout, dtype, 2, dims, good));
  UNCHANGED(desc, mluOpSetTensorDescriptorEx(desc, layout, dtype, 2, NULL, good));
  UNCHANGED(desc, mluOpSetTensorDescriptorEx(desc, layout, dtype, 2, good, NULL));
  CHECK_TEXT("[mluOpSetTensorDescriptorEx] dimStride is NULL", mluOpCpuGetLastErrorMessage());
  UNCHANGED(desc, mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, 2, wide, good_wide));
  UNCHANGED(desc, mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, 2, NULL, good_wide));
  UNCHANGED(desc, mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, 2, good_wide, NULL));
  UNCHANGED(desc, mluOpSetTensorDescriptorDim(desc, 2, dims));
  UNCHANGED(desc, mluOpSetTensorDescriptorDim(desc, -1, good));
  UNCHANGED(desc, mluOpSetTensorDescriptorDim(desc, 2, NULL));
  UNCHANGED(desc, mluOpSetTensorDescriptorDim_v2(desc, 2, wide));
  UNCHANGED(desc, mluOpSetTensorDescriptorDim_v2(desc, 2, NULL));
  UNCHANGED(desc, mluOpSetTensorDescriptorPointerMode(desc, (mluOpPointerMode_t)2));
  UNCHANGED(desc, mluOpSetTensorDescriptorPointerMode(desc, (mluOpPointerMode_t)-1));
  UNCHANGED(desc, mluOpSetTensorDescriptorOnchipDataType(desc, (mluOpDataType_t)18));
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void sizes_near_the_limit_of_64_bits(void) {
  mluOpTensorDescriptor_t desc = create();
  const int64_t largest[] = {INT64_MAX}, split[] = {3, INT64_MAX / 3};
  const int64_t over[] = {4, INT64_MAX / 3}, square[] = {INT64_MAX, INT64_MAX};
  const int64_t lowest[] = {INT64_MIN};
  OK(mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, largest));
  CHECK_EQ(INT64_MAX, mluOpGetTensorElementNum(desc));
  OK(mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, split));
  UNCHANGED(desc,
            mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, over));
  UNCHANGED(desc,
            mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, square));
  UNCHANGED(desc,
            mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, lowest));
  /* A dim of 0 makes no size smaller: the others must fit as they are. */
  const int64_t empty[] = {0, INT64_C(1) << 40, INT64_C(1) << 40};
  UNCHANGED(desc,
            mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, empty));
  const int ints[] = {INT_MAX, INT_MAX, 3};
  OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, ints));
  CHECK_EQ((int64_t)INT_MAX * INT_MAX, mluOpGetTensorElementNum(desc));
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, ints));
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void a_dim_of_zero_makes_an_empty_tensor(void) {
  mluOpTensorDescriptor_t desc = create();
  const int dims[] = {2, 0, 3};
  const int64_t strides[] = {0, 3, 1}; /* each the product of the dims behind it */
  OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, dims));
  const struct state state = state_of(desc);
  CHECK_EQ(0, state.count);
  CHECK_EQ(3, state.dim_nb);
  CHECK_EQ(0, state.dims[1]);
  CHECK(memcmp(state.strides, strides, sizeof(strides)) == 0);
  const int last[] = {7, 0};
  OK(mluOpSetTensorDescriptorDim(desc, 2, last));
  const struct state other = state_of(desc);
  CHECK_EQ(0, other.strides[0]);
  CHECK_EQ(1, other.strides[1]);
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void no_dims_are_a_scalar_in_host_mode_only(void) {
  mluOpTensorDescriptor_t desc = create_used();
  UNCHANGED(desc, mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 0, NULL));
  UNCHANGED(desc, mluOpSetTensorDescriptorDim(desc, 0, NULL));
  UNCHANGED(desc,
            mluOpSetTensorDescriptorEx(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 0, NULL, NULL));
  OK(mluOpSetTensorDescriptorPointerMode(desc, MLUOP_POINTER_MODE_HOST));
  OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 0, NULL));
  CHECK_EQ(1, mluOpGetTensorElementNum(desc));
  CHECK_EQ(0, state_of(desc).dim_nb);
  const int dims[] = {7};
  OK(mluOpSetTensorDescriptorDim(desc, 1, dims));
  CHECK_EQ(7, mluOpGetTensorElementNum(desc));
  OK(mluOpSetTensorDescriptorDim_v2(desc, 0, NULL));
  CHECK_EQ(1, mluOpGetTensorElementNum(desc));
  OK(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 0, NULL, NULL));
  CHECK_EQ(1, mluOpGetTensorElementNum(desc));
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void any_number_of_dims(void) {
  mluOpTensorDescriptor_t desc = create();
  int dims[MOST_DIMS];
  for (int n = 1; n <= MOST_DIMS; n++) {
    for (int i = 0; i < n; i++) dims[i] = i % 7 == 0 ? 2 : 1;
    OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, n, dims));
    const struct state state = state_of(desc);
    CHECK_EQ(n, state.dim_nb);
    int64_t count = 1;
    for (int i = n - 1; i >= 0; i--) {
      CHECK_EQ(dims[i], state.dims[i]);
      CHECK_EQ(count, state.strides[i]);
      count *= dims[i];
    }
    CHECK_EQ(count, state.count);
  }
  const int few[] = {3, 4};
  OK(mluOpSetTensorDescriptorDim(desc, 2, few));
  CHECK_EQ(12, mluOpGetTensorElementNum(desc));
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void getting_skips_null_pointers(void) {
  mluOpTensorDescriptor_t desc = create_used();
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_NCHW;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  int n = 0, dims[3] = {0};
  int64_t wide[3] = {0};
  OK(mluOpGetTensorDescriptor(desc, NULL, NULL, NULL, NULL));
  OK(mluOpGetTensorDescriptor_v2(desc, NULL, NULL, NULL, NULL));
  OK(mluOpGetTensorDescriptor(desc, &layout, NULL, NULL, NULL));
  CHECK_EQ(MLUOP_LAYOUT_NLC, layout);
  OK(mluOpGetTensorDescriptor(desc, NULL, &dtype, NULL, NULL));
  CHECK_EQ(MLUOP_DTYPE_INT16, dtype);
  OK(mluOpGetTensorDescriptor(desc, NULL, NULL, &n, NULL));
  CHECK_EQ(3, n);
  OK(mluOpGetTensorDescriptor(desc, NULL, NULL, NULL, dims));
  CHECK_EQ(5, dims[2]);
  OK(mluOpGetTensorDescriptor_v2(desc, NULL, NULL, NULL, wide));
  CHECK_EQ(3, wide[1]);
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void getting_strides_needs_every_pointer(void) {
  mluOpTensorDescriptor_t desc = create_used();
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int n, dims[3], strides[3];
  int64_t wide[3], wide_strides[3];
  BAD_TEXT("[mluOpGetTensorDescriptorEx] layout is NULL",
           mluOpGetTensorDescriptorEx(desc, NULL, &dtype, &n, dims, strides));
  BAD_TEXT("[mluOpGetTensorDescriptorEx] dtype is NULL",
           mluOpGetTensorDescriptorEx(desc, &layout, NULL, &n, dims, strides));
  BAD_TEXT("[mluOpGetTensorDescriptorEx] dimNb is NULL",
           mluOpGetTensorDescriptorEx(desc, &layout, &dtype, NULL, dims, strides));
  BAD_TEXT("[mluOpGetTensorDescriptorEx] dimSize is NULL",
           mluOpGetTensorDescriptorEx(desc, &layout, &dtype, &n, NULL, strides));
  BAD_TEXT("[mluOpGetTensorDescriptorEx] dimStride is NULL",
           mluOpGetTensorDescriptorEx(desc, &layout, &dtype, &n, dims, NULL));
  BAD(mluOpGetTensorDescriptorEx_v2(desc, NULL, &dtype, &n, wide, wide_strides));
  BAD(mluOpGetTensorDescriptorEx_v2(desc, &layout, NULL, &n, wide, wide_strides));
  BAD(mluOpGetTensorDescriptorEx_v2(desc, &layout, &dtype, NULL, wide, wide_strides));
  BAD(mluOpGetTensorDescriptorEx_v2(desc, &layout, &dtype, &n, NULL, wide_strides));
  BAD(mluOpGetTensorDescriptorEx_v2(desc, &layout, &dtype, &n, wide, NULL));
  OK(mluOpDestroyTensorDescriptor(desc));
}

static void what_an_int_cannot_hold_is_refused(void) {
  mluOpTensorDescriptor_t desc = create();
  const int64_t dims[] = {2, INT64_C(1) << 31}, one[] = {1, 1};
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_NCHW;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  int n = 77, out[2] = {77, 77}, strides[2] = {77, 77};
  OK(mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, dims));
  BAD_TEXT(
      "[mluOpGetTensorDescriptor] dimSize does not fit into an int; use the _v2 form of this "
      "function",
      mluOpGetTensorDescriptor(desc, &layout, &dtype, &n, out));
  BAD(mluOpGetTensorDescriptorEx(desc, &layout, &dtype, &n, out, strides));
  OK(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, one, dims));
  BAD(mluOpGetTensorDescriptorEx(desc, &layout, &dtype, &n, out, strides));
  CHECK(layout == MLUOP_LAYOUT_NCHW && dtype == MLUOP_DTYPE_FLOAT && n == 77);
  CHECK(out[0] == 77 && out[1] == 77 && strides[0] == 77 && strides[1] == 77);
  OK(mluOpGetTensorDescriptor(desc, &layout, &dtype, &n, out));
  CHECK_EQ(2, n);
  OK(mluOpDestroyTensorDescriptor(desc));
}

static const struct test tests[] = {
    TEST(a_new_or_reset_descriptor_is_empty),
    TEST(null_descriptors_are_refused),
    TEST(setting_infers_packed_strides),
    TEST(strides_of_any_kind_read_back),
    TEST(every_enumerator_is_accepted),
    TEST(a_failed_set_changes_nothing),
    TEST(sizes_near_the_limit_of_64_bits),
    TEST(a_dim_of_zero_makes_an_empty_tensor),
    TEST(no_dims_are_a_scalar_in_host_mode_only),
    TEST(any_number_of_dims),
    TEST(getting_skips_null_pointers),
    TEST(getting_strides_needs_every_pointer),
    TEST(what_an_int_cannot_hold_is_refused),
};
RUN_TESTS(tests)

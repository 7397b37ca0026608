/* SPDX-License-Identifier: Apache-2.0 */
/* Handles, their settings, status texts, versions, sizes of data types. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "mlu_op.h"
#include "mlu_op_cpu.h"

static mluOpHandle_t create(void) {
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  CHECK(handle != NULL);
  return handle;
}

static void null_arguments_are_refused(void) {
  mluOpHandle_t handle = create();
  cnrtQueue_t queue;
  mluOpAtomicsMode_t atomics;
  mluOpQuantizeRoundMode_t round;
  int threads;
  BAD_TEXT("[mluOpCreate] handle is NULL", mluOpCreate(NULL));
  BAD_TEXT("[mluOpDestroy] handle is NULL", mluOpDestroy(NULL));
  BAD_TEXT("[mluOpUpdateContextInformation] handle is NULL", mluOpUpdateContextInformation(NULL));
  BAD_TEXT("[mluOpSetQueue] handle is NULL", mluOpSetQueue(NULL, NULL));
  BAD_TEXT("[mluOpGetQueue] handle is NULL", mluOpGetQueue(NULL, &queue));
  BAD_TEXT("[mluOpGetQueue] queue is NULL", mluOpGetQueue(handle, NULL));
  BAD(mluOpSetAtomicsMode(NULL, MLUOP_ATOMICS_ALLOWED));
  BAD(mluOpGetAtomicsMode(NULL, &atomics));
  BAD_TEXT("[mluOpGetAtomicsMode] atomics_mode is NULL", mluOpGetAtomicsMode(handle, NULL));
  BAD(mluOpSetQuantizeRoundMode(NULL, MLUOP_ROUND_HALF_UP));
  BAD(mluOpGetQuantizeRoundMode(NULL, &round));
  BAD_TEXT("[mluOpGetQuantizeRoundMode] round_mode is NULL",
           mluOpGetQuantizeRoundMode(handle, NULL));
  BAD(mluOpCpuSetNumThreads(NULL, 1));
  BAD(mluOpCpuGetNumThreads(NULL, &threads));
  BAD_TEXT("[mluOpCpuGetNumThreads] num_threads is NULL", mluOpCpuGetNumThreads(handle, NULL));
  CHECK(mluOpCpuGetIsaName(NULL) == NULL);
  OK(mluOpDestroy(handle));
}

static void settings_have_defaults_and_read_back(void) {
  mluOpHandle_t handle = create();
  mluOpAtomicsMode_t atomics;
  OK(mluOpGetAtomicsMode(handle, &atomics));
  CHECK_EQ(MLUOP_ATOMICS_NOT_ALLOWED, atomics);
  OK(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED));
  OK(mluOpGetAtomicsMode(handle, &atomics));
  CHECK_EQ(MLUOP_ATOMICS_ALLOWED, atomics);

  mluOpQuantizeRoundMode_t round;
  OK(mluOpGetQuantizeRoundMode(handle, &round));
  CHECK_EQ(MLUOP_ROUND_HALF_TO_EVEN, round);
  for (int mode = 0; mode <= 2; mode++) {
    OK(mluOpSetQuantizeRoundMode(handle, (mluOpQuantizeRoundMode_t)mode));
    OK(mluOpGetQuantizeRoundMode(handle, &round));
    CHECK_EQ(mode, round);
  }

  int somewhere;
  cnrtQueue_t given = (cnrtQueue_t)(void *)&somewhere, queue = given;
  OK(mluOpGetQueue(handle, &queue));
  CHECK(queue == NULL);
  OK(mluOpSetQueue(handle, given));
  OK(mluOpGetQueue(handle, &queue));
  CHECK(queue == given);
  OK(mluOpSetQueue(handle, NULL));
  OK(mluOpGetQueue(handle, &queue));
  CHECK(queue == NULL);
  OK(mluOpUpdateContextInformation(handle));
  OK(mluOpDestroy(handle));
}

static void values_outside_an_enum_change_nothing(void) {
  mluOpHandle_t handle = create();
  mluOpAtomicsMode_t atomics;
  mluOpQuantizeRoundMode_t round;
  OK(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED));
  OK(mluOpSetQuantizeRoundMode(handle, MLUOP_ROUND_HALF_UP));
  static const int wrong_modes[] = {-1, 0, 3, 1000};
  for (size_t i = 0; i < sizeof(wrong_modes) / sizeof(wrong_modes[0]); i++) {
    BAD(mluOpSetAtomicsMode(handle, (mluOpAtomicsMode_t)wrong_modes[i]));
  }
  BAD(mluOpSetQuantizeRoundMode(handle, (mluOpQuantizeRoundMode_t)-1));
  BAD_TEXT(
      "[mluOpSetQuantizeRoundMode] round_mode is 3, expected MLUOP_ROUND_HALF_TO_EVEN (0) to "
      "MLUOP_ROUND_HALF_OFF_ZERO (2)",
      mluOpSetQuantizeRoundMode(handle, (mluOpQuantizeRoundMode_t)3));
  OK(mluOpGetAtomicsMode(handle, &atomics));
  CHECK_EQ(MLUOP_ATOMICS_ALLOWED, atomics);
  OK(mluOpGetQuantizeRoundMode(handle, &round));
  CHECK_EQ(MLUOP_ROUND_HALF_UP, round);
  OK(mluOpDestroy(handle));
}

static void threads_of_a_handle(void) {
  mluOpHandle_t handle = create(), other = create();
  int initial, most, threads;
  OK(mluOpCpuGetNumThreads(handle, &initial));
  CHECK(initial >= 1);
  /* At most four per processor; one where the build has no threads. */
  OK(mluOpCpuSetNumThreads(handle, INT32_MAX));
  OK(mluOpCpuGetNumThreads(handle, &most));
  CHECK(most == 1 || (most % 4 == 0 && most / 4 <= sysconf(_SC_NPROCESSORS_ONLN)));
  const int fewer = most > 1 ? most - 1 : 1;
  OK(mluOpCpuSetNumThreads(handle, fewer));
  OK(mluOpCpuGetNumThreads(handle, &threads));
  CHECK_EQ(fewer, threads);
  OK(mluOpCpuGetNumThreads(other, &threads));
  CHECK_EQ(initial, threads);
  BAD_TEXT("[mluOpCpuSetNumThreads] num_threads is -1, expected 0 or more",
           mluOpCpuSetNumThreads(handle, -1));
  OK(mluOpCpuGetNumThreads(handle, &threads));
  CHECK_EQ(fewer, threads);
  OK(mluOpCpuSetNumThreads(handle, 0));
  OK(mluOpCpuGetNumThreads(handle, &threads));
  CHECK_EQ(initial, threads);
  OK(mluOpDestroy(handle));
  OK(mluOpDestroy(other));
}

static void error_strings(void) {
  CHECK_TEXT("MLUOP_STATUS_SUCCESS", mluOpGetErrorString((mluOpStatus_t)0));
  CHECK_TEXT("MLUOP_STATUS_NOT_INITIALIZED", mluOpGetErrorString((mluOpStatus_t)1));
  CHECK_TEXT("MLUOP_STATUS_ALLOC_FAILED", mluOpGetErrorString((mluOpStatus_t)2));
  CHECK_TEXT("MLUOP_STATUS_BAD_PARAM", mluOpGetErrorString((mluOpStatus_t)3));
  CHECK_TEXT("MLUOP_STATUS_INTERNAL_ERROR", mluOpGetErrorString((mluOpStatus_t)4));
  CHECK_TEXT("MLUOP_STATUS_ARCH_MISMATCH", mluOpGetErrorString((mluOpStatus_t)5));
  CHECK_TEXT("MLUOP_STATUS_EXECUTION_FAILED", mluOpGetErrorString((mluOpStatus_t)6));
  CHECK_TEXT("MLUOP_STATUS_NOT_SUPPORTED", mluOpGetErrorString((mluOpStatus_t)7));
  CHECK_TEXT("MLUOP_STATUS_NUMERICAL_OVERFLOW", mluOpGetErrorString((mluOpStatus_t)8));
  static const int unknown[] = {-1, 9, 10, 1000, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
    CHECK_TEXT("MLUOP_STATUS_UNKNOWN", mluOpGetErrorString((mluOpStatus_t)unknown[i]));
  }
}

static void versions(void) {
  int major = -1, minor = -1, patch = -1;
  mluOpGetLibVersion(&major, &minor, &patch);
  CHECK_EQ(1, major);
  CHECK_EQ(11, minor);
  CHECK_EQ(1, patch);
  CHECK_EQ(2101, MLUOP_VERSION);
  CHECK_EQ(8, MLUOP_DIM_MAX);
  mluOpGetLibVersion(NULL, NULL, NULL);
  CHECK(strlen(mluOpCpuGetVersion()) > 0);
  CHECK(strlen(mluOpCpuGetBuildInfo()) > 0);
}

static void sizes_of_data_types(void) {
  /* By the value of the data type; 0 for those without a size. */
  static const size_t sizes[] = {0, 2, 4, 1, 2, 4, 4, 1, 1, 8, 0, 4, 8, 2, 8, 4, 8, 2, 0};
  for (int dtype = 0; dtype < (int)(sizeof(sizes) / sizeof(sizes[0])); dtype++) {
    size_t size = 77;
    const mluOpStatus_t status = mluOpGetSizeOfDataType((mluOpDataType_t)dtype, &size);
    CHECK_EQ(sizes[dtype] == 0 ? MLUOP_STATUS_BAD_PARAM : MLUOP_STATUS_SUCCESS, status);
    CHECK_EQ(sizes[dtype] == 0 ? 77 : sizes[dtype], size);
  }
  size_t size;
  BAD(mluOpGetSizeOfDataType((mluOpDataType_t)-1, &size));
  BAD(mluOpGetSizeOfDataType((mluOpDataType_t)INT32_MAX, &size));
  BAD_TEXT("[mluOpGetSizeOfDataType] size is NULL",
           mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, NULL));
}

static void values_of_the_enumerators(void) {
  CHECK_EQ(0, MLUOP_LAYOUT_NCHW);
  CHECK_EQ(1, MLUOP_LAYOUT_NHWC);
  CHECK_EQ(2, MLUOP_LAYOUT_HWCN);
  CHECK_EQ(3, MLUOP_LAYOUT_NDHWC);
  CHECK_EQ(4, MLUOP_LAYOUT_ARRAY);
  CHECK_EQ(5, MLUOP_LAYOUT_NCDHW);
  CHECK_EQ(6, MLUOP_LAYOUT_TNC);
  CHECK_EQ(7, MLUOP_LAYOUT_NTC);
  CHECK_EQ(8, MLUOP_LAYOUT_NC);
  CHECK_EQ(9, MLUOP_LAYOUT_NLC);
  CHECK_EQ(10, MLUOP_LAYOUT_NCL);
  CHECK_EQ(0, MLUOP_POINTER_MODE_HOST);
  CHECK_EQ(1, MLUOP_POINTER_MODE_DEVICE);
  CHECK_EQ(1, MLUOP_ATOMICS_NOT_ALLOWED);
  CHECK_EQ(2, MLUOP_ATOMICS_ALLOWED);
  CHECK_EQ(0, MLUOP_NOT_PROPAGATE_NAN);
  CHECK_EQ(1, MLUOP_PROPAGATE_NAN);
  CHECK_EQ(0, MLUOP_COMPUTATION_FAST);
  CHECK_EQ(1, MLUOP_COMPUTATION_HIGH_PRECISION);
  CHECK_EQ(2, MLUOP_COMPUTATION_ULTRAHIGH_PRECISION);
  CHECK_EQ(9, MLUOP_DTYPE_INT64);
  CHECK_EQ(11, MLUOP_DTYPE_UINT32);
  CHECK_EQ(17, MLUOP_DTYPE_BFLOAT16);
}

static const struct test tests[] = {
    TEST(null_arguments_are_refused),
    TEST(settings_have_defaults_and_read_back),
    TEST(values_outside_an_enum_change_nothing),
    TEST(threads_of_a_handle),
    TEST(error_strings),
    TEST(versions),
    TEST(sizes_of_data_types),
    TEST(values_of_the_enumerators),
};
RUN_TESTS(tests)

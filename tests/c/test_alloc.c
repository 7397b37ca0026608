/* SPDX-License-Identifier: Apache-2.0 */
/* Without memory every function says ALLOC_FAILED, leaves outputs as they were, and leaks nothing.
   The linker sends the library's allocations through the functions below (--wrap). */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "check.h"
#include "core/internal.h"

/* The allocation that fails, counted from now on; those after it fail, too. */
static int allowed = -1; /* -1: all succeed */
static int attempts = 0;
static int living = 0;

static int refuse(void) {
  attempts++;
  return allowed >= 0 && attempts > allowed;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
int __real_posix_memalign(void **pointer, size_t alignment, size_t size);
void __real_free(void *pointer);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size);
void __wrap_free(void *pointer);

void *__wrap_malloc(size_t size) {
  void *memory = refuse() ? NULL : __real_malloc(size);
  living += memory != NULL;
  return memory;
}

void *__wrap_calloc(size_t count, size_t size) {
  void *memory = refuse() ? NULL : __real_calloc(count, size);
  living += memory != NULL;
  return memory;
}

int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size) {
  const int result = refuse() ? 12 : __real_posix_memalign(pointer, alignment, size);
  living += result == 0;
  return result;
}

void __wrap_free(void *pointer) {
  living -= pointer != NULL;
  __real_free(pointer);
}

static void allow(int count) {
  allowed = count;
  attempts = 0;
}

/* The wrappers count without locks: one thread is enough here. */
static mluOpHandle_t create(void) {
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, 1));
  return handle;
}

#define NO_MEMORY(call) CHECK_EQ(MLUOP_STATUS_ALLOC_FAILED, call)

static void nothing_can_be_created(void) {
  const int before = living;
  mluOpHandle_t handle = NULL;
  mluOpTensorDescriptor_t desc = NULL;
  allow(0);
  NO_MEMORY(mluOpCreate(&handle));
  NO_MEMORY(mluOpCreateTensorDescriptor(&desc));
  for (const struct named_family *family = families; family->name != NULL; family++) {
    void *object = NULL;
    if (family->calls->create != NULL) NO_MEMORY(family->calls->create(&object));
    CHECK(object == NULL);
  }
  allow(-1);
  CHECK(handle == NULL && desc == NULL);
  CHECK_EQ(before, living);
}

static void a_group_is_created_as_a_whole_or_not_at_all(void) {
  const int before = living;
  mluOpTensorDescriptor_t descs[3] = {NULL};
  mluOpTensorDescriptor_t *group[3] = {&descs[0], &descs[1], &descs[2]};
  for (int n = 0; n < 3; n++) {
    allow(n);
    NO_MEMORY(mluOpCreateGroupTensorDescriptors(group, 3));
    allow(-1);
    CHECK_EQ(before, living);
    CHECK(descs[0] == NULL && descs[1] == NULL && descs[2] == NULL);
  }
}

static void many_dims_need_memory(void) {
  int dims[12], out[12], n = 0;
  for (int i = 0; i < 12; i++) dims[i] = 1 + i % 2;
  const int before = living;
  mluOpTensorDescriptor_t desc = NULL;
  OK(mluOpCreateTensorDescriptor(&desc));
  OK(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, dims));
  allow(0);
  NO_MEMORY(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 12, dims));
  NO_MEMORY(mluOpSetTensorDescriptorDim(desc, 12, dims));
  OK(mluOpSetTensorDescriptorDim(desc, 8, dims));
  OK(mluOpSetTensorDescriptorDim(desc, 2, dims));
  allow(-1);
  mluOpTensorLayout_t layout;
  OK(mluOpGetTensorDescriptor(desc, &layout, NULL, &n, out));
  CHECK_EQ(2, n);
  CHECK_EQ(MLUOP_LAYOUT_NC, layout);
  CHECK_EQ(2, mluOpGetTensorElementNum(desc));
  OK(mluOpSetTensorDescriptorDim(desc, 12, dims));
  OK(mluOpDestroyTensorDescriptor(desc));
  CHECK_EQ(before, living);
}

/* Lets the first n allocations of a call succeed, for every n until the call does. */
static void operators_without_scratch_memory(void) {
  for (int i = 0; i < call_count(); i++) {
    const int before = living;
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    mluOpStatus_t status = MLUOP_STATUS_ALLOC_FAILED;
    for (int n = 0; n < 20 && status != MLUOP_STATUS_SUCCESS; n++) {
      mluOpHandle_t handle = create();
      call_spoil_outputs(call);
      const uint64_t untouched = call_digest(call);
      allow(n);
      status = call_run(handle, call);
      allow(-1);
      if (status == MLUOP_STATUS_SUCCESS) {
        CHECK(call_digest(call) != untouched);
      } else {
        CHECK_EQ(MLUOP_STATUS_ALLOC_FAILED, status);
        CHECK(strstr(mluOpCpuGetLastErrorMessage(), call_name(i)) != NULL);
        CHECK(call_digest(call) == untouched);
        OK(call_run(handle, call)); /* the handle is as good as before */
      }
      OK(mluOpDestroy(handle));
    }
    OK(status);
    call_release(call);
    CHECK_EQ(before, living);
  }
}

/* Memory to work in stays with the handle. */
static void the_second_call_allocates_nothing(void) {
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    mluOpHandle_t handle = create();
    OK(call_run(handle, call));
    allow(-1);
    OK(call_run(handle, call));
    if (!CHECK_EQ(0, attempts)) CHECK_TEXT("", call_name(i));
    OK(mluOpDestroy(handle));
    call_release(call);
  }
}

static const struct test tests[] = {
    TEST(nothing_can_be_created),
    TEST(a_group_is_created_as_a_whole_or_not_at_all),
    TEST(many_dims_need_memory),
    TEST(operators_without_scratch_memory),
    TEST(the_second_call_allocates_nothing),
};
RUN_TESTS(tests)

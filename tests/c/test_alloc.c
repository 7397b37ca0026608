/* SPDX-License-Identifier: Apache-2.0 */
/* Without memory every function says ALLOC_FAILED, leaves outputs as they were, and leaks nothing.
   The linker sends the library's allocations through the functions below (--wrap). */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "check.h"
#include "cn_api.h"
#include "cnrt.h"
#include "core/internal.h"

/* So many allocations succeed from now on, and the next one fails; those after it fail, too, unless
   it is to be the only one. Threads count as well. */
static int allowed = -1; /* -1: all succeed */
static int only_one = 0;
static int attempts = 0, refused = 0;
static int living = 0;

static void count(int *number, int by) { __atomic_fetch_add(number, by, __ATOMIC_SEQ_CST); }

static int refuse(void) {
  const int attempt = __atomic_add_fetch(&attempts, 1, __ATOMIC_SEQ_CST);
  const int refusal = allowed >= 0 && (only_one ? attempt == allowed + 1 : attempt > allowed);
  count(&refused, refusal);
  return refusal;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
int __real_posix_memalign(void **pointer, size_t alignment, size_t size);
void __real_free(void *pointer);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size);
void __wrap_free(void *pointer);

void *__wrap_malloc(size_t size) {
  void *memory = refuse() ? NULL : __real_malloc(size);
  count(&living, memory != NULL);
  return memory;
}

void *__wrap_calloc(size_t number, size_t size) {
  void *memory = refuse() ? NULL : __real_calloc(number, size);
  count(&living, memory != NULL);
  return memory;
}

void *__wrap_realloc(void *pointer, size_t size) {
  void *memory = refuse() ? NULL : __real_realloc(pointer, size);
  count(&living, memory != NULL && pointer == NULL);
  return memory;
}

int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size) {
  const int result = refuse() ? 12 : __real_posix_memalign(pointer, alignment, size);
  count(&living, result == 0);
  return result;
}

void __wrap_free(void *pointer) {
  count(&living, -(pointer != NULL));
  __real_free(pointer);
}

static void allow(int successes) {
  allowed = successes;
  attempts = refused = 0;
}

static mluOpHandle_t create(int threads) {
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  OK(mluOpCpuSetNumThreads(handle, threads));
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

static uint64_t digest_of(mluOpHandle_t handle, struct call *call) {
  call_spoil_outputs(call);
  OK(call_run(handle, call));
  return call_digest(call);
}

/* A call of which allocation n fails, counted from 0, on a handle without memory. It fails, or does
   without. Returns whether there was such an allocation. */
static bool run_with_failure(int n, int threads, struct call *call, const char *name,
                             uint64_t expected) {
  mluOpHandle_t handle = create(threads);
  OK(mluOpCpuEndThreads()); /* as if this thread had made none */
  call_spoil_outputs(call);
  const uint64_t untouched = call_digest(call);
  allow(n);
  const mluOpStatus_t status = call_run(handle, call);
  const bool failed = refused > 0;
  allow(-1);
  if (status == MLUOP_STATUS_SUCCESS) {
    CHECK(call_digest(call) == expected);
  } else {
    CHECK(failed);
    CHECK_EQ(MLUOP_STATUS_ALLOC_FAILED, status);
    CHECK(strstr(mluOpCpuGetLastErrorMessage(), name) != NULL);
    CHECK(call_digest(call) == untouched);
  }
  CHECK(digest_of(handle, call) == expected); /* the handle is as good as before */
  OK(mluOpDestroy(handle));
  return failed;
}

/* Each allocation of each call fails once: alone, and with all that follow. */
static void operators_without_memory(void) {
  for (int i = 0; i < call_count(); i++) {
    const int before = living;
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    mluOpHandle_t handle = create(1);
    const uint64_t expected = digest_of(handle, call);
    OK(mluOpDestroy(handle));
    for (int threads = 1; threads <= 4; threads += 3) {
      for (only_one = 0; only_one < 2; only_one++) {
        for (int n = 0; run_with_failure(n, threads, call, call_name(i), expected); n++) {
        }
      }
    }
    only_one = 0;
    call_release(call);
    CHECK_EQ(before, living);
  }
}

/* Not a call of a family: its images are input and output. */
static void images_stay_without_memory_to_turn_them(void) {
  enum { C = 4, H = 3, W = 5 };
  const int first[] = {2, C, H, W}, last[] = {2, H, W, C};
  float images[2 * C * H * W];
  for (int i = 0; i < 2 * C * H * W; i++) images[i] = (float)i;
  mluOpHandle_t handle = create(2);
  mluOpTensorDescriptor_t from = NULL, to = NULL;
  OK(mluOpCreateTensorDescriptor(&from));
  OK(mluOpCreateTensorDescriptor(&to));
  OK(mluOpSetTensorDescriptor(from, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, 4, first));
  OK(mluOpSetTensorDescriptor(to, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, last));
  allow(0);
  NO_MEMORY(mluOpCpuConvertLayoutInPlace(handle, from, to, images));
  allow(-1);
  for (int i = 0; i < 2 * C * H * W; i++) CHECK(images[i] == (float)i);
  OK(mluOpCpuConvertLayoutInPlace(handle, from, to, images));
  CHECK(images[1] == (float)(H * W) && images[C] == 1.0f);
  OK(mluOpDestroyTensorDescriptor(from));
  OK(mluOpDestroyTensorDescriptor(to));
  OK(mluOpDestroy(handle));
}

/* The host runtime keeps a list of what is alive, which grows now and then. */
static void the_host_runtime_without_memory(void) {
  enum { OBJECTS = 100 };
  const int before = living;
  void *kept[OBJECTS];
  for (int i = 0; i < OBJECTS; i++) {
    for (int n = 0;; n++) {
      void *memory = &kept;
      cnrtQueue_t queue = NULL;
      cnrtNotifier_t notifier = NULL;
      allow(n);
      const cnrtRet_t result = i % 3 == 0   ? cnrtMalloc(&memory, 64)
                               : i % 3 == 1 ? cnrtQueueCreate(&queue)
                                            : cnrtNotifierCreate(&notifier);
      const bool failed = refused > 0;
      allow(-1);
      kept[i] = i % 3 == 0 ? memory : i % 3 == 1 ? (void *)queue : (void *)notifier;
      CHECK_EQ(failed ? cnrtErrorNoMem : cnrtSuccess, result);
      if (!failed) break;
      CHECK(kept[i] == (i % 3 == 0 ? (void *)&kept : NULL));
    }
  }
  for (int i = 0; i < OBJECTS; i++) {
    CHECK_EQ(cnrtSuccess, i % 3 == 0   ? cnrtFree(kept[i])
                          : i % 3 == 1 ? cnrtQueueDestroy(kept[i])
                                       : cnrtNotifierDestroy(kept[i]));
  }
  CHECK_EQ(before, living);
}

/* Memory to work in stays with the handle. */
static void the_second_call_allocates_nothing(void) {
  for (int i = 0; i < call_count(); i++) {
    struct call *call = call_prepare(i, CALL_WIDE);
    if (!CHECK(call != NULL)) continue;
    mluOpHandle_t handle = create(1);
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
    TEST(operators_without_memory),
    TEST(the_host_runtime_without_memory),
    TEST(the_second_call_allocates_nothing),
    TEST(images_stay_without_memory_to_turn_them),
};
RUN_TESTS(tests)

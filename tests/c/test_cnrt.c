/* SPDX-License-Identifier: Apache-2.0 */
/* The host runtime: what it does, and that wrong use is an error and nothing worse. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cn_api.h"
#include "cnrt.h"

#define FINE(call) CHECK_EQ(cnrtSuccess, call)
#define WRONG(call) CHECK_EQ(cnrtErrorArgsInvalid, call)

static const cnrtMemTransDir_t to_device = CNRT_MEM_TRANS_DIR_HOST2DEV;
static const cnrtMemTransDir_t to_host = CNRT_MEM_TRANS_DIR_DEV2HOST;

static void *device_memory(size_t bytes) {
  void *pointer = NULL;
  FINE(cnrtMalloc(&pointer, bytes));
  CHECK(pointer != NULL && (uintptr_t)pointer % 64 == 0);
  return pointer;
}

static void there_is_one_device(void) {
  unsigned int count = 0;
  int device = -1, least = -1, greatest = -1;
  cnrtDeviceProp_t properties;
  FINE(cnrtGetDeviceCount(&count));
  CHECK_EQ(1, count);
  FINE(cnrtSetDevice(0));
  FINE(cnrtGetDevice(&device));
  CHECK_EQ(0, device);
  CHECK_EQ(cnrtErrorDeviceInvalid, cnrtSetDevice(1));
  CHECK_EQ(cnrtErrorDeviceInvalid, cnrtSetDevice(-1));
  CHECK_EQ(cnrtErrorDeviceInvalid, cnrtGetDeviceProperties(&properties, 1));
  FINE(cnrtGetDeviceProperties(&properties, 0));
  CHECK(properties.name[0] != '\0' && properties.totalMem > 0 && properties.clusterCount == 1);
  FINE(cnrtDeviceGetAttribute(&device, cnrtAttrMcorePerCluster, 0));
  CHECK_EQ(properties.McorePerCluster, device);
  CHECK_EQ(cnrtErrorNotSupport, cnrtDeviceGetAttribute(&device, (cnrtDeviceAttr_t)999, 0));
  FINE(cnrtDeviceGetQueuePriorityRange(&least, &greatest));
  CHECK(least == 0 && greatest == 0);
  FINE(cnrtSyncDevice());
  WRONG(cnrtGetDeviceCount(NULL));
  WRONG(cnrtGetDevice(NULL));
  WRONG(cnrtGetDeviceProperties(NULL, 0));
  WRONG(cnrtDeviceGetAttribute(NULL, cnrtAttrClusterCount, 0));
}

static void errors_are_remembered_per_thread(void) {
  cnrtGetLastError();
  CHECK_EQ(cnrtSuccess, cnrtPeekAtLastError());
  WRONG(cnrtFree(NULL));
  FINE(cnrtSyncDevice());
  CHECK_EQ(cnrtErrorArgsInvalid, cnrtPeekAtLastError());
  CHECK_EQ(cnrtErrorArgsInvalid, cnrtGetLastError());
  CHECK_EQ(cnrtSuccess, cnrtGetLastError());
  CHECK_TEXT("cnrtSuccess", cnrtGetErrorName(cnrtSuccess));
  CHECK_TEXT("cnrtErrorNoMem", cnrtGetErrorName(cnrtErrorNoMem));
  CHECK_TEXT("out of memory", cnrtGetErrorStr(cnrtErrorNoMem));
  CHECK_TEXT("cnrtErrorUnknown", cnrtGetErrorName((cnrtRet_t)12345));
  CHECK_EQ(cnrtSuccess, CNRT_RET_SUCCESS);
  int major = 0, minor = -1, patch = -1;
  FINE(cnrtGetLibVersion(&major, &minor, &patch));
  CHECK_EQ(CNRT_VERSION, major * 10000 + minor * 100 + patch);
  WRONG(cnrtGetLibVersion(NULL, &minor, &patch));
}

static void memory_is_given_and_taken_back(void) {
  void *kept = &kept, *empty = NULL, *host = NULL;
  WRONG(cnrtMalloc(NULL, 8));
  WRONG(cnrtMalloc(&kept, (size_t)-1));
  WRONG(cnrtMalloc(&kept, (size_t)-64));
  CHECK_EQ(cnrtErrorNoMem, cnrtMalloc(&kept, (size_t)1 << 62));
  CHECK(kept == &kept);
  void *pointer = device_memory(100);
  WRONG(cnrtFree(NULL));
  WRONG(cnrtFree(&kept));
  WRONG(cnrtFree((char *)pointer + 1));
  WRONG(cnrtFreeHost(pointer));
  WRONG(cnrtQueueDestroy((cnrtQueue_t)pointer));
  FINE(cnrtFree(pointer));
  WRONG(cnrtFree(pointer));
  FINE(cnrtMalloc(&empty, 0));
  CHECK(empty != NULL);
  WRONG(cnrtMemset(empty, 0, 1));
  FINE(cnrtMemset(empty, 0, 0));
  FINE(cnrtFree(empty));
  FINE(cnrtHostMalloc(&host, 10));
  WRONG(cnrtFree(host));
  FINE(cnrtFreeHost(host));
  WRONG(cnrtFreeHost(host));
  size_t free_bytes = 0, total = 0;
  FINE(cnrtMemGetInfo(&free_bytes, &total));
  CHECK(total > 0 && free_bytes <= total);
  WRONG(cnrtMemGetInfo(NULL, &total));
}

static void copies_go_where_they_say(void) {
  char host[16] = "fifteen letters", back[16] = {0};
  char *a = device_memory(16), *b = device_memory(16);
  FINE(cnrtMemcpy(a, host, 16, to_device));
  FINE(cnrtMemcpy(b, a, 16, CNRT_MEM_TRANS_DIR_DEV2DEV));
  FINE(cnrtMemset(a, 'x', 8));
  FINE(cnrtMemcpy(back, b, 16, cnrtMemcpyDevToHost));
  CHECK_TEXT("fifteen letters", back);
  FINE(cnrtMemcpy(back + 8, a + 8, 8, CNRT_MEM_TRANS_DIR_NODIR));
  FINE(cnrtMemcpy(back, a, 8, CNRT_MEM_TRANS_DIR_NODIR));
  CHECK_TEXT("xxxxxxxxletters", back);
  FINE(cnrtMemcpy(a + 1, a, 8, CNRT_MEM_TRANS_DIR_DEV2DEV));
  FINE(cnrtMemcpyAsync(back, a, 16, NULL, to_host));
  CHECK_TEXT("xxxxxxxxxetters", back);
  FINE(cnrtMemcpyAsync_V2(a, host, 16, NULL, to_device));
  FINE(cnrtMemcpyAsync_V3(back, a, 16, NULL, to_host));
  CHECK_TEXT("fifteen letters", back);
  FINE(cnrtMemcpy(back, host, 4, CNRT_MEM_TRANS_DIR_HOST2HOST));
  FINE(cnrtMemcpy(NULL, NULL, 0, to_device));
  FINE(cnrtFree(a));
  FINE(cnrtFree(b));
}

static void wrong_copies_change_nothing(void) {
  char host[32] = "host";
  char *device = device_memory(16);
  FINE(cnrtMemset(device, 7, 16));
  WRONG(cnrtMemcpy(NULL, host, 4, to_device));
  WRONG(cnrtMemcpy(device, NULL, 4, to_device));
  WRONG(cnrtMemcpy(device, host, 4, to_host));
  WRONG(cnrtMemcpy(host, device, 4, to_device));
  WRONG(cnrtMemcpy(host, host + 8, 4, to_device));
  WRONG(cnrtMemcpy(device, host, 4, CNRT_MEM_TRANS_DIR_DEV2DEV));
  WRONG(cnrtMemcpy(device, host, 4, CNRT_MEM_TRANS_DIR_HOST2HOST));
  WRONG(cnrtMemcpy(device, host, 17, to_device));
  WRONG(cnrtMemcpy(device + 15, host, 2, to_device));
  WRONG(cnrtMemcpy(device, host, 17, CNRT_MEM_TRANS_DIR_NODIR));
  WRONG(cnrtMemcpy(device, host, (size_t)-4, to_device));
  WRONG(cnrtMemcpy(device, host, 4, (cnrtMemTransDir_t)6));
  WRONG(cnrtMemcpy(device, host, 4, (cnrtMemTransDir_t)-1));
  WRONG(cnrtMemset(NULL, 0, 4));
  WRONG(cnrtMemset(host, 0, 4));
  WRONG(cnrtMemset(device, 0, 17));
  WRONG(cnrtMemset(device, 0, (size_t)-1));
  WRONG(cnrtMemsetD32(device, 0, 5));
  WRONG(cnrtMemsetD32(device + 1, 0, 1));
  WRONG(cnrtMemsetD32(device, 0, SIZE_MAX / 2));
  char now[16], before[16];
  memset(before, 7, 16);
  FINE(cnrtMemcpy(now, device, 16, to_host));
  CHECK(memcmp(now, before, 16) == 0 && strcmp(host, "host") == 0);
  FINE(cnrtFree(device));
  WRONG(cnrtMemcpy(now, device, 16, to_host));
  WRONG(cnrtMemset(device, 0, 1));
}

static void memory_is_filled(void) {
  uint32_t host[4] = {0};
  void *device = device_memory(sizeof(host));
  FINE(cnrtMemsetD32(device, 0x01020304u, 4));
  FINE(cnrtMemsetD8(device, 0xff, 3));
  FINE(cnrtMemsetAsync((char *)device + 12, 0x1aa, 4, NULL));
  FINE(cnrtMemsetD8Async((char *)device + 15, 1, 1, NULL));
  FINE(cnrtMemsetD32Async((char *)device + 8, 9, 1, NULL));
  FINE(cnrtMemcpy(host, device, sizeof(host), to_host));
  CHECK_EQ(0x01ffffffu, host[0]);
  CHECK_EQ(0x01020304u, host[1]);
  CHECK_EQ(9, host[2]);
  CHECK_EQ(0x01aaaaaau, host[3]);
  FINE(cnrtFree(device));
}

static void add_one(void *number) { ++*(int *)number; }

static void queues_run_at_once(void) {
  cnrtQueue_t queue = NULL, other = NULL;
  int called = 0, priority = -1;
  WRONG(cnrtQueueCreate(NULL));
  FINE(cnrtQueueCreate(&queue));
  FINE(cnrtQueueCreateWithPriority(&other, 0, 0));
  WRONG(cnrtQueueCreateWithPriority(&other, 0, 7));
  CHECK(queue != NULL && other != queue);
  FINE(cnrtQueueSync(NULL));
  FINE(cnrtQueueSync(queue));
  FINE(cnrtQueueQuery(queue));
  FINE(cnrtInvokeHostFunc(queue, add_one, &called));
  CHECK_EQ(1, called);
  WRONG(cnrtInvokeHostFunc(queue, NULL, &called));
  FINE(cnrtQueueGetPriority(queue, &priority));
  CHECK_EQ(0, priority);
  WRONG(cnrtQueueDestroy(NULL));
  FINE(cnrtQueueDestroy(queue));
  WRONG(cnrtQueueDestroy(queue));
  WRONG(cnrtQueueSync(queue));
  WRONG(cnrtQueueQuery(queue));
  WRONG(cnrtInvokeHostFunc(queue, add_one, &called));
  CHECK_EQ(1, called);
  WRONG(cnrtQueueSync((cnrtQueue_t)&called));
  char *device = device_memory(4), host[4];
  WRONG(cnrtMemcpyAsync(host, device, 4, queue, to_host));
  WRONG(cnrtMemsetAsync(device, 0, 4, queue));
  FINE(cnrtMemcpyAsync(host, device, 4, other, to_host));
  FINE(cnrtFree(device));
  FINE(cnrtDestroyQueue(other));
}

static void notifiers_measure_time(void) {
  cnrtQueue_t queue = NULL;
  cnrtNotifier_t start = NULL, end = NULL;
  float us = -1, ms = -1;
  FINE(cnrtQueueCreate(&queue));
  FINE(cnrtNotifierCreate(&start));
  FINE(cnrtNotifierCreateWithFlags(&end, CNRT_NOTIFIER_DEFAULT));
  CHECK_EQ(cnrtErrorNotReady, cnrtNotifierDuration(start, end, &us));
  FINE(cnrtPlaceNotifier(start, queue));
  CHECK_EQ(cnrtErrorNotReady, cnrtNotifierElapsedTime(start, end, &ms));
  CHECK(us == -1 && ms == -1);
  const struct timespec pause = {0, 20000000};
  nanosleep(&pause, NULL);
  FINE(cnrtPlaceNotifierWithFlags(end, NULL, 0));
  FINE(cnrtWaitNotifier(end));
  FINE(cnrtQueryNotifier(end));
  FINE(cnrtQueueWaitNotifier(end, queue, 0));
  FINE(cnrtNotifierDuration(start, end, &us));
  FINE(cnrtNotifierElapsedTime(start, end, &ms));
  CHECK(us >= 20000 && us < 60e6f);
  CHECK(us / 1000 == ms || (us / 1000 - ms < 0.01f && ms - us / 1000 < 0.01f));
  FINE(cnrtNotifierDuration(end, start, &us));
  CHECK(us <= -20000);
  WRONG(cnrtNotifierDuration(start, end, NULL));
  WRONG(cnrtNotifierDuration(NULL, end, &us));
  WRONG(cnrtPlaceNotifier(NULL, queue));
  WRONG(cnrtWaitNotifier(NULL));
  WRONG(cnrtNotifierCreate(NULL));
  FINE(cnrtQueueDestroy(queue));
  WRONG(cnrtPlaceNotifier(start, queue));
  FINE(cnrtNotifierDestroy(start));
  WRONG(cnrtNotifierDestroy(start));
  WRONG(cnrtPlaceNotifier(start, NULL));
  FINE(cnrtDestroyNotifier(&end));
  CHECK(end == NULL);
  WRONG(cnrtDestroyNotifier(&end));
}

static void numbers_are_converted(void) {
  float values[3] = {1.0f, -2.5f, 65520.0f}, back[3];
  uint16_t halves[3], one;
  FINE(cnrtCastDataType(values, CNRT_FLOAT32, halves, CNRT_FLOAT16, 3, NULL));
  CHECK(halves[0] == 0x3c00 && halves[1] == 0xc100 && halves[2] == 0x7c00);
  FINE(cnrtCastDataType(halves, CNRT_FLOAT16, back, CNRT_FLOAT32, 2, NULL));
  CHECK(back[0] == 1.0f && back[1] == -2.5f);
  FINE(cnrtConvertFloatToHalf(&one, 1.0f));
  FINE(cnrtConvertHalfToFloat(back, one));
  CHECK(one == 0x3c00 && back[0] == 1.0f);
  WRONG(cnrtConvertHalfToFloat(NULL, one));
  WRONG(cnrtCastDataType(NULL, CNRT_FLOAT32, halves, CNRT_FLOAT16, 3, NULL));
  WRONG(cnrtCastDataType(values, CNRT_FLOAT32, halves, CNRT_FLOAT16, -1, NULL));
  CHECK_EQ(cnrtErrorNotSupport, cnrtCastDataType(values, CNRT_FLOAT32, halves, CNRT_INT8, 3, NULL));
}

static void the_driver_names_work(void) {
  CNdev device = -1;
  CNcontext context = NULL, shared = NULL, current = NULL;
  CNaddr address = 0;
  CNqueue queue = NULL;
  char name[3], host[4] = {1, 2, 3, 4}, back[4] = {0};
  const char *text = NULL;
  int count = 0;
  CHECK_EQ(CN_SUCCESS, cnInit(0));
  CHECK_EQ(CN_ERROR_INVALID_VALUE, cnInit(1));
  CHECK_EQ(CN_SUCCESS, cnDeviceGetCount(&count));
  CHECK_EQ(1, count);
  CHECK_EQ(CN_SUCCESS, cnDeviceGet(&device, 0));
  CHECK_EQ(CN_ERROR_INVALID_DEVICE, cnDeviceGet(&device, 1));
  CHECK_EQ(CN_SUCCESS, cnDeviceGetName(name, sizeof(name), device));
  CHECK_TEXT("CP", name);
  CHECK_EQ(CN_SUCCESS, cnCtxCreate(&context, 0, device));
  CHECK_EQ(CN_SUCCESS, cnCtxGetCurrent(&current));
  CHECK(current == context);
  CHECK_EQ(CN_SUCCESS, cnSharedContextAcquire(&shared, device));
  CHECK_EQ(CN_SUCCESS, cnCtxSetCurrent(shared));
  CHECK_EQ(CN_SUCCESS, cnCtxSetCurrent(context));
  CHECK_EQ(CN_SUCCESS, cnCtxDestroy(context));
  CHECK_EQ(CN_ERROR_INVALID_CONTEXT, cnCtxDestroy(context));
  CHECK_EQ(CN_ERROR_INVALID_CONTEXT, cnCtxSetCurrent(context));
  CHECK_EQ(CN_SUCCESS, cnCtxGetCurrent(&current));
  CHECK(current == NULL);
  CHECK_EQ(CN_SUCCESS, cnCreateQueue(&queue, 0));
  FINE(cnrtQueueSync(queue));
  CHECK_EQ(CN_SUCCESS, cnQueueSync(queue));
  CHECK_EQ(CN_SUCCESS, cnDestroyQueue(queue));
  CHECK_EQ(CN_SUCCESS, cnMalloc(&address, 4));
  CHECK_EQ(CN_SUCCESS, cnMemcpyHtoD(address, host, 4));
  CHECK_EQ(CN_SUCCESS, cnMemsetD8(address, 9, 1));
  CHECK_EQ(CN_SUCCESS, cnMemcpyDtoH(back, address, 4));
  CHECK(back[0] == 9 && back[3] == 4);
  CHECK_EQ(CN_SUCCESS, cnFree(address));
  CHECK_EQ(CN_ERROR_INVALID_VALUE, cnFree(address));
  CHECK_EQ(CN_SUCCESS, cnGetErrorName(CN_ERROR_INVALID_VALUE, &text));
  CHECK_TEXT("CN_ERROR_INVALID_VALUE", text);
}

enum { THREADS = 4, HELD = 40 };

/* Until *stop is true. */
static void *allocate_and_free(void *stop) {
  void *held[HELD];
  while (!__atomic_load_n((const bool *)stop, __ATOMIC_RELAXED)) {
    for (int i = 0; i < HELD; i++) {
      if (cnrtMalloc(&held[i], (size_t)(1 + i)) != cnrtSuccess) return (void *)1;
      if (cnrtMemset(held[i], i, (size_t)(1 + i)) != cnrtSuccess) return (void *)1;
    }
    for (int i = HELD - 1; i >= 0; i -= 2) cnrtFree(held[i]);
    for (int i = 0; i < HELD; i += 2) cnrtFree(held[i]);
    if (cnrtGetLastError() != cnrtSuccess) return (void *)1;
    cnrtFree(held[0]);
    if (cnrtGetLastError() == cnrtErrorNoMem) return (void *)1;
  }
  return NULL;
}

/* Threads allocate all the time; a child must not inherit the lock that one holds. */
static void threads_and_children_share_it(void) {
  pthread_t threads[THREADS];
  bool stop = false;
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, allocate_and_free, &stop);
  for (int i = 0; i < 20; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      void *pointer = NULL;
      const int fine = cnrtMalloc(&pointer, 8) == cnrtSuccess && cnrtFree(pointer) == cnrtSuccess;
      _exit(fine ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++) {
    void *result = (void *)1;
    pthread_join(threads[i], &result);
    CHECK(result == NULL);
  }
}

static const struct test tests[] = {
    TEST(there_is_one_device),
    TEST(errors_are_remembered_per_thread),
    TEST(memory_is_given_and_taken_back),
    TEST(copies_go_where_they_say),
    TEST(wrong_copies_change_nothing),
    TEST(memory_is_filled),
    TEST(queues_run_at_once),
    TEST(notifiers_measure_time),
    TEST(numbers_are_converted),
    TEST(the_driver_names_work),
    TEST(threads_and_children_share_it),
};
RUN_TESTS(tests)

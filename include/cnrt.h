/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CNRT_H_
#define CNRT_H_

/**
 * @file cnrt.h
 * The host runtime: the names of the accelerator's runtime (CNRT), over the memory and the clock of
 * this computer, so that programs written for the accelerator build and run here. `libcnrt` is a
 * library of its own; the mluOp library does not need it. docs/cnrt.md tells which names and values
 * follow public CNRT headers and which were chosen here.
 *
 * One device, number 0: the computer itself. "Device" memory is ordinary memory, aligned to 64
 * bytes. A queue is in order and, this being a CPU, every operation in it is complete when the
 * call that asks for it returns; NULL is the default queue.
 *
 * Every function may be called by any thread at any time. Wrong use (a NULL or foreign pointer, a
 * handle destroyed before, memory freed twice, a copy beyond the end of a device allocation, an
 * unknown direction) returns cnrtErrorArgsInvalid and changes nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** The version of the runtime whose names these are. */
#define CNRT_MAJOR_VERSION 6
#define CNRT_MINOR_VERSION 0
#define CNRT_PATCH_VERSION 0
#define CNRT_VERSION (CNRT_MAJOR_VERSION * 10000 + CNRT_MINOR_VERSION * 100 + CNRT_PATCH_VERSION)

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin: plain declarations, readable by tools that do not run the preprocessor. */

/* ---------------------------------------------------------------------------------- Types */

/** A queue is opaque; NULL is the default queue. */
typedef struct cnrtQueue *cnrtQueue_t;

/** A point in time in a queue. */
typedef struct cnrtNotifier *cnrtNotifier_t;

/** What a function returns. The CNRT_RET_ spellings are those of older releases. */
typedef enum {
  cnrtSuccess = 0,
  cnrtErrorArgsInvalid = 632007,
  cnrtErrorNoMem = 632008,
  cnrtErrorNoDevice = 632009,
  cnrtErrorSys = 632011,
  cnrtErrorNotReady = 632014,
  cnrtErrorNotSupport = 632020,
  cnrtErrorInit = 632024,
  cnrtErrorDeviceInvalid = 632100,
  cnrtErrorUnknown = 999991,
  CNRT_RET_SUCCESS = cnrtSuccess,
  CNRT_RET_ERR_INVALID = cnrtErrorArgsInvalid,
  CNRT_RET_ERR_NOMEM = cnrtErrorNoMem,
  CNRT_RET_ERR_NODEV = cnrtErrorNoDevice,
  CNRT_RET_ERR_SYS = cnrtErrorSys,
  CNRT_RET_ERR_BUSY = cnrtErrorNotReady,
  CNRT_RET_ERR_UNSUPPORTED = cnrtErrorNotSupport,
  CNRT_RET_ERR_INIT = cnrtErrorInit,
  CNRT_RET_ERR_UNKNOWN = cnrtErrorUnknown
} cnrtRet_t;

/** From where to where a copy goes, in the spelling of older and of newer releases. */
typedef enum {
  CNRT_MEM_TRANS_DIR_HOST2DEV = 0,
  CNRT_MEM_TRANS_DIR_DEV2DEV = 1,
  CNRT_MEM_TRANS_DIR_DEV2HOST = 2,
  CNRT_MEM_TRANS_DIR_HOST2HOST = 3,
  CNRT_MEM_TRANS_DIR_PEER2PEER = 4,
  CNRT_MEM_TRANS_DIR_NODIR = 5, /* found out from the pointers */
  cnrtMemcpyHostToDev = CNRT_MEM_TRANS_DIR_HOST2DEV,
  cnrtMemcpyDevToDev = CNRT_MEM_TRANS_DIR_DEV2DEV,
  cnrtMemcpyDevToHost = CNRT_MEM_TRANS_DIR_DEV2HOST,
  cnrtMemcpyHostToHost = CNRT_MEM_TRANS_DIR_HOST2HOST,
  cnrtMemcpyPeerToPeer = CNRT_MEM_TRANS_DIR_PEER2PEER,
  cnrtMemcpyNoDirection = CNRT_MEM_TRANS_DIR_NODIR
} cnrtMemTransDir_t;

/** How the cores of a kernel launch are grouped; nothing here launches kernels. */
typedef enum {
  CNRT_FUNC_TYPE_BLOCK = 1,
  CNRT_FUNC_TYPE_UNION1 = 4,
  CNRT_FUNC_TYPE_UNION2 = 8,
  CNRT_FUNC_TYPE_UNION4 = 16,
  CNRT_FUNC_TYPE_UNION8 = 32,
  CNRT_FUNC_TYPE_UNION16 = 64,
  cnrtFuncTypeBlock = CNRT_FUNC_TYPE_BLOCK,
  cnrtFuncTypeUnion1 = CNRT_FUNC_TYPE_UNION1,
  cnrtFuncTypeUnion2 = CNRT_FUNC_TYPE_UNION2,
  cnrtFuncTypeUnion4 = CNRT_FUNC_TYPE_UNION4,
  cnrtFuncTypeUnion8 = CNRT_FUNC_TYPE_UNION8,
  cnrtFuncTypeUnion16 = CNRT_FUNC_TYPE_UNION16
} cnrtFunctionType_t;

/** The size of a kernel launch in three dimensions. */
typedef struct {
  unsigned int x;
  unsigned int y;
  unsigned int z;
} cnrtDim3_t;

/** The type of a number, for cnrtCastDataType. */
typedef enum {
  CNRT_INVALID = 0x0,
  CNRT_FLOAT16 = 0x12,
  CNRT_FLOAT32 = 0x13,
  CNRT_FLOAT64 = 0x14,
  CNRT_INT8 = 0x21,
  CNRT_INT16 = 0x22,
  CNRT_INT32 = 0x23,
  CNRT_INT64 = 0x24,
  CNRT_UINT8 = 0x31,
  CNRT_UINT16 = 0x32,
  CNRT_UINT32 = 0x33,
  CNRT_BOOL = 0x61
} cnrtDataType_t;

/** How integers are scaled; no conversion here has a use for it: pass NULL. */
typedef struct cnrtQuantizedParam *cnrtQuantizedParam_t;

/** Flags of notifiers and of waiting; 0 everywhere, others are accepted and make no difference. */
typedef enum {
  CNRT_NOTIFIER_DEFAULT = 0,
  CNRT_NOTIFIER_DISABLE_TIMING_SW = 1,
  CNRT_NOTIFIER_DISABLE_TIMING_ALL = 2
} cnrtNotifierFlags_t;

/** A function that a queue calls; see cnrtInvokeHostFunc. */
typedef void (*cnrtHostFn_t)(void *user_data);

/** What a device is; see cnrtGetDeviceProperties. */
typedef struct {
  char name[64];
  size_t totalMem; /* bytes */
  int clusterCount;
  int McorePerCluster;
} cnrtDeviceProp_t;

/** Which fact cnrtDeviceGetAttribute tells. */
typedef enum { cnrtAttrClusterCount = 20, cnrtAttrMcorePerCluster = 21 } cnrtDeviceAttr_t;

/** Device handles of older releases: the device number. */
typedef uint64_t cnrtDev_t;

/* --------------------------------------------------------------------------------- Errors */

/** The last error of the calling thread, which is forgotten thereby; cnrtSuccess if none. */
cnrtRet_t cnrtGetLastError(void);

/** The last error of the calling thread; cnrtSuccess if none. */
cnrtRet_t cnrtPeekAtLastError(void);

/** The name of an error, such as "cnrtErrorArgsInvalid". A constant string, never NULL. */
const char *cnrtGetErrorName(cnrtRet_t error_code);

/** What an error means, in a few words. A constant string, never NULL. */
const char *cnrtGetErrorStr(cnrtRet_t error_code);

/** CNRT_MAJOR_VERSION and so on, as this library was built. */
cnrtRet_t cnrtGetLibVersion(int *lib_major, int *lib_minor, int *lib_patch);

/** The same version: there is no driver of its own here. */
cnrtRet_t cnrtDriverGetVersion(int *drv_major, int *drv_minor, int *drv_patch);

/* -------------------------------------------------------------------------------- Devices */

/** Stores 1. */
cnrtRet_t cnrtGetDeviceCount(unsigned int *dev_num);

/** Chooses the device of this thread. @return cnrtErrorDeviceInvalid for all but 0. */
cnrtRet_t cnrtSetDevice(int ordinal);

/** The device of this thread: 0. */
cnrtRet_t cnrtGetDevice(int *ordinal);

/** Waits for everything that was asked of the device: nothing is ever outstanding. */
cnrtRet_t cnrtSyncDevice(void);

/** Does nothing: memory, queues and notifiers stay as they are. */
cnrtRet_t cnrtDeviceReset(void);

/** The name, the memory and the cores of this computer (as one cluster). */
cnrtRet_t cnrtGetDeviceProperties(cnrtDeviceProp_t *prop, int ordinal);

/** One fact about the device. @return cnrtErrorNotSupport for one that is not known here. */
cnrtRet_t cnrtDeviceGetAttribute(int *value, cnrtDeviceAttr_t attribute, int ordinal);

/** The range of queue priorities: 0 for both. */
cnrtRet_t cnrtDeviceGetQueuePriorityRange(int *least_priority, int *greatest_priority);

/** Names of older releases. */
cnrtRet_t cnrtInit(unsigned int flags);
void cnrtDestroy(void);
cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *dev, int ordinal);
cnrtRet_t cnrtSetCurrentDevice(cnrtDev_t dev);
cnrtRet_t cnrtGetCurrentDevice(cnrtDev_t *dev);

/* --------------------------------------------------------------------------------- Queues */

/** Makes a queue, which belongs to the caller until cnrtQueueDestroy. */
cnrtRet_t cnrtQueueCreate(cnrtQueue_t *queue);

/** The same. There is one priority: 0. */
cnrtRet_t cnrtQueueCreateWithPriority(cnrtQueue_t *queue, unsigned int flags, int priority);

/** Ends a queue. The default queue (NULL) cannot be destroyed. */
cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue);

/** Waits until all operations of a queue are complete: they are. */
cnrtRet_t cnrtQueueSync(cnrtQueue_t queue);

/** Whether all operations of a queue are complete: cnrtSuccess, never cnrtErrorNotReady. */
cnrtRet_t cnrtQueueQuery(cnrtQueue_t queue);

/** The priority of a queue: 0. */
cnrtRet_t cnrtQueueGetPriority(cnrtQueue_t queue, int *priority);

/** Makes what comes later in the queue wait for the notifier: everything before is complete. */
cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue, unsigned int flags);

/** Calls fn(user_data) when the queue comes to it: now, on this thread. */
cnrtRet_t cnrtInvokeHostFunc(cnrtQueue_t queue, cnrtHostFn_t fn, void *user_data);

/** Names of older releases. */
cnrtRet_t cnrtCreateQueue(cnrtQueue_t *queue);
cnrtRet_t cnrtDestroyQueue(cnrtQueue_t queue);
cnrtRet_t cnrtSyncQueue(cnrtQueue_t queue);
cnrtRet_t cnrtQueryQueue(cnrtQueue_t queue);

/* ------------------------------------------------------------------------------ Notifiers */

/** Makes a notifier, which belongs to the caller until cnrtNotifierDestroy. */
cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t *notifier);
cnrtRet_t cnrtNotifierCreateWithFlags(cnrtNotifier_t *notifier, unsigned int flags);
cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier);

/** Records the present moment, as the place behind all operations of the queue so far. */
cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue);
cnrtRet_t cnrtPlaceNotifierWithFlags(cnrtNotifier_t notifier, cnrtQueue_t queue,
                                     unsigned int flags);

/** Waits until all operations in front of the notifier are complete: they are. */
cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier);

/** Whether all operations in front of the notifier are complete: cnrtSuccess. */
cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t notifier);

/**
 * The microseconds between the places of two notifiers, by the computer's clock.
 * @return cnrtErrorNotReady if one of them has not been placed.
 */
cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float *us);

/** The same in milliseconds. */
cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t start, cnrtNotifier_t end, float *ms);

/** Names of older releases; a destroyed notifier is set to NULL. */
cnrtRet_t cnrtCreateNotifier(cnrtNotifier_t *notifier);
cnrtRet_t cnrtDestroyNotifier(cnrtNotifier_t *notifier);

/* --------------------------------------------------------------------------------- Memory */

/**
 * Allocates device memory, aligned to 64 bytes and uninitialised; it belongs to the caller until
 * cnrtFree. 0 bytes give a pointer that can only be freed.
 * @return cnrtErrorNoMem if there is not that much; *ptr is as before then.
 */
cnrtRet_t cnrtMalloc(void **ptr, size_t bytes);

/** Frees what cnrtMalloc gave. NULL is wrong, as are pointers into the middle. */
cnrtRet_t cnrtFree(void *ptr);

/** The same for memory of the host. */
cnrtRet_t cnrtHostMalloc(void **ptr, size_t bytes);
cnrtRet_t cnrtFreeHost(void *ptr);

/** The memory of this computer: what is free now, and all of it. */
cnrtRet_t cnrtMemGetInfo(size_t *free, size_t *total);

/**
 * Copies bytes; the areas may overlap.
 *
 * @param direction  Whether dst and src are memory of the host or of the device; checked: the
 *                   device's side must lie within one allocation of cnrtMalloc, and the host's
 *                   side outside all of them. CNRT_MEM_TRANS_DIR_NODIR finds out by itself.
 *
 * 0 bytes are always in order.
 */
cnrtRet_t cnrtMemcpy(void *dst, const void *src, size_t bytes, cnrtMemTransDir_t direction);

/** The same in a queue. The source may be changed as soon as the call has returned. */
cnrtRet_t cnrtMemcpyAsync(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                          cnrtMemTransDir_t direction);
cnrtRet_t cnrtMemcpyAsync_V2(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                             cnrtMemTransDir_t direction);
cnrtRet_t cnrtMemcpyAsync_V3(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                             cnrtMemTransDir_t direction);

/** Sets bytes of device memory to a value (its low 8 bits). */
cnrtRet_t cnrtMemset(void *ptr, int value, size_t bytes);
cnrtRet_t cnrtMemsetAsync(void *ptr, int value, size_t bytes, cnrtQueue_t queue);

/** Sets `count` numbers of 8 or 32 bits of device memory to a value. */
cnrtRet_t cnrtMemsetD8(void *ptr, unsigned char value, size_t count);
cnrtRet_t cnrtMemsetD8Async(void *ptr, unsigned char value, size_t count, cnrtQueue_t queue);
cnrtRet_t cnrtMemsetD32(void *ptr, unsigned int value, size_t count);
cnrtRet_t cnrtMemsetD32Async(void *ptr, unsigned int value, size_t count, cnrtQueue_t queue);

/* ---------------------------------------------------------------------------- Conversions */

/** One number between IEEE half and float, rounded to nearest even. */
cnrtRet_t cnrtConvertHalfToFloat(float *f, uint16_t h);
cnrtRet_t cnrtConvertFloatToHalf(uint16_t *h, float f);

/**
 * Converts `count` numbers of host memory between CNRT_FLOAT16 and CNRT_FLOAT32, or copies them
 * where both types are the same.
 * @return cnrtErrorNotSupport for other types or a `param`.
 */
cnrtRet_t cnrtCastDataType(void *src, cnrtDataType_t src_type, void *dst, cnrtDataType_t dst_type,
                           int count, cnrtQuantizedParam_t param);

/* cdef end */

#ifdef __cplusplus
}
#endif

/** Ends the program with a message on stderr unless the call returns cnrtSuccess. */
#ifndef CNRT_CHECK
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define CNRT_CHECK(...) CNRT_CHECK_CALL_((__VA_ARGS__), #__VA_ARGS__)
#else
#define CNRT_CHECK(call) CNRT_CHECK_CALL_((call), #call)
#endif
#endif

#define CNRT_CHECK_CALL_(call, text)                                                \
  do {                                                                              \
    const cnrtRet_t cnrt_check_ret_ = call;                                         \
    if (cnrt_check_ret_ != cnrtSuccess) {                                           \
      fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, text,             \
              cnrtGetErrorStr(cnrt_check_ret_), cnrtGetErrorName(cnrt_check_ret_)); \
      exit(EXIT_FAILURE);                                                           \
    }                                                                               \
  } while (0)

#endif /* CNRT_H_ */

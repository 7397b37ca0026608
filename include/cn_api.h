/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CN_API_H_
#define CN_API_H_

/**
 * @file cn_api.h
 * The names of the accelerator's driver interface that mluOp programs use, over the host runtime of
 * `cnrt.h`: what is true of devices, queues, memory and errors there is true here. A context is a
 * mark that a thread carries; it owns nothing.
 */

#include <stdint.h>

#include "cnrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a function returns. */
typedef enum {
  CN_SUCCESS = 0,
  CN_ERROR_NOT_READY = 1,
  CN_ERROR_NOT_INITIALIZED = 2,
  CN_ERROR_INVALID_DEVICE = 3,
  CN_ERROR_INVALID_VALUE = 4,
  CN_ERROR_INVALID_CONTEXT = 5,
  CN_MEMORY_ERROR_OUT_OF_MEMORY = 6,
  CN_ERROR_NOT_SUPPORTED = 7,
  CN_ERROR_UNKNOWN = 999
} CNresult;

/** The integers of this interface. */
typedef uint64_t cn_uint64_t;
typedef int64_t cn_int64_t;

/** A device: its number, 0. */
typedef int CNdev;

/** An address in device memory; the value of the pointer that cnrtMalloc gives. */
typedef cn_uint64_t CNaddr;

/** A context. It is opaque, and owns nothing. */
typedef struct CNcontext_st *CNcontext;

/** Queues and notifiers are those of the runtime. */
typedef cnrtQueue_t CNqueue;
typedef cnrtNotifier_t CNnotifier;

/** Which fact cnDeviceGetAttribute tells. */
typedef enum {
  CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT = 20,
  CN_DEVICE_ATTRIBUTE_MAX_CORE_COUNT_PER_CLUSTER = 21
} CNdevice_attribute;

/** Does nothing; `flags` must be 0. Other functions do not depend on it. */
CNresult cnInit(unsigned int flags);

/** CNRT_VERSION. */
CNresult cnGetDriverVersion(int *version);

/** The name or the meaning of a result: a constant string. */
CNresult cnGetErrorName(CNresult error, const char **name);
CNresult cnGetErrorString(CNresult error, const char **text);

/** Stores the number of devices: 1. */
CNresult cnDeviceGetCount(int *count);

/** Stores the device with a number: 0 is the only one. */
CNresult cnDeviceGet(CNdev *device, int ordinal);

/** Stores the name of a device, at most `length` characters with the NUL at the end. */
CNresult cnDeviceGetName(char *name, int length, CNdev device);

/** Stores one fact about a device. */
CNresult cnDeviceGetAttribute(int *value, CNdevice_attribute attribute, CNdev device);

/** Makes a context, makes it the current one of this thread, and leaves it to the caller. */
CNresult cnCtxCreate(CNcontext *context, unsigned int flags, CNdev device);

/** Destroys a context. It is no longer the current one of any thread. */
CNresult cnCtxDestroy(CNcontext context);

/** Reads and sets the current context of this thread; NULL means none. */
CNresult cnCtxGetCurrent(CNcontext *context);
CNresult cnCtxSetCurrent(CNcontext context);

/** Stores the device of the current context: 0. */
CNresult cnCtxGetDevice(CNdev *device);

/** Waits for all work of the current context. There is never any left. */
CNresult cnCtxSync(void);

/** The context that all users of the device share; it needs no release. */
CNresult cnSharedContextAcquire(CNcontext *context, CNdev device);
CNresult cnSharedContextRelease(CNdev device);

/** Queues: as cnrtQueueCreate, cnrtQueueDestroy, cnrtQueueSync and cnrtQueueQuery. */
CNresult cnCreateQueue(CNqueue *queue, unsigned int flags);
CNresult cnDestroyQueue(CNqueue queue);
CNresult cnQueueSync(CNqueue queue);
CNresult cnQueryQueue(CNqueue queue);

/** Device memory: as cnrtMalloc, cnrtFree, cnrtMemGetInfo, cnrtMemcpy and cnrtMemset. */
CNresult cnMalloc(CNaddr *address, cn_uint64_t bytes);
CNresult cnFree(CNaddr address);
CNresult cnMemGetInfo(cn_uint64_t *free, cn_uint64_t *total);
CNresult cnMemcpyHtoD(CNaddr dst, const void *src, cn_uint64_t bytes);
CNresult cnMemcpyDtoH(void *dst, CNaddr src, cn_uint64_t bytes);
CNresult cnMemcpyDtoD(CNaddr dst, CNaddr src, cn_uint64_t bytes);
CNresult cnMemsetD8(CNaddr address, unsigned char value, cn_uint64_t count);
CNresult cnMemsetD32(CNaddr address, unsigned int value, cn_uint64_t count);

#ifdef __cplusplus
}
#endif

#endif /* CN_API_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CN_API_H_
#define CN_API_H_

/**
 * @file cn_api.h
 * The functions of the accelerator's driver interface that mluOp programs use, built on the host
 * runtime of `cnrt.h`: the rules for devices, queues, memory and errors are the same as there. A
 * context is only a mark that a thread has; nothing belongs to it.
 *
 * "As cnrtMalloc" means: the CN result of the same meaning.
 */

#include <stdint.h>

#include "cnrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a function returns. */
typedef enum {
  CN_SUCCESS = 0,                    /**< no error */
  CN_ERROR_NOT_READY = 1,            /**< not complete yet */
  CN_ERROR_NOT_INITIALIZED = 2,      /**< no initialisation */
  CN_ERROR_INVALID_DEVICE = 3,       /**< no such device */
  CN_ERROR_INVALID_VALUE = 4,        /**< an argument is wrong */
  CN_ERROR_INVALID_CONTEXT = 5,      /**< no such context */
  CN_MEMORY_ERROR_OUT_OF_MEMORY = 6, /**< no memory */
  CN_ERROR_NOT_SUPPORTED = 7,        /**< not known here */
  CN_ERROR_UNKNOWN = 999             /**< another error */
} CNresult;

/** An unsigned integer of 64 bits. */
typedef uint64_t cn_uint64_t;

/** A signed integer of 64 bits. */
typedef int64_t cn_int64_t;

/** A device: its number, 0. */
typedef int CNdev;

/** An address in device memory: the value of a pointer from cnrtMalloc. */
typedef cn_uint64_t CNaddr;

/** A context. Opaque. */
typedef struct CNcontext_st *CNcontext;

/** A queue of the runtime. */
typedef cnrtQueue_t CNqueue;

/** A notifier of the runtime. */
typedef cnrtNotifier_t CNnotifier;

/** What cnDeviceGetAttribute gets. */
typedef enum {
  CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT = 20,         /**< the number of clusters: 1 */
  CN_DEVICE_ATTRIBUTE_MAX_CORE_COUNT_PER_CLUSTER = 21 /**< the number of cores */
} CNdevice_attribute;

/**
 * Does nothing. Other functions do not need it.
 *
 * @param flags  0.
 *
 * @return CN_ERROR_INVALID_VALUE for any other number.
 */
CNresult cnInit(unsigned int flags);

/**
 * Gets the version of the driver interface.
 *
 * @param version  Receives CNRT_VERSION.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL.
 */
CNresult cnGetDriverVersion(int *version);

/**
 * Gets the name of a result, such as "CN_ERROR_INVALID_VALUE".
 *
 * @param error  The result.
 * @param name   Receives a constant string.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL.
 */
CNresult cnGetErrorName(CNresult error, const char **name);

/**
 * Gets the meaning of a result, in a few words.
 *
 * @param error  The result.
 * @param text   Receives a constant string.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL.
 */
CNresult cnGetErrorString(CNresult error, const char **text);

/* -------------------------------------------------------------------------------- Devices */

/**
 * Gets the number of devices: 1.
 *
 * @param count  Receives the number.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL.
 */
CNresult cnDeviceGetCount(int *count);

/**
 * Gets a device.
 *
 * @param device   Receives the device.
 * @param ordinal  0.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL; CN_ERROR_INVALID_DEVICE for any other number.
 */
CNresult cnDeviceGet(CNdev *device, int ordinal);

/**
 * Gets the name of a device.
 *
 * @param name    Receives the name, cut to fit, with a NUL at the end.
 * @param length  The size of name in bytes: at least 1.
 * @param device  The device.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL or a length below 1; CN_ERROR_INVALID_DEVICE for any
 *         other device.
 */
CNresult cnDeviceGetName(char *name, int length, CNdev device);

/**
 * Gets one attribute of a device.
 *
 * @param value      Receives the attribute.
 * @param attribute  Which attribute.
 * @param device     The device.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL; CN_ERROR_INVALID_DEVICE for any other device;
 *         CN_ERROR_NOT_SUPPORTED for an attribute that is not in the enum.
 */
CNresult cnDeviceGetAttribute(int *value, CNdevice_attribute attribute, CNdev device);

/* ------------------------------------------------------------------------------- Contexts */

/**
 * Creates a context, and makes it the current one of this thread.
 *
 * @param context  Receives the context; destroy it with cnCtxDestroy.
 * @param flags    Ignored.
 * @param device   The device.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL; CN_ERROR_INVALID_DEVICE for any other device;
 *         CN_MEMORY_ERROR_OUT_OF_MEMORY if there is no memory.
 */
CNresult cnCtxCreate(CNcontext *context, unsigned int flags, CNdev device);

/**
 * Destroys a context. Then no thread has it as its current one.
 *
 * @param context  The context; it must not be used again.
 *
 * @return CN_ERROR_INVALID_CONTEXT for what is not a context.
 */
CNresult cnCtxDestroy(CNcontext context);

/**
 * Gets the current context of this thread.
 *
 * @param context  Receives the context; NULL if there is none.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL.
 */
CNresult cnCtxGetCurrent(CNcontext *context);

/**
 * Sets the current context of this thread.
 *
 * @param context  The context; NULL for none.
 *
 * @return CN_ERROR_INVALID_CONTEXT for what is not a context.
 */
CNresult cnCtxSetCurrent(CNcontext context);

/**
 * Gets the device of the current context: 0, also without a context.
 *
 * @param device  Receives the device.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL.
 */
CNresult cnCtxGetDevice(CNdev *device);

/**
 * Waits for all operations of the current context. They are complete already.
 *
 * @return CN_SUCCESS.
 */
CNresult cnCtxSync(void);

/**
 * Gets the context that all users of a device share.
 *
 * @param context  Receives the context.
 * @param device   The device.
 *
 * @return CN_ERROR_INVALID_VALUE for NULL; CN_ERROR_INVALID_DEVICE for any other device.
 */
CNresult cnSharedContextAcquire(CNcontext *context, CNdev device);

/**
 * Does nothing: the shared context is never destroyed.
 *
 * @param device  The device.
 *
 * @return CN_ERROR_INVALID_DEVICE for any other device.
 */
CNresult cnSharedContextRelease(CNdev device);

/* --------------------------------------------------------------------------------- Queues */

/**
 * Creates a queue.
 *
 * @param queue  Receives the queue; destroy it with cnDestroyQueue.
 * @param flags  Ignored.
 *
 * @return As cnrtQueueCreate.
 */
CNresult cnCreateQueue(CNqueue *queue, unsigned int flags);

/**
 * Destroys a queue.
 *
 * @param queue  The queue; it must not be used again.
 *
 * @return As cnrtQueueDestroy.
 */
CNresult cnDestroyQueue(CNqueue queue);

/**
 * Waits for all operations of a queue. They are complete already.
 *
 * @param queue  The queue.
 *
 * @return As cnrtQueueSync.
 */
CNresult cnQueueSync(CNqueue queue);

/**
 * Tells whether all operations of a queue are complete.
 *
 * @param queue  The queue.
 *
 * @return As cnrtQueueQuery.
 */
CNresult cnQueryQueue(CNqueue queue);

/* --------------------------------------------------------------------------------- Memory */

/**
 * Allocates device memory.
 *
 * @param address  Receives the address; free it with cnFree.
 * @param bytes    The number of bytes.
 *
 * @return As cnrtMalloc.
 */
CNresult cnMalloc(CNaddr *address, cn_uint64_t bytes);

/**
 * Frees device memory.
 *
 * @param address  An address from cnMalloc.
 *
 * @return As cnrtFree.
 */
CNresult cnFree(CNaddr address);

/**
 * Gets the size of the memory of this computer.
 *
 * @param free   Receives the bytes that are free now.
 * @param total  Receives the bytes of all memory.
 *
 * @return As cnrtMemGetInfo.
 */
CNresult cnMemGetInfo(cn_uint64_t *free, cn_uint64_t *total);

/**
 * Copies bytes from the host to the device.
 *
 * @param dst    The destination.
 * @param src    The source.
 * @param bytes  The number of bytes.
 *
 * @return As cnrtMemcpy.
 */
CNresult cnMemcpyHtoD(CNaddr dst, const void *src, cn_uint64_t bytes);

/**
 * Copies bytes from the device to the host.
 *
 * @param dst    The destination.
 * @param src    The source.
 * @param bytes  The number of bytes.
 *
 * @return As cnrtMemcpy.
 */
CNresult cnMemcpyDtoH(void *dst, CNaddr src, cn_uint64_t bytes);

/**
 * Copies bytes on the device.
 *
 * @param dst    The destination.
 * @param src    The source.
 * @param bytes  The number of bytes.
 *
 * @return As cnrtMemcpy.
 */
CNresult cnMemcpyDtoD(CNaddr dst, CNaddr src, cn_uint64_t bytes);

/**
 * Sets bytes of device memory.
 *
 * @param address  The memory.
 * @param value    The value.
 * @param count    The number of bytes.
 *
 * @return As cnrtMemsetD8.
 */
CNresult cnMemsetD8(CNaddr address, unsigned char value, cn_uint64_t count);

/**
 * Sets numbers of 32 bits in device memory.
 *
 * @param address  The memory.
 * @param value    The value.
 * @param count    How many numbers.
 *
 * @return As cnrtMemsetD32.
 */
CNresult cnMemsetD32(CNaddr address, unsigned int value, cn_uint64_t count);

#ifdef __cplusplus
}
#endif

#endif /* CN_API_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CNRT_H_
#define CNRT_H_

/**
 * @file cnrt.h The host runtime: the functions of the accelerator's runtime (CNRT), with the memory
 * and the clock of this computer, so that programs written for the accelerator build and run here.
 * `libcnrt` is a library of its own; the mluOp library does not need it. docs/cnrt.md says which
 * names and values follow public CNRT headers and which were chosen here.
 *
 * There is one device, number 0: the computer itself. "Device" memory is ordinary memory, aligned
 * to 64 bytes. Operations of a queue run in order, and each is complete when its call returns. NULL
 * is the default queue.
 *
 * Every function may be called by any thread at any time. Wrong use returns cnrtErrorArgsInvalid
 * and changes nothing: a NULL pointer, a pointer that this library did not give, a queue or
 * notifier that was destroyed, memory that was freed, a copy beyond the end of a device allocation,
 * an unknown direction.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Major version of the runtime API. */
#define CNRT_MAJOR_VERSION 6
/** Minor version of the runtime API. */
#define CNRT_MINOR_VERSION 0
/** Patch level of the runtime API. */
#define CNRT_PATCH_VERSION 0
/** Version of the runtime API as one number. */
#define CNRT_VERSION (CNRT_MAJOR_VERSION * 10000 + CNRT_MINOR_VERSION * 100 + CNRT_PATCH_VERSION)

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin: plain declarations, readable by tools that do not run the preprocessor. */

/* ---------------------------------------------------------------------------------- Types */

/** A queue; NULL is the default queue. Opaque. */
typedef struct cnrtQueue *cnrtQueue_t;

/** A point in time in a queue. Opaque. */
typedef struct cnrtNotifier *cnrtNotifier_t;

/** What a function returns. The names that begin with CNRT_RET_ are those of older releases. */
typedef enum {
  cnrtSuccess = 0,                 /**< no error */
  cnrtErrorArgsInvalid = 632007,   /**< an argument is wrong */
  cnrtErrorNoMem = 632008,         /**< no memory */
  cnrtErrorNoDevice = 632009,      /**< no device */
  cnrtErrorSys = 632011,           /**< the system refused */
  cnrtErrorNotReady = 632014,      /**< not complete yet */
  cnrtErrorNotSupport = 632020,    /**< not known here */
  cnrtErrorInit = 632024,          /**< no initialisation */
  cnrtErrorDeviceInvalid = 632100, /**< no such device */
  cnrtErrorUnknown = 999991,       /**< another error */
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

/** The direction of a copy, with the names of older and of newer releases. */
typedef enum {
  CNRT_MEM_TRANS_DIR_HOST2DEV = 0,  /**< host to device */
  CNRT_MEM_TRANS_DIR_DEV2DEV = 1,   /**< within the device */
  CNRT_MEM_TRANS_DIR_DEV2HOST = 2,  /**< device to host */
  CNRT_MEM_TRANS_DIR_HOST2HOST = 3, /**< within the host */
  CNRT_MEM_TRANS_DIR_PEER2PEER = 4, /**< between devices */
  CNRT_MEM_TRANS_DIR_NODIR = 5,     /**< determined from the pointers */
  cnrtMemcpyHostToDev = CNRT_MEM_TRANS_DIR_HOST2DEV,
  cnrtMemcpyDevToDev = CNRT_MEM_TRANS_DIR_DEV2DEV,
  cnrtMemcpyDevToHost = CNRT_MEM_TRANS_DIR_DEV2HOST,
  cnrtMemcpyHostToHost = CNRT_MEM_TRANS_DIR_HOST2HOST,
  cnrtMemcpyPeerToPeer = CNRT_MEM_TRANS_DIR_PEER2PEER,
  cnrtMemcpyNoDirection = CNRT_MEM_TRANS_DIR_NODIR
} cnrtMemTransDir_t;

/** How the cores of a kernel launch are grouped. Part of the API; no function here takes it. */
typedef enum {
  CNRT_FUNC_TYPE_BLOCK = 1,    /**< one core */
  CNRT_FUNC_TYPE_UNION1 = 4,   /**< one cluster */
  CNRT_FUNC_TYPE_UNION2 = 8,   /**< 2 clusters */
  CNRT_FUNC_TYPE_UNION4 = 16,  /**< 4 clusters */
  CNRT_FUNC_TYPE_UNION8 = 32,  /**< 8 clusters */
  CNRT_FUNC_TYPE_UNION16 = 64, /**< 16 clusters */
  cnrtFuncTypeBlock = CNRT_FUNC_TYPE_BLOCK,
  cnrtFuncTypeUnion1 = CNRT_FUNC_TYPE_UNION1,
  cnrtFuncTypeUnion2 = CNRT_FUNC_TYPE_UNION2,
  cnrtFuncTypeUnion4 = CNRT_FUNC_TYPE_UNION4,
  cnrtFuncTypeUnion8 = CNRT_FUNC_TYPE_UNION8,
  cnrtFuncTypeUnion16 = CNRT_FUNC_TYPE_UNION16
} cnrtFunctionType_t;

/** The size of a kernel launch in three dimensions. Part of the API; no function here takes it. */
typedef struct {
  unsigned int x; /**< first dimension */
  unsigned int y; /**< second dimension */
  unsigned int z; /**< third dimension */
} cnrtDim3_t;

/** The type of an element; see cnrtCastDataType. */
typedef enum {
  CNRT_INVALID = 0x0,  /**< not set */
  CNRT_FLOAT16 = 0x12, /**< binary16 */
  CNRT_FLOAT32 = 0x13, /**< binary32 */
  CNRT_FLOAT64 = 0x14, /**< binary64 */
  CNRT_INT8 = 0x21,    /**< 1 byte */
  CNRT_INT16 = 0x22,   /**< 2 bytes */
  CNRT_INT32 = 0x23,   /**< 4 bytes */
  CNRT_INT64 = 0x24,   /**< 8 bytes */
  CNRT_UINT8 = 0x31,   /**< 1 byte, unsigned */
  CNRT_UINT16 = 0x32,  /**< 2 bytes, unsigned */
  CNRT_UINT32 = 0x33,  /**< 4 bytes, unsigned */
  CNRT_BOOL = 0x61     /**< 1 byte: 0 or 1 */
} cnrtDataType_t;

/** How integers are scaled. No conversion here uses it: pass NULL. */
typedef struct cnrtQuantizedParam *cnrtQuantizedParam_t;

/** Flags of notifiers. All are accepted, and none changes anything. */
typedef enum {
  CNRT_NOTIFIER_DEFAULT = 0,           /**< nothing special */
  CNRT_NOTIFIER_DISABLE_TIMING_SW = 1, /**< no time by software */
  CNRT_NOTIFIER_DISABLE_TIMING_ALL = 2 /**< no time at all */
} cnrtNotifierFlags_t;

/** A function that a queue calls; see cnrtInvokeHostFunc. */
typedef void (*cnrtHostFn_t)(void *user_data);

/** The properties of a device; see cnrtGetDeviceProperties. */
typedef struct {
  char name[64];       /**< name of the processor */
  size_t totalMem;     /**< bytes of memory */
  int clusterCount;    /**< number of clusters: 1 */
  int McorePerCluster; /**< number of cores */
} cnrtDeviceProp_t;

/** What cnrtDeviceGetAttribute gets. */
typedef enum {
  cnrtAttrClusterCount = 20,   /**< the number of clusters: 1 */
  cnrtAttrMcorePerCluster = 21 /**< the number of cores */
} cnrtDeviceAttr_t;

/** A device in older releases: its number. */
typedef uint64_t cnrtDev_t;

/* --------------------------------------------------------------------------------- Errors */

/**
 * Returns the last error of the calling thread, and resets it.
 *
 * @return The error; cnrtSuccess if there was none since the last call.
 */
cnrtRet_t cnrtGetLastError(void);

/**
 * Returns the last error of the calling thread, and keeps it.
 *
 * @return The error; cnrtSuccess if there was none.
 */
cnrtRet_t cnrtPeekAtLastError(void);

/**
 * Returns the name of an error, such as "cnrtErrorArgsInvalid".
 *
 * @param error_code  The error.
 *
 * @return A constant string, never NULL.
 */
const char *cnrtGetErrorName(cnrtRet_t error_code);

/**
 * Returns the meaning of an error, in a few words.
 *
 * @param error_code  The error.
 *
 * @return A constant string, never NULL.
 */
const char *cnrtGetErrorStr(cnrtRet_t error_code);

/**
 * Gets the version of this library.
 *
 * @param lib_major  Receives CNRT_MAJOR_VERSION.
 * @param lib_minor  Receives CNRT_MINOR_VERSION.
 * @param lib_patch  Receives CNRT_PATCH_VERSION.
 *
 * @return cnrtErrorArgsInvalid for a NULL argument.
 */
cnrtRet_t cnrtGetLibVersion(int *lib_major, int *lib_minor, int *lib_patch);

/**
 * Gets the version of the driver: the same as cnrtGetLibVersion, as there is no driver.
 *
 * @param drv_major  Receives CNRT_MAJOR_VERSION.
 * @param drv_minor  Receives CNRT_MINOR_VERSION.
 * @param drv_patch  Receives CNRT_PATCH_VERSION.
 *
 * @return cnrtErrorArgsInvalid for a NULL argument.
 */
cnrtRet_t cnrtDriverGetVersion(int *drv_major, int *drv_minor, int *drv_patch);

/* -------------------------------------------------------------------------------- Devices */

/**
 * Gets the number of devices: 1.
 *
 * @param dev_num  Receives the number.
 *
 * @return cnrtErrorArgsInvalid for NULL.
 */
cnrtRet_t cnrtGetDeviceCount(unsigned int *dev_num);

/**
 * Chooses the device of this thread.
 *
 * @param ordinal  0.
 *
 * @return cnrtErrorDeviceInvalid for any other number.
 */
cnrtRet_t cnrtSetDevice(int ordinal);

/**
 * Gets the device of this thread: 0.
 *
 * @param ordinal  Receives the number.
 *
 * @return cnrtErrorArgsInvalid for NULL.
 */
cnrtRet_t cnrtGetDevice(int *ordinal);

/**
 * Waits for all operations of the device. They are complete already.
 *
 * @return cnrtSuccess.
 */
cnrtRet_t cnrtSyncDevice(void);

/**
 * Does nothing: memory, queues and notifiers stay.
 *
 * @return cnrtSuccess.
 */
cnrtRet_t cnrtDeviceReset(void);

/**
 * Gets the name, the memory and the cores (as one cluster) of this computer.
 *
 * @param prop     Receives the properties.
 * @param ordinal  0.
 *
 * @return cnrtErrorArgsInvalid for NULL; cnrtErrorDeviceInvalid for any other number.
 */
cnrtRet_t cnrtGetDeviceProperties(cnrtDeviceProp_t *prop, int ordinal);

/**
 * Gets one attribute of the device.
 *
 * @param value      Receives the attribute.
 * @param attribute  Which attribute.
 * @param ordinal    0.
 *
 * @return cnrtErrorArgsInvalid for NULL; cnrtErrorDeviceInvalid for any other device;
 *         cnrtErrorNotSupport for an attribute that is not in the enum.
 */
cnrtRet_t cnrtDeviceGetAttribute(int *value, cnrtDeviceAttr_t attribute, int ordinal);

/**
 * Gets the range of queue priorities: there is one, 0.
 *
 * @param least_priority     Receives 0.
 * @param greatest_priority  Receives 0.
 *
 * @return cnrtErrorArgsInvalid for a NULL argument.
 */
cnrtRet_t cnrtDeviceGetQueuePriorityRange(int *least_priority, int *greatest_priority);

/* Names of older releases. */

/**
 * Does nothing.
 *
 * @param flags  0.
 *
 * @return cnrtErrorArgsInvalid for any other number.
 */
cnrtRet_t cnrtInit(unsigned int flags);

/** Does nothing. */
void cnrtDestroy(void);

/**
 * Gets a device.
 *
 * @param dev      Receives the device.
 * @param ordinal  0.
 *
 * @return cnrtErrorArgsInvalid for NULL; cnrtErrorDeviceInvalid for any other number.
 */
cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *dev, int ordinal);

/**
 * Does what cnrtSetDevice does.
 *
 * @param dev  The device.
 *
 * @return As cnrtSetDevice.
 */
cnrtRet_t cnrtSetCurrentDevice(cnrtDev_t dev);

/**
 * Does what cnrtGetDevice does.
 *
 * @param dev  Receives the device.
 *
 * @return As cnrtGetDevice.
 */
cnrtRet_t cnrtGetCurrentDevice(cnrtDev_t *dev);

/* --------------------------------------------------------------------------------- Queues */

/**
 * Creates a queue.
 *
 * @param queue  Receives the queue; destroy it with cnrtQueueDestroy.
 *
 * @return cnrtErrorArgsInvalid for NULL; cnrtErrorNoMem if there is no memory.
 */
cnrtRet_t cnrtQueueCreate(cnrtQueue_t *queue);

/**
 * Creates a queue with a priority.
 *
 * @param queue     Receives the queue; destroy it with cnrtQueueDestroy.
 * @param flags     Ignored.
 * @param priority  0.
 *
 * @return As cnrtQueueCreate; cnrtErrorArgsInvalid for any other priority.
 */
cnrtRet_t cnrtQueueCreateWithPriority(cnrtQueue_t *queue, unsigned int flags, int priority);

/**
 * Destroys a queue.
 *
 * @param queue  The queue; it must not be used again.
 *
 * @return cnrtErrorArgsInvalid for the default queue (NULL), and for what is not a queue.
 */
cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue);

/**
 * Waits for all operations of a queue. They are complete already.
 *
 * @param queue  The queue.
 *
 * @return cnrtErrorArgsInvalid for what is not a queue.
 */
cnrtRet_t cnrtQueueSync(cnrtQueue_t queue);

/**
 * Tells whether all operations of a queue are complete.
 *
 * @param queue  The queue.
 *
 * @return cnrtSuccess, never cnrtErrorNotReady; cnrtErrorArgsInvalid for what is not a queue.
 */
cnrtRet_t cnrtQueueQuery(cnrtQueue_t queue);

/**
 * Gets the priority of a queue: 0.
 *
 * @param queue     The queue.
 * @param priority  Receives the priority.
 *
 * @return cnrtErrorArgsInvalid for NULL, and for what is not a queue.
 */
cnrtRet_t cnrtQueueGetPriority(cnrtQueue_t queue, int *priority);

/**
 * Makes later operations of a queue wait for a notifier. What it waits for is complete already.
 *
 * @param notifier  The notifier.
 * @param queue     The queue.
 * @param flags     Ignored.
 *
 * @return cnrtErrorArgsInvalid for what is not a notifier or a queue.
 */
cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue, unsigned int flags);

/**
 * Calls fn(user_data) as an operation of a queue: at once, on this thread.
 *
 * @param queue      The queue.
 * @param fn         The function.
 * @param user_data  Its argument.
 *
 * @return cnrtErrorArgsInvalid for a NULL function, and for what is not a queue.
 */
cnrtRet_t cnrtInvokeHostFunc(cnrtQueue_t queue, cnrtHostFn_t fn, void *user_data);

/* Names of older releases. */

/**
 * Does what cnrtQueueCreate does.
 *
 * @param queue  Receives the queue.
 *
 * @return As cnrtQueueCreate.
 */
cnrtRet_t cnrtCreateQueue(cnrtQueue_t *queue);

/**
 * Does what cnrtQueueDestroy does.
 *
 * @param queue  The queue.
 *
 * @return As cnrtQueueDestroy.
 */
cnrtRet_t cnrtDestroyQueue(cnrtQueue_t queue);

/**
 * Does what cnrtQueueSync does.
 *
 * @param queue  The queue.
 *
 * @return As cnrtQueueSync.
 */
cnrtRet_t cnrtSyncQueue(cnrtQueue_t queue);

/**
 * Does what cnrtQueueQuery does.
 *
 * @param queue  The queue.
 *
 * @return As cnrtQueueQuery.
 */
cnrtRet_t cnrtQueryQueue(cnrtQueue_t queue);

/* ------------------------------------------------------------------------------ Notifiers */

/**
 * Creates a notifier.
 *
 * @param notifier  Receives the notifier; destroy it with cnrtNotifierDestroy.
 *
 * @return cnrtErrorArgsInvalid for NULL; cnrtErrorNoMem if there is no memory.
 */
cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t *notifier);

/**
 * Does what cnrtNotifierCreate does.
 *
 * @param notifier  Receives the notifier.
 * @param flags     Ignored.
 *
 * @return As cnrtNotifierCreate.
 */
cnrtRet_t cnrtNotifierCreateWithFlags(cnrtNotifier_t *notifier, unsigned int flags);

/**
 * Destroys a notifier.
 *
 * @param notifier  The notifier; it must not be used again.
 *
 * @return cnrtErrorArgsInvalid for what is not a notifier.
 */
cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier);

/**
 * Records the present time, as the time when the operations of the queue so far are complete.
 *
 * @param notifier  The notifier.
 * @param queue     The queue.
 *
 * @return cnrtErrorArgsInvalid for what is not a notifier or a queue.
 */
cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue);

/**
 * Does what cnrtPlaceNotifier does.
 *
 * @param notifier  The notifier.
 * @param queue     The queue.
 * @param flags     Ignored.
 *
 * @return As cnrtPlaceNotifier.
 */
cnrtRet_t cnrtPlaceNotifierWithFlags(cnrtNotifier_t notifier, cnrtQueue_t queue,
                                     unsigned int flags);

/**
 * Waits for all operations before the notifier. They are complete already.
 *
 * @param notifier  The notifier.
 *
 * @return cnrtErrorArgsInvalid for what is not a notifier.
 */
cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier);

/**
 * Tells whether all operations before the notifier are complete.
 *
 * @param notifier  The notifier.
 *
 * @return cnrtSuccess, never cnrtErrorNotReady; cnrtErrorArgsInvalid for what is not a notifier.
 */
cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t notifier);

/**
 * Gets the microseconds between two notifiers, by the clock of this computer.
 *
 * @param start  The first notifier.
 * @param end    The second notifier.
 * @param us     Receives the microseconds.
 *
 * @return cnrtErrorArgsInvalid for NULL, and for what is not a notifier; cnrtErrorNotReady if one
 *         of them has not been placed.
 */
cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float *us);

/**
 * Gets the milliseconds between two notifiers.
 *
 * @param start  The first notifier.
 * @param end    The second notifier.
 * @param ms     Receives the milliseconds.
 *
 * @return As cnrtNotifierDuration.
 */
cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t start, cnrtNotifier_t end, float *ms);

/* Names of older releases. */

/**
 * Does what cnrtNotifierCreate does.
 *
 * @param notifier  Receives the notifier.
 *
 * @return As cnrtNotifierCreate.
 */
cnrtRet_t cnrtCreateNotifier(cnrtNotifier_t *notifier);

/**
 * Destroys a notifier, and sets the variable to NULL.
 *
 * @param notifier  The variable that has the notifier.
 *
 * @return As cnrtNotifierDestroy.
 */
cnrtRet_t cnrtDestroyNotifier(cnrtNotifier_t *notifier);

/* --------------------------------------------------------------------------------- Memory */

/**
 * Allocates device memory, aligned to 64 bytes and uninitialised.
 *
 * @param ptr    Receives the pointer; free it with cnrtFree.
 * @param bytes  The number of bytes. 0 gives a pointer that can only be freed.
 *
 * @return cnrtErrorNoMem if there is not enough memory; then *ptr is unchanged.
 */
cnrtRet_t cnrtMalloc(void **ptr, size_t bytes);

/**
 * Frees device memory.
 *
 * @param ptr  A pointer from cnrtMalloc.
 *
 * @return cnrtErrorArgsInvalid for any other pointer, NULL included.
 */
cnrtRet_t cnrtFree(void *ptr);

/**
 * Allocates memory of the host, aligned and uninitialised as that of cnrtMalloc.
 *
 * @param ptr    Receives the pointer; free it with cnrtFreeHost.
 * @param bytes  The number of bytes.
 *
 * @return As cnrtMalloc.
 */
cnrtRet_t cnrtHostMalloc(void **ptr, size_t bytes);

/**
 * Frees memory of the host.
 *
 * @param ptr  A pointer from cnrtHostMalloc.
 *
 * @return cnrtErrorArgsInvalid for any other pointer, NULL included.
 */
cnrtRet_t cnrtFreeHost(void *ptr);

/**
 * Gets the size of the memory of this computer.
 *
 * @param free   Receives the bytes that are free now.
 * @param total  Receives the bytes of all memory.
 *
 * @return cnrtErrorArgsInvalid for a NULL argument.
 */
cnrtRet_t cnrtMemGetInfo(size_t *free, size_t *total);

/**
 * Copies bytes; the areas may overlap.
 *
 * @param dst        The destination.
 * @param src        The source.
 * @param bytes      The number of bytes. With 0 every call is valid.
 * @param direction  Whether dst and src are memory of the host or of the device. This is checked:
 *                   an area on the device must be in one allocation of cnrtMalloc, and an area on
 *                   the host outside all of them. With CNRT_MEM_TRANS_DIR_NODIR the direction is
 *                   determined from the pointers.
 *
 * @return cnrtErrorArgsInvalid if the areas are not as said.
 */
cnrtRet_t cnrtMemcpy(void *dst, const void *src, size_t bytes, cnrtMemTransDir_t direction);

/**
 * Copies bytes as an operation of a queue. The source may be changed when the call has returned.
 *
 * @param dst        The destination.
 * @param src        The source.
 * @param bytes      The number of bytes.
 * @param queue      The queue.
 * @param direction  As for cnrtMemcpy.
 *
 * @return As cnrtMemcpy; cnrtErrorArgsInvalid for what is not a queue.
 */
cnrtRet_t cnrtMemcpyAsync(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                          cnrtMemTransDir_t direction);

/**
 * Does what cnrtMemcpyAsync does.
 *
 * @param dst        The destination.
 * @param src        The source.
 * @param bytes      The number of bytes.
 * @param queue      The queue.
 * @param direction  As for cnrtMemcpy.
 *
 * @return As cnrtMemcpy; cnrtErrorArgsInvalid for what is not a queue.
 */
cnrtRet_t cnrtMemcpyAsync_V2(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                             cnrtMemTransDir_t direction);

/**
 * Does what cnrtMemcpyAsync does.
 *
 * @param dst        The destination.
 * @param src        The source.
 * @param bytes      The number of bytes.
 * @param queue      The queue.
 * @param direction  As for cnrtMemcpy.
 *
 * @return As cnrtMemcpy; cnrtErrorArgsInvalid for what is not a queue.
 */
cnrtRet_t cnrtMemcpyAsync_V3(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                             cnrtMemTransDir_t direction);

/**
 * Sets bytes of device memory.
 *
 * @param ptr    The memory, in one allocation of cnrtMalloc.
 * @param value  The value; its low 8 bits are used.
 * @param bytes  The number of bytes.
 *
 * @return cnrtErrorArgsInvalid if the memory is not in one allocation.
 */
cnrtRet_t cnrtMemset(void *ptr, int value, size_t bytes);

/**
 * Sets bytes of device memory as an operation of a queue.
 *
 * @param ptr    The memory, in one allocation of cnrtMalloc.
 * @param value  The value; its low 8 bits are used.
 * @param bytes  The number of bytes.
 * @param queue  The queue.
 *
 * @return cnrtErrorArgsInvalid if the memory is not in one allocation, or for what is not a queue.
 */
cnrtRet_t cnrtMemsetAsync(void *ptr, int value, size_t bytes, cnrtQueue_t queue);

/**
 * Sets bytes of device memory.
 *
 * @param ptr    The memory, in one allocation of cnrtMalloc.
 * @param value  The value.
 * @param count  The number of bytes.
 *
 * @return cnrtErrorArgsInvalid if the memory is not in one allocation.
 */
cnrtRet_t cnrtMemsetD8(void *ptr, unsigned char value, size_t count);

/**
 * Sets bytes of device memory as an operation of a queue.
 *
 * @param ptr    The memory, in one allocation of cnrtMalloc.
 * @param value  The value.
 * @param count  The number of bytes.
 * @param queue  The queue.
 *
 * @return cnrtErrorArgsInvalid if the memory is not in one allocation, or for what is not a queue.
 */
cnrtRet_t cnrtMemsetD8Async(void *ptr, unsigned char value, size_t count, cnrtQueue_t queue);

/**
 * Sets numbers of 32 bits in device memory.
 *
 * @param ptr    The memory, in one allocation of cnrtMalloc.
 * @param value  The value.
 * @param count  How many numbers.
 *
 * @return cnrtErrorArgsInvalid if the memory is not in one allocation.
 */
cnrtRet_t cnrtMemsetD32(void *ptr, unsigned int value, size_t count);

/**
 * Sets numbers of 32 bits in device memory as an operation of a queue.
 *
 * @param ptr    The memory, in one allocation of cnrtMalloc.
 * @param value  The value.
 * @param count  How many numbers.
 * @param queue  The queue.
 *
 * @return cnrtErrorArgsInvalid if the memory is not in one allocation, or for what is not a queue.
 */
cnrtRet_t cnrtMemsetD32Async(void *ptr, unsigned int value, size_t count, cnrtQueue_t queue);

/* ---------------------------------------------------------------------------- Conversions */

/**
 * Converts one number from half to float.
 *
 * @param f  Receives the float.
 * @param h  The bits of the half.
 *
 * @return cnrtErrorArgsInvalid for NULL.
 */
cnrtRet_t cnrtConvertHalfToFloat(float *f, uint16_t h);

/**
 * Converts one number from float to half, rounded to nearest, ties to even.
 *
 * @param h  Receives the bits of the half.
 * @param f  The float.
 *
 * @return cnrtErrorArgsInvalid for NULL.
 */
cnrtRet_t cnrtConvertFloatToHalf(uint16_t *h, float f);

/**
 * Converts numbers in host memory between CNRT_FLOAT16 and CNRT_FLOAT32. If both types are the
 * same, it copies them.
 *
 * @param src       The numbers.
 * @param src_type  Their type.
 * @param dst       Receives the converted numbers.
 * @param dst_type  Their type.
 * @param count     How many numbers.
 * @param param     NULL.
 *
 * @return cnrtErrorArgsInvalid for NULL or a negative count; cnrtErrorNotSupport for other types,
 *         or if param is not NULL.
 */
cnrtRet_t cnrtCastDataType(void *src, cnrtDataType_t src_type, void *dst, cnrtDataType_t dst_type,
                           int count, cnrtQuantizedParam_t param);

/* cdef end */

#ifdef __cplusplus
}
#endif

#ifndef CNRT_CHECK
/** Ends the program with a message on stderr if the call does not return cnrtSuccess. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define CNRT_CHECK(...) CNRT_CHECK_CALL_((__VA_ARGS__), #__VA_ARGS__)
#else
#define CNRT_CHECK(call) CNRT_CHECK_CALL_((call), #call)
#endif
#endif

/** Part of CNRT_CHECK. */
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

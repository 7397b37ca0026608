/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "runtime.h"

/* The driver interface, in terms of the runtime's own. */

static CNresult driver_result(cnrtRet_t result) {
  switch (result) {
    case cnrtSuccess:
      return CN_SUCCESS;
    case cnrtErrorArgsInvalid:
      return CN_ERROR_INVALID_VALUE;
    case cnrtErrorNoMem:
      return CN_MEMORY_ERROR_OUT_OF_MEMORY;
    case cnrtErrorDeviceInvalid:
      return CN_ERROR_INVALID_DEVICE;
    case cnrtErrorNotReady:
      return CN_ERROR_NOT_READY;
    case cnrtErrorNotSupport:
      return CN_ERROR_NOT_SUPPORTED;
    default:
      return CN_ERROR_UNKNOWN;
  }
}

static const struct {
  CNresult code;
  const char *name;
  const char *text;
} errors[] = {
    {CN_SUCCESS, "CN_SUCCESS", "success"},
    {CN_ERROR_NOT_READY, "CN_ERROR_NOT_READY", "not ready"},
    {CN_ERROR_NOT_INITIALIZED, "CN_ERROR_NOT_INITIALIZED", "not initialised"},
    {CN_ERROR_INVALID_DEVICE, "CN_ERROR_INVALID_DEVICE", "invalid device"},
    {CN_ERROR_INVALID_VALUE, "CN_ERROR_INVALID_VALUE", "invalid argument"},
    {CN_ERROR_INVALID_CONTEXT, "CN_ERROR_INVALID_CONTEXT", "no such context"},
    {CN_MEMORY_ERROR_OUT_OF_MEMORY, "CN_MEMORY_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CN_ERROR_NOT_SUPPORTED, "CN_ERROR_NOT_SUPPORTED", "not supported"},
    {CN_ERROR_UNKNOWN, "CN_ERROR_UNKNOWN", "unknown error"},
};

static size_t find_error(CNresult code) {
  size_t i = 0;
  while (i < sizeof(errors) / sizeof(errors[0]) - 1 && errors[i].code != code) i++;
  return i;
}

CNresult cnGetErrorName(CNresult error, const char **name) {
  if (name == NULL) return CN_ERROR_INVALID_VALUE;
  *name = errors[find_error(error)].name;
  return CN_SUCCESS;
}

CNresult cnGetErrorString(CNresult error, const char **text) {
  if (text == NULL) return CN_ERROR_INVALID_VALUE;
  *text = errors[find_error(error)].text;
  return CN_SUCCESS;
}

CNresult cnInit(unsigned int flags) { return driver_result(cnrtInit(flags)); }

CNresult cnGetDriverVersion(int *version) {
  if (version == NULL) return CN_ERROR_INVALID_VALUE;
  *version = CNRT_VERSION;
  return CN_SUCCESS;
}

/* ---------------------------------------------------------------------------------- devices */

CNresult cnDeviceGetCount(int *count) {
  if (count == NULL) return CN_ERROR_INVALID_VALUE;
  *count = 1;
  return CN_SUCCESS;
}

CNresult cnDeviceGet(CNdev *device, int ordinal) {
  if (device == NULL) return CN_ERROR_INVALID_VALUE;
  const CNresult result = driver_result(cnrtSetDevice(ordinal));
  if (result == CN_SUCCESS) *device = ordinal;
  return result;
}

CNresult cnDeviceGetName(char *name, int length, CNdev device) {
  if (name == NULL || length <= 0) return CN_ERROR_INVALID_VALUE;
  cnrtDeviceProp_t properties;
  const CNresult result = driver_result(cnrtGetDeviceProperties(&properties, device));
  if (result != CN_SUCCESS) return result;
  const size_t room = (size_t)length - 1, needed = strlen(properties.name);
  const size_t used = needed < room ? needed : room;
  memcpy(name, properties.name, used);
  name[used] = '\0';
  return CN_SUCCESS;
}

CNresult cnDeviceGetAttribute(int *value, CNdevice_attribute attribute, CNdev device) {
  return driver_result(cnrtDeviceGetAttribute(value, (cnrtDeviceAttr_t)attribute, device));
}

/* --------------------------------------------------------------------------------- contexts */

struct CNcontext_st {
  CNdev device;
};

static struct CNcontext_st shared_context; /* never written */
__extension__ static __thread CNcontext current_context;

static bool context_alive(CNcontext context) {
  return context == &shared_context || cnrt_alive(context, CNRT_CONTEXT);
}

CNresult cnCtxCreate(CNcontext *context, unsigned int flags, CNdev device) {
  (void)flags;
  if (context == NULL) return CN_ERROR_INVALID_VALUE;
  CNdev checked;
  CNresult result = cnDeviceGet(&checked, device);
  if (result != CN_SUCCESS) return result;
  void *made;
  result = driver_result(cnrt_new(&made, sizeof(struct CNcontext_st), CNRT_CONTEXT));
  if (result != CN_SUCCESS) return result;
  *context = made;
  (*context)->device = checked;
  current_context = *context;
  return CN_SUCCESS;
}

CNresult cnCtxDestroy(CNcontext context) {
  const bool destroyed = cnrt_delete(context, CNRT_CONTEXT) == cnrtSuccess;
  return destroyed ? CN_SUCCESS : CN_ERROR_INVALID_CONTEXT;
}

CNresult cnCtxGetCurrent(CNcontext *context) {
  if (context == NULL) return CN_ERROR_INVALID_VALUE;
  if (!context_alive(current_context)) current_context = NULL;
  *context = current_context;
  return CN_SUCCESS;
}

CNresult cnCtxSetCurrent(CNcontext context) {
  if (context != NULL && !context_alive(context)) return CN_ERROR_INVALID_CONTEXT;
  current_context = context;
  return CN_SUCCESS;
}

CNresult cnCtxGetDevice(CNdev *device) { return cnDeviceGet(device, 0); }
CNresult cnCtxSync(void) { return CN_SUCCESS; }

CNresult cnSharedContextAcquire(CNcontext *context, CNdev device) {
  CNdev checked;
  if (context == NULL) return CN_ERROR_INVALID_VALUE;
  const CNresult result = cnDeviceGet(&checked, device);
  if (result == CN_SUCCESS) *context = &shared_context;
  return result;
}

CNresult cnSharedContextRelease(CNdev device) { return driver_result(cnrtSetDevice(device)); }

/* ------------------------------------------------------------------------ queues and memory */

CNresult cnCreateQueue(CNqueue *queue, unsigned int flags) {
  return driver_result(cnrtQueueCreateWithPriority(queue, flags, 0));
}

CNresult cnDestroyQueue(CNqueue queue) { return driver_result(cnrtQueueDestroy(queue)); }
CNresult cnQueueSync(CNqueue queue) { return driver_result(cnrtQueueSync(queue)); }
CNresult cnQueryQueue(CNqueue queue) { return driver_result(cnrtQueueQuery(queue)); }

static void *pointer(CNaddr address) { return (void *)(uintptr_t)address; }

CNresult cnMalloc(CNaddr *address, cn_uint64_t bytes) {
  if (address == NULL) return CN_ERROR_INVALID_VALUE;
  void *made;
  const CNresult result = driver_result(cnrtMalloc(&made, (size_t)bytes));
  if (result == CN_SUCCESS) *address = (CNaddr)(uintptr_t)made;
  return result;
}

CNresult cnFree(CNaddr address) { return driver_result(cnrtFree(pointer(address))); }

CNresult cnMemGetInfo(cn_uint64_t *free, cn_uint64_t *total) {
  if (free == NULL || total == NULL) return CN_ERROR_INVALID_VALUE;
  size_t free_bytes, total_bytes;
  const CNresult result = driver_result(cnrtMemGetInfo(&free_bytes, &total_bytes));
  *free = free_bytes;
  *total = total_bytes;
  return result;
}

CNresult cnMemcpyHtoD(CNaddr dst, const void *src, cn_uint64_t bytes) {
  return driver_result(cnrtMemcpy(pointer(dst), src, (size_t)bytes, CNRT_MEM_TRANS_DIR_HOST2DEV));
}

CNresult cnMemcpyDtoH(void *dst, CNaddr src, cn_uint64_t bytes) {
  return driver_result(cnrtMemcpy(dst, pointer(src), (size_t)bytes, CNRT_MEM_TRANS_DIR_DEV2HOST));
}

CNresult cnMemcpyDtoD(CNaddr dst, CNaddr src, cn_uint64_t bytes) {
  return driver_result(
      cnrtMemcpy(pointer(dst), pointer(src), (size_t)bytes, CNRT_MEM_TRANS_DIR_DEV2DEV));
}

CNresult cnMemsetD8(CNaddr address, unsigned char value, cn_uint64_t count) {
  return driver_result(cnrtMemsetD8(pointer(address), value, (size_t)count));
}

CNresult cnMemsetD32(CNaddr address, unsigned int value, cn_uint64_t count) {
  return driver_result(cnrtMemsetD32(pointer(address), value, (size_t)count));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "runtime.h"

cnrtRet_t cnrtMalloc(void **ptr, size_t bytes) { return cnrt_new(ptr, bytes, CNRT_DEVICE_MEMORY); }
cnrtRet_t cnrtFree(void *ptr) { return cnrt_delete(ptr, CNRT_DEVICE_MEMORY); }

cnrtRet_t cnrtHostMalloc(void **ptr, size_t bytes) {
  return cnrt_new(ptr, bytes, CNRT_HOST_MEMORY);
}

cnrtRet_t cnrtFreeHost(void *ptr) { return cnrt_delete(ptr, CNRT_HOST_MEMORY); }

/* ----------------------------------------------------------------------------------- copies */

static bool direction_fits(cnrtMemTransDir_t direction, enum cnrt_place dst, enum cnrt_place src) {
  switch (direction) {
    case CNRT_MEM_TRANS_DIR_HOST2DEV:
      return dst == CNRT_INSIDE && src == CNRT_OUTSIDE;
    case CNRT_MEM_TRANS_DIR_DEV2HOST:
      return dst == CNRT_OUTSIDE && src == CNRT_INSIDE;
    case CNRT_MEM_TRANS_DIR_DEV2DEV:
    case CNRT_MEM_TRANS_DIR_PEER2PEER:
      return dst == CNRT_INSIDE && src == CNRT_INSIDE;
    case CNRT_MEM_TRANS_DIR_HOST2HOST:
      return dst == CNRT_OUTSIDE && src == CNRT_OUTSIDE;
    case CNRT_MEM_TRANS_DIR_NODIR:
      return dst != CNRT_ACROSS && src != CNRT_ACROSS;
    default:
      return false;
  }
}

static bool direction_known(cnrtMemTransDir_t direction) {
  return (int)direction >= CNRT_MEM_TRANS_DIR_HOST2DEV && direction <= CNRT_MEM_TRANS_DIR_NODIR;
}

cnrtRet_t cnrtMemcpy(void *dst, const void *src, size_t bytes, cnrtMemTransDir_t direction) {
  if (!direction_known(direction)) return cnrt_result(cnrtErrorArgsInvalid);
  if (bytes == 0) return cnrtSuccess;
  if (dst == NULL || src == NULL || bytes > PTRDIFF_MAX ||
      !direction_fits(direction, cnrt_place(dst, bytes), cnrt_place(src, bytes))) {
    return cnrt_result(cnrtErrorArgsInvalid);
  }
  memmove(dst, src, bytes);
  return cnrtSuccess;
}

cnrtRet_t cnrtMemcpyAsync(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                          cnrtMemTransDir_t direction) {
  const cnrtRet_t result = cnrt_check_queue(queue);
  return result != cnrtSuccess ? result : cnrtMemcpy(dst, src, bytes, direction);
}

cnrtRet_t cnrtMemcpyAsync_V2(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                             cnrtMemTransDir_t direction) {
  return cnrtMemcpyAsync(dst, src, bytes, queue, direction);
}

cnrtRet_t cnrtMemcpyAsync_V3(void *dst, const void *src, size_t bytes, cnrtQueue_t queue,
                             cnrtMemTransDir_t direction) {
  return cnrtMemcpyAsync(dst, src, bytes, queue, direction);
}

/* -------------------------------------------------------------------------------- filling */

static cnrtRet_t check_area(const void *ptr, size_t bytes) {
  const bool valid =
      bytes == 0 || (ptr != NULL && bytes <= PTRDIFF_MAX && cnrt_place(ptr, bytes) == CNRT_INSIDE);
  return cnrt_result(valid ? cnrtSuccess : cnrtErrorArgsInvalid);
}

cnrtRet_t cnrtMemset(void *ptr, int value, size_t bytes) {
  const cnrtRet_t result = check_area(ptr, bytes);
  if (result == cnrtSuccess && bytes > 0) memset(ptr, value, bytes);
  return result;
}

cnrtRet_t cnrtMemsetAsync(void *ptr, int value, size_t bytes, cnrtQueue_t queue) {
  const cnrtRet_t result = cnrt_check_queue(queue);
  return result != cnrtSuccess ? result : cnrtMemset(ptr, value, bytes);
}

cnrtRet_t cnrtMemsetD8(void *ptr, unsigned char value, size_t count) {
  return cnrtMemset(ptr, value, count);
}

cnrtRet_t cnrtMemsetD8Async(void *ptr, unsigned char value, size_t count, cnrtQueue_t queue) {
  return cnrtMemsetAsync(ptr, value, count, queue);
}

cnrtRet_t cnrtMemsetD32(void *ptr, unsigned int value, size_t count) {
  if (count > PTRDIFF_MAX / sizeof(value) || (uintptr_t)ptr % sizeof(value) != 0) {
    return cnrt_result(cnrtErrorArgsInvalid);
  }
  const cnrtRet_t result = check_area(ptr, count * sizeof(value));
  if (result != cnrtSuccess) return result;
  unsigned int *numbers = ptr;
  for (size_t i = 0; i < count; i++) numbers[i] = value;
  return cnrtSuccess;
}

cnrtRet_t cnrtMemsetD32Async(void *ptr, unsigned int value, size_t count, cnrtQueue_t queue) {
  const cnrtRet_t result = cnrt_check_queue(queue);
  return result != cnrtSuccess ? result : cnrtMemsetD32(ptr, value, count);
}

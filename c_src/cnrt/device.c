/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "runtime.h"

static cnrtRet_t check_device(int ordinal) {
  return cnrt_result(ordinal == 0 ? cnrtSuccess : cnrtErrorDeviceInvalid);
}

static cnrtRet_t store_int(int *place, int value) {
  if (place == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  *place = value;
  return cnrtSuccess;
}

static uint64_t pages(int which) {
  const long number = sysconf(which);
  const long size = sysconf(_SC_PAGESIZE);
  return number > 0 && size > 0 ? (uint64_t)number * (uint64_t)size : 0;
}

uint64_t cnrt_total_memory(void) {
  const uint64_t bytes = pages(_SC_PHYS_PAGES);
  return bytes > 0 ? bytes : (uint64_t)PTRDIFF_MAX;
}

static int cores(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (int)count : 1;
}

cnrtRet_t cnrtGetLibVersion(int *lib_major, int *lib_minor, int *lib_patch) {
  if (lib_major == NULL || lib_minor == NULL || lib_patch == NULL) {
    return cnrt_result(cnrtErrorArgsInvalid);
  }
  *lib_major = CNRT_MAJOR_VERSION;
  *lib_minor = CNRT_MINOR_VERSION;
  *lib_patch = CNRT_PATCH_VERSION;
  return cnrtSuccess;
}

cnrtRet_t cnrtDriverGetVersion(int *drv_major, int *drv_minor, int *drv_patch) {
  return cnrtGetLibVersion(drv_major, drv_minor, drv_patch);
}

cnrtRet_t cnrtGetDeviceCount(unsigned int *dev_num) {
  if (dev_num == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  *dev_num = 1;
  return cnrtSuccess;
}

cnrtRet_t cnrtSetDevice(int ordinal) { return check_device(ordinal); }
cnrtRet_t cnrtGetDevice(int *ordinal) { return store_int(ordinal, 0); }
cnrtRet_t cnrtSyncDevice(void) { return cnrtSuccess; }
cnrtRet_t cnrtDeviceReset(void) { return cnrtSuccess; }

cnrtRet_t cnrtGetDeviceProperties(cnrtDeviceProp_t *prop, int ordinal) {
  if (prop == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  if (check_device(ordinal) != cnrtSuccess) return cnrtErrorDeviceInvalid;
  *prop = (cnrtDeviceProp_t){.name = "CPU",
                             .totalMem = (size_t)cnrt_total_memory(),
                             .clusterCount = 1,
                             .McorePerCluster = cores()};
  return cnrtSuccess;
}

cnrtRet_t cnrtDeviceGetAttribute(int *value, cnrtDeviceAttr_t attribute, int ordinal) {
  if (value == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  if (check_device(ordinal) != cnrtSuccess) return cnrtErrorDeviceInvalid;
  switch (attribute) {
    case cnrtAttrClusterCount:
      return store_int(value, 1);
    case cnrtAttrMcorePerCluster:
      return store_int(value, cores());
    default:
      return cnrt_result(cnrtErrorNotSupport);
  }
}

cnrtRet_t cnrtDeviceGetQueuePriorityRange(int *least_priority, int *greatest_priority) {
  if (least_priority == NULL || greatest_priority == NULL) {
    return cnrt_result(cnrtErrorArgsInvalid);
  }
  *least_priority = *greatest_priority = 0;
  return cnrtSuccess;
}

cnrtRet_t cnrtMemGetInfo(size_t *free, size_t *total) {
  if (free == NULL || total == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  *free = (size_t)pages(_SC_AVPHYS_PAGES);
  *total = (size_t)cnrt_total_memory();
  return cnrtSuccess;
}

cnrtRet_t cnrtInit(unsigned int flags) {
  return cnrt_result(flags == 0 ? cnrtSuccess : cnrtErrorArgsInvalid);
}

void cnrtDestroy(void) {}

cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *dev, int ordinal) {
  if (dev == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  if (check_device(ordinal) != cnrtSuccess) return cnrtErrorDeviceInvalid;
  *dev = 0;
  return cnrtSuccess;
}

cnrtRet_t cnrtSetCurrentDevice(cnrtDev_t dev) { return check_device(dev == 0 ? 0 : -1); }
cnrtRet_t cnrtGetCurrentDevice(cnrtDev_t *dev) { return cnrtGetDeviceHandle(dev, 0); }

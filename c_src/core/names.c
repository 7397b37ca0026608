/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

struct enumerator {
  const char *name;
  size_t size; /* bytes of an element, for data types */
};

#define NAME(value) [value] = {#value, 0}
#define TYPE(value, size) [value] = {#value, size}

static const struct enumerator statuses[] = {
    NAME(MLUOP_STATUS_SUCCESS),
    NAME(MLUOP_STATUS_NOT_INITIALIZED),
    NAME(MLUOP_STATUS_ALLOC_FAILED),
    NAME(MLUOP_STATUS_BAD_PARAM),
    NAME(MLUOP_STATUS_INTERNAL_ERROR),
    NAME(MLUOP_STATUS_ARCH_MISMATCH),
    NAME(MLUOP_STATUS_EXECUTION_FAILED),
    NAME(MLUOP_STATUS_NOT_SUPPORTED),
    NAME(MLUOP_STATUS_NUMERICAL_OVERFLOW),
};

static const struct enumerator layouts[] = {
    NAME(MLUOP_LAYOUT_NCHW),  NAME(MLUOP_LAYOUT_NHWC),  NAME(MLUOP_LAYOUT_HWCN),
    NAME(MLUOP_LAYOUT_NDHWC), NAME(MLUOP_LAYOUT_ARRAY), NAME(MLUOP_LAYOUT_NCDHW),
    NAME(MLUOP_LAYOUT_TNC),   NAME(MLUOP_LAYOUT_NTC),   NAME(MLUOP_LAYOUT_NC),
    NAME(MLUOP_LAYOUT_NLC),   NAME(MLUOP_LAYOUT_NCL),
};

/* The value 10 is no data type: its entry has no name. */
static const struct enumerator dtypes[] = {
    TYPE(MLUOP_DTYPE_INVALID, 0),      TYPE(MLUOP_DTYPE_HALF, 2),
    TYPE(MLUOP_DTYPE_FLOAT, 4),        TYPE(MLUOP_DTYPE_INT8, 1),
    TYPE(MLUOP_DTYPE_INT16, 2),        TYPE(MLUOP_DTYPE_INT31, 4),
    TYPE(MLUOP_DTYPE_INT32, 4),        TYPE(MLUOP_DTYPE_UINT8, 1),
    TYPE(MLUOP_DTYPE_BOOL, 1),         TYPE(MLUOP_DTYPE_INT64, 8),
    TYPE(MLUOP_DTYPE_UINT32, 4),       TYPE(MLUOP_DTYPE_UINT64, 8),
    TYPE(MLUOP_DTYPE_UINT16, 2),       TYPE(MLUOP_DTYPE_DOUBLE, 8),
    TYPE(MLUOP_DTYPE_COMPLEX_HALF, 4), TYPE(MLUOP_DTYPE_COMPLEX_FLOAT, 8),
    TYPE(MLUOP_DTYPE_BFLOAT16, 2),
};

#define FIND(table, value) find(table, sizeof(table) / sizeof((table)[0]), (int)(value))

static const struct enumerator *find(const struct enumerator *table, size_t length, int value) {
  if (value < 0 || (size_t)value >= length || table[value].name == NULL) return NULL;
  return &table[value];
}

static const char *name_or(const struct enumerator *entry, const char *otherwise) {
  return entry != NULL ? entry->name : otherwise;
}

const char *mluOpGetErrorString(mluOpStatus_t status) {
  return name_or(FIND(statuses, status), "MLUOP_STATUS_UNKNOWN");
}

const char *mluop_layout_name(mluOpTensorLayout_t layout) {
  return name_or(FIND(layouts, layout), "an unknown layout");
}

const char *mluop_dtype_name(mluOpDataType_t dtype) {
  return name_or(FIND(dtypes, dtype), "an unknown data type");
}

bool mluop_layout_known(mluOpTensorLayout_t layout) { return FIND(layouts, layout) != NULL; }

bool mluop_dtype_known(mluOpDataType_t dtype) { return FIND(dtypes, dtype) != NULL; }

size_t mluop_dtype_size(mluOpDataType_t dtype) {
  const struct enumerator *entry = FIND(dtypes, dtype);
  return entry != NULL ? entry->size : 0;
}

mluOpStatus_t mluOpGetSizeOfDataType(mluOpDataType_t data_type, size_t *size) {
  static const char api[] = "mluOpGetSizeOfDataType";
  if (size == NULL) return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "size is NULL");
  const size_t bytes = mluop_dtype_size(data_type);
  if (bytes == 0) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "data_type is %d (%s), which has no size",
                      (int)data_type, mluop_dtype_name(data_type));
  }
  *size = bytes;
  return MLUOP_STATUS_SUCCESS;
}
